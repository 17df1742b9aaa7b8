// GEMM rows: random-normal codes, operands prepared before, as one operand of
// several GEMMs is. The layer's time and memory include the preparation.

#include "tools/zeroulp/bench/gemm.hpp"

#include <malloc.h>

#include <cstdlib>
#include <fstream>

#include "zeroulp/names.hpp"

namespace zeroulp::program {
namespace {

/// Prepared operands, shared by the jobs of a group.
struct prepared_pair {
  prepared_operand a, b;
};

template <class Code>
bench_job engine_job(const gemm_problem<Code>& p, const std::string& name,
                     const std::shared_ptr<const prepared_pair>& operands,
                     const bench_context& how) {
  auto out = std::make_shared<std::vector<std::uint32_t>>(
      static_cast<std::size_t>(p.shape.m * p.shape.n));
  bench_job j = p.job(name);
  j.threads = how.threads;
  p.sample(j, *out);
  j.run = [p, operands, out] { p.multiply(operands->a, operands->b, *out); };
  return j;
}

/// The core, output by output.
template <class Code>
bench_job core_job(gemm_problem<Code> p, const std::string& name) {
  constexpr std::ptrdiff_t rows = 4;
  constexpr std::ptrdiff_t cols = 8;
  auto out = std::make_shared<std::vector<std::uint32_t>>(rows * cols);
  gemm_problem<Code> part = p;
  part.shape.m = rows;
  part.shape.n = cols;
  bench_job j = part.job(name + ":core");
  part.sample(j, *out);
  j.run = [part, out] {
    for (std::ptrdiff_t i = 0; i < rows * cols; ++i) {
      (*out)[static_cast<std::size_t>(i)] = part.core(i / cols, i % cols);
    }
  };
  return j;
}

struct gemm_row {
  const char* name;
  const char* by;  ///< a path, or for promoted rows a recipe
};

constexpr gemm_row path_rows[] = {
    {"gemm.hopper_fp8_f16", "hopper.wgmma.e4m3.e4m3.f16"},
    {"gemm.bf16", "hopper.wgmma.bf16.bf16.f32"},
    {"gemm.fp16", "hopper.wgmma.fp16.fp16.f32"},
    {"gemm.tf32", "hopper.wgmma.tf32.tf32.f32"},
    {"gemm.mma_fp8", "hopper.mma.e4m3.e4m3.f32"},
    {"gemm.sequential", "sequential.e4m3.e4m3.f32"},
    {"gemm.exact", "exact.e4m3.e4m3.f32"},
};

constexpr gemm_row fp8_row{"gemm.hopper_fp8", "hopper.wgmma.e4m3.e4m3.f32"};
constexpr gemm_row promoted_rows[] = {
    {"gemm.promoted_1x128_128x128", "deepgemm.1d2d"},
    {"gemm.promoted_1x128_1x128", "cublaslt.1x128_1x128"},
};

gemm_shape usual_shape(const bench_context& how) {
  return how.sized(gemm_shape{1024, 1024, 4096}, gemm_shape{96, 96, 512});
}

template <class Code>
std::shared_ptr<const prepared_pair> prepare(const gemm_problem<Code>& p) {
  return std::make_shared<prepared_pair>(
      prepared_pair{{p.a->f, p.a->view()}, {p.b->f, p.b->view()}});
}

template <class Code>
bench_group path_group(const gemm_row& row, const path& unit,
                       const bench_context& how) {
  const auto p = make_problem<Code>(unit, usual_shape(how));
  bench_group g;
  g.jobs.push_back(engine_job(p, row.name, prepare(p), how));
  add_peer(g, 0, core_job(p, row.name));
  return g;
}

/// The FP8 step alone and promoted, and what two threads give.
bench_group promotion_group(const bench_context& how) {
  const auto p = make_problem<std::uint8_t>(parse_path(fp8_row.by).value,
                                            usual_shape(how));
  const auto operands = prepare(p);
  bench_group g;
  g.jobs.push_back(engine_job(p, fp8_row.name, operands, how));
  auto& threads = g.jobs[0].threads;
  const int all = threads.back();
  if (all > 2) threads.insert(threads.begin() + 1, 2);
  for (const auto& row : promoted_rows) {
    const auto promoted = with_recipe(p, row.by);
    g.jobs.push_back(engine_job(promoted, row.name, operands, how));
  }
  g.ratios.push_back({"ratio.promoted_over_unpromoted", 1, 0});
  if (all > 1) g.ratios.push_back({"ratio.two_threads", 0, 0, 2});
  if (all > 2) g.ratios.push_back({"ratio.all_threads", 0, 0, all});
  add_peer(g, 0, core_job(p, fp8_row.name));
  add_peer(g, 1, core_job(with_recipe(p, promoted_rows[0].by), g.jobs[1].name));
  return g;
}

// The process's memory: Linux counts its peak anew when asked to.

/// A line of /proc/self/status in bytes; 0 if there is none.
double memory(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(what + ":", 0) == 0) {
      return 1024 * std::strtod(line.c_str() + what.size() + 1, nullptr);
    }
  }
  return 0;
}

