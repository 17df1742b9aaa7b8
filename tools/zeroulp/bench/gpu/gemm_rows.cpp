// The GEMMs of the bench, as tables: the shapes and the goals of each kind of
// job, and who does it.

#include <fmt/format.h>

#include "tools/zeroulp/bench/gpu/gemm.hpp"
#include "tools/zeroulp/bench/interval.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::program {
namespace {

using conformance::peers::cublaslt_scales;
using cuda::gemm_groups;

recipe named(const char* name, format output) {
  recipe r = parse_recipe(name).value;
  r.output = output;
  return r;
}

gemm_contestant ours(const char* name, const recipe& by, bool grouped = false) {
  gemm_contestant c{name, gemm_player::ours};
  c.by = by;
  c.grouped = grouped;
  return c;
}

struct cublaslt_row {
  const char* name;
  cublaslt_scales scales;
  bool fast;
};

constexpr cublaslt_row by_blocks{"cuBLASLt 1x128 128x128",
                                 cublaslt_scales::blocks, false};
constexpr cublaslt_row by_columns{"cuBLASLt 1x128 1x128",
                                  cublaslt_scales::columns, false};
constexpr cublaslt_row by_tensor{"cuBLASLt per-tensor", cublaslt_scales::matrix,
                                 false};
constexpr cublaslt_row by_tensor_fast{"cuBLASLt per-tensor, fast",
                                      cublaslt_scales::matrix, true};
constexpr cublaslt_row in_bf16{"cuBLASLt BF16", cublaslt_scales::none, false};

enum class role { shown, rival, first_rival };

gemm_contestant cublaslt(const cublaslt_row& row, role as = role::shown) {
  gemm_contestant c{row.name, gemm_player::cublaslt};
  c.scales = row.scales;
  c.fast = row.fast;
  c.halves = row.scales == cublaslt_scales::none;
  c.is_rival = as != role::shown;
  c.shows_first = as == role::first_rival;
  return c;
}

gemm_contestant wgmma(wgmma_loop loop) {
  constexpr const char* names[] = {
      "wgmma m64n256k32 alone",
      "wgmma m64n128k32 alone",
      "wgmma alone, promoted 1x128 128x128",
      "wgmma fed from the L2, promoted 1x128 128x128",
      "wgmma fed from memory, promoted 1x128 128x128",
      "wgmma alone, promoted 1x128 1x128",
      "wgmma fed from the L2, promoted 1x128 1x128",
      "wgmma fed from memory, promoted 1x128 1x128",
  };
  gemm_contestant c{names[static_cast<int>(loop)], gemm_player::wgmma};
  c.loop = loop;
  return c;
}

struct dense_row {
  std::ptrdiff_t m, n, k;
  double must;
};

/// Goals: the ratio of the best known kernel to cuBLASLt's.
constexpr dense_row fprop_rows[] = {
    {4096, 2048, 7168, 1.13}, {4096, 24576, 1536, 1.20},
    {4096, 32768, 512, 1.31}, {4096, 7168, 16384, 1.14},
    {4096, 4096, 7168, 1.20}, {4096, 7168, 2048, 1.17},
    {8192, 8192, 8192, 1.13}, {128, 7168, 16384, 0},
    {64, 4096, 7168, 0},
};

void add_fprop(std::vector<gemm_row>& all) {
  for (const auto& x : fprop_rows) {
    all.push_back(
        {"gemm.fprop",
         {x.m, x.n, x.k},
         bf16,
         false,
         {ours("ours", named("deepgemm.1d2d", bf16)),
          cublaslt(by_blocks, role::first_rival), cublaslt(by_columns),
          cublaslt(by_tensor_fast), cublaslt(by_tensor), cublaslt(in_bf16),
          wgmma(wgmma_loop::n256), wgmma(wgmma_loop::fprop),
          wgmma(wgmma_loop::fprop_fed), wgmma(wgmma_loop::fprop_streamed)},
         x.must,
         1.05 * x.must});
  }
}

struct wgrad_row {
  const char* name;
  format output;
  bool adds;
};

constexpr wgrad_row wgrad_rows[] = {
    {"gemm.wgrad.add", fp32, true},
    {"gemm.wgrad.fp32", fp32, false},
    {"gemm.wgrad.bf16", bf16, false},
};

void add_wgrad(std::vector<gemm_row>& all) {
  for (const auto& row : wgrad_rows) {
    recipe r = named("deepgemm.1d1d", row.output);
    if (!row.adds) r.end = epilogue::store;
    for (const std::ptrdiff_t tokens : {4096, 8192, 16384, 32768, 65536}) {
      all.push_back(
          {row.name,
           {4096, 7168, tokens},
           row.output,
           row.adds,
           {ours("ours", r), cublaslt(by_columns, role::first_rival),
            wgmma(wgmma_loop::n256), wgmma(wgmma_loop::wgrad),
            wgmma(wgmma_loop::wgrad_fed), wgmma(wgmma_loop::wgrad_streamed)},
           1.15,
           1.30});
    }
  }
}

/// Rows and K of B.
constexpr shape small_rows[] = {
    {4096, 7168}, {7168, 16384}, {24576, 1536}, {32768, 512}};

void add_small(std::vector<gemm_row>& all) {
  for (const auto& b : small_rows) {
    for (const std::ptrdiff_t m : {1, 16, 64, 128}) {
      const bool has_goal = m <= 64;
      all.push_back(
          {"gemm.small",
           {m, b.m, b.n},
           bf16,
           false,
           {ours("ours", named("deepgemm.1d2d", bf16)),
            cublaslt(by_blocks, role::rival), cublaslt(by_columns, role::rival),
            cublaslt(by_tensor_fast, role::rival),
            cublaslt(by_tensor, role::rival)},
           has_goal ? 1.05 : 0,
           has_goal ? 1.4 : 0});
    }
  }
}

struct grouped_row {
  const char* name;
  gemm_groups groups;
  std::ptrdiff_t count;
  std::ptrdiff_t m, n, k;  ///< of a group
};

constexpr grouped_row grouped_rows[] = {
    {"gemm.grouped.rows", gemm_groups::m_contiguous, 4, 8192, 4096, 7168},
    {"gemm.grouped.rows", gemm_groups::m_contiguous, 4, 8192, 7168, 2048},
    {"gemm.grouped.rows", gemm_groups::m_contiguous, 32, 256, 4096, 7168},
    {"gemm.grouped.first_rows", gemm_groups::m_masked, 4, 8192, 4096, 7168},
    {"gemm.grouped.k", gemm_groups::k_contiguous, 4, 4096, 7168, 8192},
};

/// The goal of ranges of K is against as many dense products, which have as
/// many outputs; one of all of K, shown beside them, has a part of those.
void add_grouped(std::vector<gemm_row>& all) {
  for (const auto& x : grouped_rows) {
    const bool by_k = x.groups == gemm_groups::k_contiguous;
    const recipe r =
        by_k ? named("deepgemm.1d1d", fp32) : named("deepgemm.1d2d", bf16);
    gemm_contestant dense = ours("ours, dense", r);
    gemm_contestant apart = ours("ours, a launch a group", r, true);
    apart.apart = true;
    (by_k ? apart : dense).is_rival = true;
    all.push_back({x.name,
                   {by_k ? x.m : x.count * x.m, x.n, by_k ? x.count * x.k : x.k,
                    x.count, x.groups},
                   r.output,
                   by_k,
                   {ours("ours, grouped", r, true), dense, apart,
                    wgmma(wgmma_loop::n256)},
                   0.95,
                   1});
  }
}

struct bf16_row {
  const char* name;
  std::ptrdiff_t m, n, k;
  format output;
  bool across;
};

/// Besides a square, products of the shape lite4: of its 65536 tokens with the
/// first projection and the dense SwiGLU, of 16384 with an expert; and a
/// gradient of weights.
constexpr bf16_row bf16_rows[] = {
    {"gemm.bf16.square", 8192, 8192, 8192, bf16, false},
    {"gemm.bf16.first", 65536, 3712, 2048, bf16, false},
    {"gemm.bf16.dense_up", 65536, 16384, 2048, bf16, false},
    {"gemm.bf16.dense_down", 65536, 2048, 8192, bf16, false},
    {"gemm.bf16.expert_up", 16384, 2816, 2048, bf16, false},
    {"gemm.bf16.dw", 2048, 16384, 65536, fp32, true},
};

/// Sums of ours are over all of K, in order: so the rival may not split it.
void add_bf16(std::vector<gemm_row>& all) {
  for (const auto& x : bf16_rows) {
    recipe r = engine::for_operands(unpromoted_recipe, bf16, bf16);
    r.output = x.output;
    gemm_contestant rival = cublaslt(in_bf16, role::first_rival);
    rival.name += ", one split";
    rival.one_split = true;
    all.push_back({x.name,
                   {x.m, x.n, x.k},
                   x.output,
                   false,
                   {ours("ours", r), rival},
                   0.95,
                   1,
                   bf16,
                   x.across});
  }
}

constexpr gemm_size interval_rows[] = {{4096, 4096, 7168}, {8192, 8192, 8192}};

void add_intervals(std::vector<gemm_row>& all) {
  for (const auto& x : interval_rows) {
    gemm_row row{interval_bench, x, bf16, false, {}};
    for (const int interval : {0, 32, 64, 128, 256, 512, 1024}) {
      recipe r = named("cublaslt.tensorwise", bf16);
      r.interval = interval;
      row.contestants.push_back(ours(name_of_promotion(interval).c_str(), r));
    }
    row.contestants.push_back(wgmma(wgmma_loop::n256));
    all.push_back(std::move(row));
  }
}

}  // namespace

std::vector<gemm_row> gemm_rows() {
  std::vector<gemm_row> all;
  all.push_back(
      {"gemm.limit",
       {8192, 8192, 8192},
       bf16,
       false,
       {wgmma(wgmma_loop::n256), wgmma(wgmma_loop::n128),
        wgmma(wgmma_loop::fprop), wgmma(wgmma_loop::fprop_fed),
        wgmma(wgmma_loop::fprop_streamed), wgmma(wgmma_loop::wgrad),
        wgmma(wgmma_loop::wgrad_fed), wgmma(wgmma_loop::wgrad_streamed)}});
  add_fprop(all);
  add_wgrad(all);
  add_grouped(all);
  add_small(all);
  add_intervals(all);
  add_bf16(all);
  return all;
}

}  // namespace zeroulp::program
