// The GEMM kernels against the emulator, all on the device: every output of
// benchmarked shapes, of DeepSeek-V3's training shapes, of shapes that select
// each grouped kernel, and of random shapes.

#include <span>

#include "conformance/device/kernels/gemm/large.cuh"
#include "conformance/device/support/output_differences.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::gemm_groups;

recipe recipe_called(const char* name) { return parse_recipe(name).value; }

/// The recipes of training, then the other promotion and the controls.
std::vector<recipe> large_recipes() {
  auto unpromoted = recipe_called("unpromoted");
  auto often = unpromoted;
  unpromoted.output = bf16;
  often.interval = 32;
  auto wgrad = recipe_called("deepgemm.1d1d");
  wgrad.end = epilogue::store;
  auto to_fp32 = recipe_called("deepgemm.1d2d");
  to_fp32.output = fp32;
  auto added = to_fp32;
  added.end = epilogue::accumulate;
  return {recipe_called("deepgemm.1d2d"),
          to_fp32,
          added,
          recipe_called("deepgemm.1d1d"),
          recipe_called("cublaslt.tensorwise"),
          recipe_called("cublaslt.1x128_1x128"),
          recipe_called("cutlass.blockwise"),
          wgrad,
          unpromoted,
          often};
}

struct size3 {
  std::ptrdiff_t m, n, k;
};

verdict check_timed(const effort& e) {
  constexpr size3 few[] = {{130, 260, 300}, {1, 70, 512}};
  constexpr size3 small[] = {{1, 4096, 7168},    {16, 4096, 7168},
                             {64, 4096, 7168},   {64, 7168, 16384},
                             {128, 24576, 1536}, {64, 32768, 512},
                             {128, 7168, 16384}, {2048, 2048, 4096}};
  constexpr size3 large[] = {{4096, 2048, 7168}, {4096, 24576, 1536},
                             {4096, 32768, 512}, {4096, 7168, 16384},
                             {4096, 4096, 7168}, {4096, 7168, 2048},
                             {8192, 8192, 8192}};
  verdict v;
  std::size_t turn = 0;
  const auto hold_all = [&](std::span<const size3> sizes) {
    for (const auto& x : sizes) {
      for (const auto& r : large_recipes()) {
        const bool other = ++turn % 3 == 0;
        v += hold_large(r, other ? e5m2 : e4m3, turn % 4 == 0 ? e5m2 : e4m3,
                        {gemm_groups::none, 1, x.m, x.n, x.k});
      }
    }
  };
  if (e.level == 0) hold_all(few);
  if (e.level >= 1) hold_all(small);
  if (e.level >= 2) hold_all(large);
  return v;
}

/// Output and input channels of the layers of DeepSeek-V3: Fprop, Dgrad and
/// Wgrad for 4096 tokens, and Wgrad for more tokens.
verdict check_layers(const effort& e) {
  constexpr struct {
    std::ptrdiff_t out, in;
  } layers[] = {{1536, 7168},  {24576, 1536}, {576, 7168},
                {32768, 512},  {7168, 16384}, {18432, 7168},
                {7168, 18432}, {4096, 7168},  {7168, 2048}};
  verdict v;
  const auto forward = recipe_called("deepgemm.1d2d");
  const auto backward = recipe_called("deepgemm.1d1d");
  const auto hold = [&](const recipe& r, std::ptrdiff_t m, std::ptrdiff_t n,
                        std::ptrdiff_t k) {
    const bool is_gradient = r.end == epilogue::accumulate;
    v += hold_large(r, is_gradient ? e5m2 : e4m3, e4m3,
                    {gemm_groups::none, 1, m, n, k});
  };
  if (e.level == 0) {
    hold(forward, 100, 576, 300);
    hold(backward, 60, 130, 700);
    return v;
  }
  hold(backward, 8192, 7168, 128);  // the pipeline carries mostly C
  for (const auto& x : layers) {
    hold(forward, 4096, x.out, x.in);
    hold(forward, 4096, x.in, x.out);
    hold(backward, x.out, x.in, 4096);
    if (e.level == 1) return v;
  }
  for (const std::ptrdiff_t tokens : {16384, 65536, 65500}) {
    hold(backward, 2048, 7168, tokens);
    hold(backward, 576, 7168, tokens);
  }
  return v;
}

