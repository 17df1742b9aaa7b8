// The promoted GEMM against its oracle (SPEC G1 to G10).

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conformance/checks/gemm/gemm_runs.hpp"
#include "conformance/oracles/gemm_oracle.hpp"

namespace zeroulp::conformance {
namespace {

bool same(const recipe& x, const recipe& y) {
  return x.acc == y.acc && x.interval == y.interval && x.update == y.update &&
         x.a == y.a && x.b == y.b && x.splits == y.splits && x.end == y.end &&
         x.output == y.output;
}

verdict check_rows(const implementation&, const effort&) {
  verdict v;
  const auto specified = specified_recipes();
  for (const auto& s : specified) {
    const bool found = std::any_of(
        std::begin(named_recipes), std::end(named_recipes), [&](const auto& n) {
          return n.name == s.name && same(n.value, s.value);
        });
    v.count(found, [&] { return s.name + " is not the row of G10"; });
  }
  for (const auto& n : named_recipes) {
    const bool found =
        std::any_of(specified.begin(), specified.end(),
                    [&](const auto& s) { return n.name == s.name; });
    v.count(found, [&] { return std::string(n.name) + " has no clause"; });
  }
  return v;
}

verdict check_validity(const implementation&, const effort& e) {
  verdict v;
  const int rounds = e.level == 0 ? 3000 : 100000;
  for (int n = 0; n < rounds; ++n) {
    counter_rng rng(e.seed + 2, static_cast<std::uint64_t>(n));
    recipe r = make_recipe(rng).r;
    // Most are valid; change one thing, by little.
    switch (rng.below(8)) {
      case 0:
        r.interval += rng.between(-1, 1);
        break;
      case 1:
        r.acc.length = static_cast<std::int16_t>(r.acc.length * 2);
        break;
      case 2:
        (rng.one_in(2) ? r.a : r.b).k += rng.between(-1, 1);
        break;
      case 3:
        (rng.one_in(2) ? r.a : r.b).k = 128;
        break;
      case 4:
        r.update = promotion::add;
        break;
      case 5:
        r.splits = rng.between(-1, 1);
        break;
      case 6:
        r.interval = rng.one_in(2) ? 0 : -r.interval;
        break;
      default:
        break;
    }
    const bool expected = oracle::is_valid_recipe(r);
    const bool got = is_valid(r);
    v.compare(got, expected, [&] {
      return fmt::format(
          "L={} interval={} update={} A.k={} B.k={} splits={} valid: got {} "
          "expected {}",
          r.acc.length, r.interval, static_cast<int>(r.update), r.a.k, r.b.k,
          r.splits, got, expected);
    });
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

bool held(const implementation& i, const effort& e, const gemm_case& g,
          verdict& v) {
  count_result(g, run_gemm(i, g), expected_gemm(g), "expected", v);
  return !e.stop_early || v.failures == 0;
}

verdict check_named(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t rounds = e.level == 0 ? 2 : e.level == 1 ? 40 : 600;
  std::uint64_t index = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const auto& named : specified_recipes()) {
      // 70 rows show where a block of 128 ends, 6 intervals where a split does.
      for (const std::ptrdiff_t k :
           {0, 1, 31, 32, 33, 40, 127, 128, 129, 257, 641}) {
        counter_rng rng(e.seed + 3, index++);
        const auto any = format{5, 2, 15, specials::ieee};
        recipe_choice how{named.value, e4m3, e4m3};
        if (rng.one_in(3)) how.fa = any;
        if (rng.one_in(3)) how.fb = any;
        const auto codes = static_cast<code_family>(rng.below(code_families));
        const auto scales =
            rng.one_in(2)
                ? scale_family::normal
                : static_cast<scale_family>(rng.below(scale_families));
        const gemm_shape shape{rng.between(1, 3),
                               k == 40 ? 70 : rng.between(1, 3), k};
        if (!held(i, e, make_gemm_case(how, shape, codes, scales, rng), v)) {
          return v;
        }
      }
    }
  }
  return v;
}

/// Every update at every interval, with and without the scales of each operand.
verdict check_combinations(const implementation& i, const effort& e) {
  verdict v;
  std::uint64_t index = 0;
  counter_rng choice(e.seed, 7);
  std::vector<recipe_choice> units;
  for (const int length : {32, 16, 1}) {
    recipe_choice how = make_recipe(choice);
    while (how.r.acc.length != length) how = make_recipe(choice);
    how.r.a = how.r.b = {0, 0};
    units.push_back(how);
  }
  // More bits in the sum than F.
  units.push_back(units.front());
  units.back().r.acc.fraction_bits = 10;
  units.back().r.acc.output = units.back().r.acc.stored;
  const auto one = [&](recipe_choice how, int intervals, int k, int without) {
    counter_rng rng(e.seed + 8, index++);
    const int length = how.r.acc.length;
    how.r.interval = intervals * length;
    const gemm_shape shape{1, 1, k * length + (k == 2 ? 1 : 0)};
    auto g = make_gemm_case(how, shape, code_family::positive,
                            scale_family::normal, rng);
    if (without % 2 == 1) g.sa = {};
    if (without >= 2) g.sb = {};
    return held(i, e, g, v);
  };
  for (recipe_choice how : units) {
    for (const auto update :
         {promotion::add, promotion::product_of_scales,
          promotion::one_then_other, promotion::other_then_one}) {
      how.r.update = update;
      for (int n = 0; n < 4 * 3 * 4 * 3; ++n) {
        how.r.splits = 1 + n % 3;
        if (!one(how, n / 3 % 4, 2 + n / 12 % 4, n / 48)) return v;
      }
    }
    // A scale for each interval, of one element too.
    for (const auto update :
         {promotion::product_of_scales, promotion::one_then_other,
          promotion::other_then_one}) {
      how.r.update = update;
      // Ranges are of four intervals if rows of A or of B share scales.
      for (const auto& [a, b] : {std::pair{1, 1}, {1, 2}, {2, 1}}) {
        how.r.a = {a, how.r.acc.length};
        how.r.b = {b, how.r.acc.length};
        for (how.r.splits = 1; how.r.splits <= 3; ++how.r.splits) {
          if (!one(how, 1, 9, 0)) return v;
        }
      }
    }
  }
  return v;
}

verdict check_generated(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t cases = e.level == 0   ? 900
                              : e.level == 1 ? 12000
                              : e.level == 2 ? 200000
                                             : 3000000;
  for (std::uint64_t n = 0; n < cases; ++n) {
    counter_rng rng(e.seed + 4, n);
    const auto how = make_recipe(rng);
    const auto shape = make_shape(rng);
    const auto codes = static_cast<code_family>(rng.below(code_families));
    const auto scales = static_cast<scale_family>(rng.below(scale_families));
    if (!held(i, e, make_gemm_case(how, shape, codes, scales, rng), v)) {
      return v;
    }
  }
  return v;
}

/// 1 x 1: a 1 in the first block of 128 elements of K is taken back in the
/// fifth, and the sixth adds a little, which a sum of the last two loses.
gemm_case make_cancelling_case(const recipe& r, format f, counter_rng& rng) {
  // Both operands have scales: of a normal family one may have none.
  auto g = make_gemm_case({r, f, f}, {1, 1, 641}, code_family::normal,
                          scale_family::power_of_two, rng);
  const std::uint32_t one = static_cast<std::uint32_t>(f.bias) << f.man_bits;
  const std::uint32_t minus = 1u << (f.bits() - 1);
  for (auto& code : g.a.words) code = 0;
  for (auto& code : g.b.words) code = one;
  for (auto& c : g.c.words) c = 0;
  for (auto* scales : {&g.sa, &g.sb}) {
    for (auto& scale : scales->words) scale = 0x3f800000;
  }
  g.a(0, 0) = g.a(0, 640) = one;
  g.a(0, 512) = one | minus;
  if (g.sa.cols == 6) g.sa(0, 5) = 0x30800000;  // 2^-30
  return g;
}

// Whole blocks of 128 x 128, and more than one of them.
verdict check_blocks(const implementation& i, const effort& e) {
  verdict v;
  std::uint64_t index = 0;
  for (const auto& named : specified_recipes()) {
    counter_rng rng(e.seed + 5, index++);
    const format f = e4m3;
    const bool wide = index % 2 == 0;
    const gemm_shape shape{wide ? 2 : 257, wide ? 257 : 2,
                           e.level == 0 ? 130 : 400};
    if (!held(i, e, make_cancelling_case(named.value, f, rng), v)) return v;
    if (e.level == 0 && index % 3 != 0) continue;
    const auto g =
        make_gemm_case({named.value, f, f}, shape, code_family::normal,
                       scale_family::normal, rng);
    if (!held(i, e, g, v)) return v;
  }
  return v;
}

verdict check_exact(const implementation& i, const effort& e) {
  verdict v;
  const int cases = e.level == 0 ? 60 : 2000;
  const auto exact = specified_recipes().back().value;
  for (int n = 0; n < cases; ++n) {
    counter_rng rng(e.seed + 6, static_cast<std::uint64_t>(n));
    const format f = e4m3;
    auto shape = make_shape(rng);
    if (rng.one_in(8)) shape.k = 4096;
    const auto codes = static_cast<code_family>(
        rng.below(static_cast<std::uint32_t>(code_family::special)));
    const auto g =
        make_gemm_case({exact, f, f}, shape, codes, scale_family::none, rng);
    placed<std::uint32_t> a(placement::dense, g.m(), g.k(), 0);
    placed<std::uint32_t> b(placement::dense, g.n(), g.k(), 0);
    placed<std::uint32_t> d(placement::dense, g.m(), g.n(), 0);
    a.load(g.a);
    b.load(g.b);
    oracle::exact_e4m3_product(a.input(), b.input(), d.view());
    count_result(g, run_gemm(i, g), d.read(), "Eigen", v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

}  // namespace

check_list gemm_checks() {
  check_list list = {
      {"RecipesAreTheSpecifiedRows", "G10", "definition", 0, check_rows},
      {"ValidRecipesAreTheSpecifiedOnes", "G2", "definition", 0,
       check_validity},
      {"NamedRecipesEqualTheOracle", "G1 G3 G4 G5 G6 G8 G9 G10",
       "rational, host FP32", 0, check_named},
      {"EveryUpdateAtEveryIntervalEqualsTheOracle", "G3 G4 G5 G6 G7",
       "rational, host FP32", 0, check_combinations},
      {"GeneratedRecipesEqualTheOracle", "G1 G2 G3 G4 G5 G6 G7 G8 G9",
       "rational, host FP32", 0, check_generated},
      {"ExactRecipeEqualsEigen", "G1 T14", "Eigen FP64", 0, check_exact},
      {"ScaleBlocksBeginWhereTheyShould", "G9 G10", "rational, host FP32", 0,
       check_blocks},
  };
  const auto properties = gemm_property_checks();
  list.insert(list.end(), properties.begin(), properties.end());
  return list;
}

}  // namespace zeroulp::conformance
