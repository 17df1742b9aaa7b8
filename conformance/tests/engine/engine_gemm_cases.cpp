// GEMMs by a recipe and exact products, over shapes that reach every loop.

#include "conformance/tests/engine/chain_parts.hpp"

namespace zeroulp::conformance {
namespace {

struct gemm_problem {
  recipe r;
  format fa, fb;
  std::ptrdiff_t m, n, k;
  bool scaled;
  bool added;  ///< a c is given
  words a, b, scales_a, scales_b, c, expected;
  std::ptrdiff_t groups(std::ptrdiff_t size, std::int32_t g) const {
    return g > 0 ? ceil_div(size, g) : 1;
  }
  codes_in view_of_scales(const words& s, granularity g,
                          std::ptrdiff_t rows) const {
    if (!scaled) return {};
    return {s.data(), groups(rows, g.mn), groups(k, g.k)};
  }
};

words some_codes(format f, bool specials_too, std::uint64_t seed,
                 std::size_t count) {
  words codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    counter_rng rng{seed, i};
    codes[i] = static_cast<std::uint32_t>(rng.next() & low_bits(f.bits()));
    const bool kept = specials_too && rng.one_in(20);
    if (!kept && !decode(f, codes[i]).is_finite()) codes[i] = 0x38;
  }
  return codes;
}

gemm_problem make_problem(const recipe& r, format fa, format fb,
                          std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
                          std::uint64_t seed, bool scaled = true,
                          bool specials_too = false, bool added = true,
                          std::uint32_t least_scale = 0x3c000000) {
  gemm_problem x{r, fa, fb, m, n, k, scaled, added, {}, {}, {}, {}, {}, {}};
  const auto area = [](std::ptrdiff_t rows, std::ptrdiff_t cols) {
    return static_cast<std::size_t>(rows * cols);
  };
  x.a = some_codes(fa, specials_too, seed, area(m, k));
  x.b = some_codes(fb, specials_too, seed + 1, area(n, k));
  const auto scales = [&](std::ptrdiff_t rows, granularity g, std::uint64_t s) {
    words all(area(x.groups(rows, g.mn), x.groups(k, g.k)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = least_scale + (counter_rng(s, i).next32() & 0x07ffffffu);
    }
    return all;
  };
  x.scales_a = scales(m, r.a, seed + 2);
  x.scales_b = scales(n, r.b, seed + 3);
  x.c = make_numbers(specials_too ? family::specials_too : family::ordinary,
                     seed + 4, area(m, n));
  x.expected = x.c;
  gemm(r,
       gemm_operand<std::uint32_t>{fa, codes_in(x.a.data(), m, k),
                                   x.view_of_scales(x.scales_a, r.a, m)},
       gemm_operand<std::uint32_t>{fb, codes_in(x.b.data(), n, k),
                                   x.view_of_scales(x.scales_b, r.b, n)},
       added ? codes_in(x.c.data(), m, n) : codes_in{},
       codes_out(x.expected.data(), m, n));
  return x;
}

std::string difference_of(const gemm_problem& x, const engine_calls& e) {
  constexpr std::uint32_t guard = 0xdeadbeef;
  words d(x.expected.size() + 300, guard);
  e.gemm(x.r, x.fa, codes_in(x.a.data(), x.m, x.k),
         x.view_of_scales(x.scales_a, x.r.a, x.m), x.fb,
         codes_in(x.b.data(), x.n, x.k),
         x.view_of_scales(x.scales_b, x.r.b, x.n),
         x.added ? codes_in(x.c.data(), x.m, x.n) : codes_in{},
         {d.data(), x.m, x.n});
  for (std::size_t i = 0; i < d.size(); ++i) {
    const auto right = i < x.expected.size() ? x.expected[i] : guard;
    if (d[i] == right) continue;
    return fmt::format("{} x {} x {}: output {} is {:#x}, not {:#x}", x.m, x.n,
                       x.k, i, d[i], right);
  }
  return "";
}

using gemm_problems = std::vector<gemm_problem>;

struct exact_problem {
  format fa, fb;
  std::ptrdiff_t m, n, k;
  words a, b;
};

/// The exact sum, rounded to FP64 by the core.
double exact_product(const exact_problem& x, std::ptrdiff_t i,
                     std::ptrdiff_t j) {
  const decoded_row<std::uint32_t> a{x.a.data() + i * x.k, 1, x.fa};
  const decoded_row<std::uint32_t> b{x.b.data() + j * x.k, 1, x.fb};
  const int k = static_cast<int>(x.k);
  const auto s = zeroulp::detail::find_specials(a, b, k, unpacked{});
  if (s.nan || (s.plus && s.minus)) {
    return bit_cast<double>(
        encode(fp64, unpacked{0, 0, kind::nan, false}, {}, ocp_nonsaturate));
  }
  if (s.any()) {
    return bit_cast<double>(encode(
        fp64, unpacked{0, 0, kind::infinite, s.minus}, {}, ocp_nonsaturate));
  }
  const path p{x.fa, x.fb, exact_f32};
  return bit_cast<double>(
      encode(fp64, zeroulp::detail::exact_sum(p, a, b, k, unpacked{}), {},
             ocp_nonsaturate));
}

engine_case exact_case(std::string name, std::vector<exact_problem> all) {
  struct solved {
    exact_problem x;
    std::vector<std::uint64_t> expected;
  };
  const auto shared = std::make_shared<std::vector<solved>>();
  for (auto& x : all) {
    solved s{std::move(x), {}};
    for (std::ptrdiff_t i = 0; i < s.x.m; ++i) {
      for (std::ptrdiff_t j = 0; j < s.x.n; ++j) {
        s.expected.push_back(bit_cast<std::uint64_t>(exact_product(s.x, i, j)));
      }
    }
    shared->push_back(std::move(s));
  }
  return {std::move(name), [shared](const engine_calls& e) -> std::string {
            for (const auto& [x, expected] : *shared) {
              std::vector<double> out(expected.size() + 200, -7.0);
              e.exact_products(x.fa, codes_in(x.a.data(), x.m, x.k), x.fb,
                               codes_in(x.b.data(), x.n, x.k),
                               {out.data(), x.m, x.n});
              for (std::size_t i = 0; i < out.size(); ++i) {
                const auto right = i < expected.size()
                                       ? expected[i]
                                       : bit_cast<std::uint64_t>(-7.0);
                const auto found = bit_cast<std::uint64_t>(out[i]);
                const bool nan =
                    out[i] != out[i] &&
                    (right & 0x7fffffffffffffff) > 0x7ff0000000000000;
                if (found != right && !nan) {
                  return fmt::format("output {} is {:#x}, not {:#x}", i, found,
                                     right);
                }
              }
            }
            return "";
          }};
}

void add_exact_products(engine_case_list& all) {
  const auto make = [](format fa, format fb, std::ptrdiff_t m, std::ptrdiff_t n,
                       std::ptrdiff_t k, bool specials_too) {
    const auto area = [](std::ptrdiff_t x, std::ptrdiff_t y) {
      return static_cast<std::size_t>(x * y);
    };
    return exact_problem{fa,
                         fb,
                         m,
                         n,
                         k,
                         some_codes(fa, specials_too, 11, area(m, k)),
                         some_codes(fb, specials_too, 12, area(n, k))};
  };
  all.push_back(exact_case(
      "exact products",
      {make(e4m3, e4m3, 4, 3, 200, false), make(e4m3, e4m3, 130, 70, 40, false),
       make(e4m3, e5m2, 5, 20, 30, true), make(e5m2, e5m2, 5, 20, 30, true),
       make(bf16, bf16, 5, 7, 9, true), make(e5m6, e5m6, 3, 3, 30, false),
       make(fp16, fp16, 3, 3, 30, false),
       make({4, 3, 140, specials::ieee}, e4m3, 3, 3, 30, false),
       make(e4m3, {4, 3, 140, specials::ieee}, 3, 3, 30, false),
       make(fp32, fp32, 3, 3, 30, true), make(e4m3, e4m3, 3, 3, 0, false)}));
  // 2^127 * 2^127 - 2^127 * 2^127 + 1 needs more than FP64 has; -0.
  all.push_back(
      exact_case("exact products that are rounded once",
                 {{bf16,
                   bf16,
                   1,
                   1,
                   3,
                   {0x7f00, 0x7f00, 0x3f80},
                   {0x7f00, 0xff00, 0x3f80}},
                  {e4m3, e4m3, 1, 1, 1, {0x80}, {0x38}},
                  {e5m2, e5m2, 1, 1, 2, {0x7c, 0x7c}, {0x38, 0xb8}},
                  {e5m2, e5m2, 1, 1, 2, {0x7c, 0x38}, {0xb8, 0xb8}},
                  {e5m2, e5m2, 1, 1, 2, {0xfc, 0x38}, {0xb8, 0xb8}}}));
}

/// Tiles that fill their memory, where another's begins, which holds what a
/// lowered path left there.
void add_whole_tiles(engine_case_list& all) {
  const chain_problem before = any_problem(
      {e4m3, e4m3, hopper_half_f32, lowering::hmma_zero}, 3, {128, 128, 32});
  const auto add = [&](std::string name, recipe r) {
    r.splits = 2;
    const bool in_blocks = r.b == block_128x128;
    const std::ptrdiff_t k = in_blocks ? 1024 : 256;
    const gemm_problems few{make_problem(r, e4m3, e4m3, 128, 2, k, 5),
                            make_problem(r, e4m3, e4m3, 2, 128, k, 5)};
    all.push_back(
        {"gemm of whole tiles, " + name, [before, few](const engine_calls& e) {
           std::string what = difference_of(before, e);
           for (const auto& x : few) what += difference_of(x, e);
           return what;
         }});
  };
  for (const auto& named : named_recipes) add(named.name, named.value);
}

}  // namespace

engine_case_list gemm_cases() {
  engine_case_list all;
  std::uint64_t seed = 1;
  for (const auto& named : named_recipes) {
    gemm_problems few;
    for (const auto& [fa, fb] : {std::pair{e4m3, e5m2}, {e5m2, e4m3}}) {
      for (const std::ptrdiff_t k : {0, 1, 31, 33, 200, 513}) {
        few.push_back(make_problem(named.value, fa, fb, 3, 5, k, seed += 10));
        few.push_back(make_problem(named.value, fa, fb, 3, 5, k, seed += 10,
                                   false, true));
      }
    }
    few.push_back(make_problem(named.value, bf16, bf16, 3, 5, 130, 9));
    all.push_back(case_of(fmt::format("gemm {}", named.name), std::move(few)));
  }
  for (const auto& named : named_recipes) {
    if (named.value.acc == exact_f32) continue;
    all.push_back(case_of(fmt::format("gemm {} of tiles", named.name),
                          gemm_problems{make_problem(named.value, e4m3, e5m2,
                                                     131, 66, 160, 77)}));
  }
  for (const std::int32_t splits : {2, 3, 7}) {
    recipe r = unpromoted_recipe;
    r.splits = splits;
    recipe accumulating = r;
    accumulating.end = epilogue::accumulate;
    recipe to_half = r;
    to_half.output = fp16;
    all.push_back(case_of(
        fmt::format("gemm of {} splits", splits),
        gemm_problems{make_problem(r, e4m3, e4m3, 3, 4, 520, 5),
                      make_problem(accumulating, e4m3, e4m3, 3, 4, 520, 6),
                      make_problem(to_half, e5m2, e5m2, 3, 4, 260, 6)}));
  }
  gemm_problems few;
  for (const auto& named : named_recipes) {
    recipe r = named.value;
    r.end = epilogue::accumulate;
    few.push_back(make_problem(r, e4m3, e4m3, 3, 4, 40, 5, true, false, false));
    few.push_back(make_problem(r, e4m3, e4m3, 3, 4, 0, 5, true, false, false));
  }
  all.push_back(case_of("gemm that adds nothing", std::move(few)));
  add_whole_tiles(all);
  // Ranges of K that end within what the kernels read at once.
  few.clear();
  for (const auto& acc : {fp32_sequential, exact_f32, what_if_fraction(13)}) {
    for (const std::int32_t splits : {1, 2, 3}) {
      for (const std::int32_t interval : {0, 1, 5, 40}) {
        for (const auto update :
             {promotion::add, promotion::product_of_scales}) {
          recipe r = unpromoted_recipe;
          r.acc = acc;
          if (interval > 0 && acc.length > 1) r.acc.length = 1;
          r.splits = splits;
          r.interval = interval;
          r.update = update;
          r.a = {1, 0};
          r.b = {1, 0};
          if (!is_valid(r)) continue;
          few.push_back(make_problem(r, e4m3, e5m2, 3, 4, 157, 8));
        }
      }
    }
  }
  all.push_back(case_of("gemm of odd ranges", std::move(few)));
  // Negative sums so small that they are -0, also where a range ends with K.
  few.clear();
  for (const std::int32_t splits : {1, 2}) {
    recipe r = cublaslt_1x128_1x128_recipe;
    r.output = fp32;
    r.splits = splits;
    few.push_back(make_problem(r, e4m3, e4m3, 3, 4, 256, 12, true, false, false,
                               0x05000000));
  }
  all.push_back(case_of("gemm of sums that are -0", std::move(few)));
  add_exact_products(all);
  return all;
}

}  // namespace zeroulp::conformance