/// Experts: of benchmarked sizes, and of uneven sizes.
verdict check_experts(const effort& e) {
  verdict v;
  const auto forward = recipe_called("deepgemm.1d2d");
  const auto backward = recipe_called("deepgemm.1d1d");
  const auto hold = [&](const recipe& r, gemm_groups kind, std::ptrdiff_t count,
                        std::ptrdiff_t each, std::ptrdiff_t n, std::ptrdiff_t k,
                        bool is_even) {
    counter_rng rng(e.seed, static_cast<std::uint64_t>(count + each));
    const auto size = [&](int multiple) {
      const auto most = static_cast<int>(each);
      return is_even ? most : rng.between(0, most / multiple) * multiple;
    };
    std::vector<std::int32_t> table;
    trial_shape s{kind, count, each, n, k};
    if (kind == gemm_groups::m_masked) {
      for (std::ptrdiff_t g = 0; g < count; ++g) table.push_back(size(1));
    } else {
      const bool by_k = kind == gemm_groups::k_contiguous;
      table.push_back(0);
      for (std::ptrdiff_t g = 0; g < count; ++g) {
        table.push_back(table.back() + size(by_k ? 128 : 1));
      }
      // For ranges of K, the argument `k` is M, `each` the length of a range.
      (by_k ? s.k : s.m) = table.back();
      if (by_k) s.m = k;
    }
    v += hold_large(r, e4m3, e4m3, s, table);
  };
  using enum gemm_groups;
  for (const bool is_even : {true, false}) {
    if (is_even && e.level >= 1) {  // tiles of 256 rows, half may be empty
      hold(forward, first_rows, 7, 129, 4000, 300, true);
      hold(forward, first_rows, 7, 256, 4000, 300, false);
      hold(forward, rows, 7, 401, 4000, 300, true);  // groups begin anywhere
    }
    if (e.level == 0) {
      hold(forward, rows, 3, 70, 130, 200, is_even);
      hold(forward, first_rows, 3, 70, 130, 200, is_even);
      hold(backward, k_ranges, 3, 256, 130, 140, is_even);
      continue;
    }
    hold(forward, rows, 32, 256, 4096, 7168, is_even);
    hold(forward, first_rows, 32, 64, 4096, 7168, is_even);
    hold(backward, k_ranges, 8, 1024, 2048, 4096, is_even);
    if (e.level == 1) continue;
    hold(forward, rows, 4, 8192, 4096, 7168, is_even);
    hold(forward, first_rows, 4, 8192, 4096, 7168, is_even);
    hold(forward, rows, 4, 8192, 7168, 2048, is_even);
    hold(backward, k_ranges, 8, 8192, 7168, 2048, is_even);
  }
  return v;
}

/// Draws a table: groups of any size, also empty; rows or elements of K in no
/// group; one invalid entry, which spoils the groups beside it.
std::vector<std::int32_t> draw_table(const trial_shape& s, counter_rng& rng) {
  const bool by_k = s.kind == gemm_groups::k_contiguous;
  const bool has_edges = !s.has_several_a();
  const auto most = static_cast<std::int32_t>(by_k ? s.k : s.m);
  const int each = by_k ? 128 : 1;
  const auto count = static_cast<std::uint32_t>(s.count);
  std::vector<std::int32_t> table(count + (has_edges ? 1 : 0));
  for (auto& entry : table) entry = rng.between(0, most / each) * each;
  if (has_edges) std::sort(table.begin(), table.end());
  if (by_k && rng.one_in(2)) table.back() = most;
  const std::int32_t strange[] = {-rng.between(1, 300),
                                  most + rng.between(1, 300), 64};
  table[1 + rng.below(count - 1)] = strange[rng.below(by_k ? 3 : 2)];
  return table;
}