bool reset_peak() {
  malloc_trim(0);
  std::ofstream file("/proc/self/clear_refs");
  file << "5";
  file.flush();
  return file.good() && memory("VmHWM") > 0;
}

constexpr const char* layer = "gemm.layer_4096x7168x2048";
constexpr const char* layer_memory = "gemm.layer.memory";

/// A layer of a model from codes to result, on all cores, and the memory that
/// it takes.
bench_group layer_group(bench_context& how) {
  const auto shape =
      how.sized(gemm_shape{4096, 7168, 2048}, gemm_shape{256, 256, 512});
  const bool counts = reset_peak();
  const double before = memory("VmRSS");
  const auto p = with_recipe(
      make_problem<std::uint8_t>(hopper_wgmma_e4m3, shape), "deepgemm.1d2d");
  auto out = std::make_shared<std::vector<std::uint32_t>>(
      static_cast<std::size_t>(shape.m * shape.n));
  bench_group g;
  bench_job j = p.job(layer);
  j.unit = "s";
  j.work = 0;
  j.threads = {how.threads.back()};
  p.sample(j, *out);
  j.run = [p, out] {
    p.multiply({p.a->f, p.a->view()}, {p.b->f, p.b->view()}, *out);
  };
  g.jobs.push_back(std::move(j));
  if (!counts) {
    how.absent.insert(std::string(layer_memory) +
                      ": this system does not count a peak anew");
    return g;
  }
  g.others = [p, out, before, threads = how.threads.back()] {
    const std::size_t words =
        p.a_scales->words.size() + p.b_scales->words.size() + out->size();
    const auto bytes = static_cast<double>(
        p.a->codes.size() + p.b->codes.size() + words * sizeof(std::uint32_t));
    return std::vector<bench_row>{{layer_memory,
                                   "x of operands and result",
                                   {(memory("VmHWM") - before) / bytes},
                                   threads,
                                   "",
                                   p.shape.text()}};
  };
  return g;
}

}  // namespace

std::vector<bench_entry> gemm_benches() {
  std::vector<bench_entry> all;
  all.push_back({{fp8_row.name, promoted_rows[0].name, promoted_rows[1].name,
                  "ratio.promoted_over_unpromoted", "ratio.two_threads"},
                 promotion_group});
  for (const auto& row : path_rows) {
    all.push_back({{row.name}, [row](const bench_context& how) {
                     const path unit = parse_path(row.by).value;
                     return unit.a.bits() <= 8
                                ? path_group<std::uint8_t>(row, unit, how)
                                : path_group<std::uint32_t>(row, unit, how);
                   }});
  }
  all.push_back({{layer, layer_memory}, layer_group});
  return all;
}

}  // namespace zeroulp::program