/// Every grouped kernel, on shapes for which the host selects it with 132 SMs.
/// Waves of tiles:
///
///   rows of a group   tiles of 256 rows   tiles of 128 rows
///   740               2                   4
///   350               2                   2
///
/// If B is scaled by blocks, one kernel stages D in shared memory (panels). It
/// serves groups of rows without C, with a BF16 D whose rows are multiples of
/// 16 bytes. Kernels without panels serve all other cases.
verdict check_groups(const effort& e) {
  using enum gemm_groups;
  verdict v;
  std::uint64_t turn = 0;
  // which: bit 0 scales of B, bit 1 BF16, bit 2 C. types: formats of A and B
  // and, with `kind`, where C begins.
  const auto hold = [&](gemm_groups kind, std::ptrdiff_t each, std::ptrdiff_t n,
                        int which, int types) {
    auto r = recipe_called(which % 2 == 0 ? "deepgemm.1d2d" : "deepgemm.1d1d");
    r.output = which / 2 % 2 == 0 ? fp32 : bf16;
    r.end = which / 4 == 0 ? epilogue::store : epilogue::accumulate;
    const trial_shape s{kind, 5, kind == rows ? 5 * each : each, n,
                        kind == k_ranges ? 1068 : 300};
    counter_rng rng(e.seed + 31, turn++);
    v += hold_large(r, types % 2 == 0 ? e4m3 : e5m2,
                    types / 2 % 2 == 0 ? e4m3 : e5m2, s, draw_table(s, rng),
                    {(types / 2 + (kind == rows ? 0 : 1)) % 2});
  };
  for (int which = 0; which < 8; ++which) {
    for (const auto kind : {rows, first_rows, k_ranges}) {
      for (int types = 0; types < (e.level == 0 ? 1 : 4); ++types) {
        hold(kind, 740, 2040, which, which + types);
      }
      if (e.level == 0) continue;
      hold(kind, 350, 2040, which, which);
      for (const std::ptrdiff_t each : {740, 350}) {
        hold(kind, each, 2044, which, which + 1);  // rows of whole words
        hold(kind, each, 2043, which, which + 2);  // rows begin anywhere
      }
    }
  }
  return v;
}

/// Products added to C, with the largest tiles. Their kernel has no panels (D
/// staged in shared memory), whatever D is, except for groups of K. It
/// prefetches C to the L2 from 33 blocks of K before the end.
verdict check_sums(const effort& e) {
  verdict v;
  const auto added = recipe_called("deepgemm.1d1d");
  v += hold_large(added, e4m3, e4m3, {gemm_groups::none, 1, 129, 8576, 4200});
  v += hold_large(added, e4m3, e4m3,
                  {gemm_groups::k_contiguous, 8, 130, 4224, 5260},
                  {0, 4352, 4352, 4480, 4608, 4736, 4864, 5120, 5260});
  for (const char* name : {"deepgemm.1d2d", "deepgemm.1d1d"}) {
    for (const format to : {bf16, fp32}) {
      for (const std::ptrdiff_t n : {2048, 2044, 2043}) {
        if (e.level == 0 && n != 2048) continue;
        auto r = recipe_called(name);
        r.output = to, r.end = epilogue::accumulate;
        v += hold_large(
            r, e4m3, e4m3,
            {gemm_groups::none, 1, 4096, n, e.level == 0 ? 130 : 1068});
      }
    }
  }
  return v;
}

/// Few rows, and as many columns as give each SM one tile. A tile may span two
/// 128-column blocks of scales. The kernel reads B only once and prefetches it.
verdict check_wide(const effort& e) {
  constexpr size3 few[] = {
      {64, 7168, 300}, {1, 7001, 1100}, {60, 5000, 900}, {65, 7392, 128}};
  verdict v;
  std::size_t turn = 0;
  for (size3 x : few) {
    if (e.level > 0) x.k *= 8;
    for (const char* name : {"deepgemm.1d2d", "cutlass.blockwise"}) {
      for (const bool adds : {false, true}) {
        for (const format to : {bf16, fp32}) {
          auto r = recipe_called(name);
          r.output = to, r.end = adds ? epilogue::accumulate : epilogue::store;
          const bool other = ++turn % 3 == 0;
          v += hold_large(r, other ? e5m2 : e4m3, turn % 4 == 0 ? e5m2 : e4m3,
                          {gemm_groups::none, 1, x.m, x.n, x.k});
        }
      }
    }
  }
  return v;
}

/// Short main loops, in which the TMA store of D overlaps the next tile, from
/// two blocks of K on:
///   - three waves of tiles with 132 SMs, also with a D that is stored slowly;
///   - groups in which some warps have no rows;
///   - so many tiles with so few blocks of K that the next tile is computed
///     before D of the last one is stored.
/// Before these, and alone at level 0, as many tiles with few rows, which
/// compute-sanitizer can finish.
verdict check_short(const effort& e) {
  using enum gemm_groups;
  verdict v;
  auto r = recipe_called("deepgemm.1d2d");
  r.output = bf16, r.end = epilogue::store;
  for (const std::ptrdiff_t k : {129, 300, 700}) {
    if (k != 300) v += hold_large(r, e4m3, e4m3, {none, 1, 129, 33920, k});
    v += hold_large(
        r, e4m3, e4m3, {rows, 16, 200, 4224, k},
        {0, 1, 4, 4, 5, 22, 23, 30, 31, 33, 38, 39, 40, 41, 42, 43, 200});
    v += hold_large(r, e4m3, e4m3, {first_rows, 12, 130, 4224, k},
                    {130, 0, 1, 16, 65, 129, 7, 1, 2, 3, 4, 5});
  }
  // K is long enough for one TMA store of D with each stage of the next tile.
  v += hold_large(r, e4m3, e4m3, {first_rows, 12, 130, 4224, 1600},
                  {130, 0, 1, 16, 65, 129, 7, 1, 2, 3, 4, 5});
  auto gradient = recipe_called("deepgemm.1d1d");
  gradient.end = epilogue::store;
  for (const format to : {bf16, fp32}) {
    gradient.output = to;
    v += hold_large(gradient, e4m3, e4m3, {k_ranges, 9, 130, 4224, 1900},
                    {0, 128, 384, 384, 512, 1408, 1536, 1664, 1792, 1900});
  }
  if (e.level == 0) return v;
  const auto hold = [&](std::ptrdiff_t n, std::ptrdiff_t k,
                        bool on_host = false) {
    v += hold_large(r, e4m3, e4m3, {none, 1, 4090, n, k}, {}, {0, on_host});
  };
  for (const std::ptrdiff_t k : {1, 128, 129, 300, 513, 1400}) {
    hold(2312, k);
    hold(2312, k, true);
  }
  for (const std::ptrdiff_t k : {1, 200, 257, 700}) {
    v += hold_large(r, e4m3, e4m3, {rows, 8, 2500, 9208, k},
                    {0, 1, 130, 130, 700, 901, 1157, 2000, 2500});
    // More rows of tiles than a patch (raster group) of the scheduler has.
    v += hold_large(r, e4m3, e4m3, {rows, 2, 2500, 9208, k}, {0, 2400, 2500});
    v += hold_large(r, e4m3, e4m3, {first_rows, 6, 400, 9224, k},
                    {400, 0, 128, 129, 256, 300});
  }
  const std::uint64_t count = cases(e, 6, 20);
  for (std::uint64_t i = 0; i < count; ++i) hold(18432, 129);
  return v;
}

/// Repeats one call and requires the bits of its first run.
verdict repeat(const recipe& r, size3 x, std::uint64_t runs) {
  const filled<std::uint8_t> a(content::codes, e4m3, x.m, x.k),
      b(content::codes, e4m3, x.n, x.k);
  // The layout that TMA reads: scales of one block of K are contiguous.
  const std::ptrdiff_t blocks = ceil_div(x.k, 128);
  const filled<std::uint32_t> sa(content::scales, fp32, blocks, x.m, 4),
      sb(content::scales, fp32, blocks, x.n, 4);
  const bool adds = r.end == epilogue::accumulate;
  const filled<std::uint32_t> c(content::sums, fp32, adds ? x.m : 0, x.n);
  const auto size = static_cast<std::size_t>(x.m * x.n);
  const device_buffer<std::uint32_t> first(size), again(size);
  const auto launch = [&](const device_buffer<std::uint32_t>& d) {
    cuda::gemm(r, {}, operand_of(e4m3, a.view(), sa.turned()),
               operand_of(e4m3, b.view(), sb.turned()),
               {c.memory.data(), c.rows, x.n}, {d.data(), x.m, x.n});
  };
  launch(first);
  output_differences differences;
  for (std::uint64_t i = 0; i < runs; ++i) {
    launch(again);
    differences.add(again.data(), 4, first.data(), x.m, x.n);
  }
  const auto t = differences.found();
  verdict v;
  v.cases = runs * size;
  v.failures = t.differing;
  v.add(t.sums);
  if (t.differing != 0) {
    v.first_failure = std::to_string(x.m) + "x" + std::to_string(x.n) + "x" +
                      std::to_string(x.k) + ", again: " + text_of(t, x.n);
  }
  return v;
}

/// Long main loops, whose stages are released while warps read scales; and a C
/// that passes through the pipeline when little else does. A stage that the
/// producer overwrites too early changes only a few outputs in a few thousand
/// products, hence the repetition.
verdict check_repeated(const effort& e) {
  auto r = recipe_called("deepgemm.1d1d");
  auto added = r;
  r.end = epilogue::store;
  const bool few = e.level == 0;
  const std::ptrdiff_t m = few ? 300 : 4096, n = few ? 300 : 7168;
  const std::uint64_t runs = cases(e, 3, 2000);
  auto v = repeat(r, {m, n, few ? 1024 : 8192}, runs);
  v += repeat(r, {m, n, few ? 2048 : 16384}, runs);
  v += repeat(added, {2 * m, n, 128}, runs);
  return v;
}

verdict check_any(const effort& e) {
  verdict v;
  const int most = e.level == 0 ? 200 : 3000;
  const std::uint64_t count = cases(e, 3, 80);
  for (std::uint64_t i = 0; i < count; ++i) {
    counter_rng rng(e.seed + 30, i);
    const auto r = draw_served_recipe(rng);
    v += hold_large(r, rng.one_in(3) ? e5m2 : e4m3, rng.one_in(3) ? e5m2 : e4m3,
                    {gemm_groups::none, 1, draw_length(most, rng),
                     draw_length(most, rng), draw_length(2 * most, rng)});
  }
  return v;
}

}  // namespace

check_list gemm_large_checks() {
  const char* const clauses = "G1 G3 G4 G5 G6 G8 G9 G10 G13";
  const auto check_of = [&](const char* name, auto run) {
    return device_check(name, clauses, "the emulator on the device",
                        [run](const effort& e) {
                          input_seeds::begin(e.seed);
                          return run(e);
                        });
  };
  return {check_of("kernel.gemm.large.timed", check_timed),
          check_of("kernel.gemm.large.layers", check_layers),
          check_of("kernel.gemm.large.experts", check_experts),
          check_of("kernel.gemm.large.groups", check_groups),
          check_of("kernel.gemm.large.sums", check_sums),
          check_of("kernel.gemm.large.short", check_short),
          check_of("kernel.gemm.large.wide", check_wide),
          check_of("kernel.gemm.large.repeated", check_repeated),
          check_of("kernel.gemm.large.random", check_any)};
}

}  // namespace zeroulp::conformance::device
