// What must hold between two runs of a GEMM, whatever the oracle says.

#include <algorithm>

#include "conformance/checks/gemm/gemm_runs.hpp"

namespace zeroulp::conformance {
namespace {

/// Calls `property(g, rng)` with random cases; it returns the case that must
/// give the same bits, having changed what must not matter.
template <class Choose, class Change>
verdict same_bits(const implementation& i, const effort& e,
                  std::uint64_t stream, Choose choose, Change change) {
  verdict v;
  const std::uint64_t cases = e.level == 0 ? 60 : e.level == 1 ? 3000 : 40000;
  for (std::uint64_t n = 0; n < cases; ++n) {
    counter_rng rng(e.seed + stream, n);
    const gemm_case g = choose(rng);
    const auto expected = run_gemm(i, g);
    const auto changed = change(g, expected.d, rng);
    count_result(changed.first, run_gemm(i, changed.first), changed.second,
                 "expected from another run", v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

using changed_case = std::pair<gemm_case, oracle::grid>;

gemm_case any_case(counter_rng& rng) {
  const auto how = make_recipe(rng);
  const auto codes = static_cast<code_family>(rng.below(code_families));
  const auto scales = static_cast<scale_family>(rng.below(scale_families));
  return make_gemm_case(how, make_shape(rng), codes, scales, rng);
}

/// Codes and scales that stay far from every end of FP32.
gemm_case tame_case(counter_rng& rng, scale_family scales) {
  auto how = make_recipe(rng);
  how.r.end = epilogue::store;
  how.r.output = {8, 23, 127, specials::ieee};
  return make_gemm_case(how, make_shape(rng), code_family::normal, scales, rng);
}

verdict check_permutation(const implementation& i, const effort& e) {
  return same_bits(
      i, e, 20, any_case, [](gemm_case g, oracle::grid d, counter_rng& rng) {
        const std::ptrdiff_t k = g.k();
        const std::ptrdiff_t length = g.r.acc.length > 0
                                          ? g.r.acc.length
                                          : std::max<std::ptrdiff_t>(k, 1);
        for (std::ptrdiff_t x = 0; x < k; ++x) {
          const std::ptrdiff_t from = x / length * length;
          const auto range =
              static_cast<std::uint32_t>(std::min(length, k - from));
          const std::ptrdiff_t y = from + rng.below(range);
          for (std::ptrdiff_t r = 0; r < g.m(); ++r) {
            std::swap(g.a(r, x), g.a(r, y));
          }
          for (std::ptrdiff_t r = 0; r < g.n(); ++r) {
            std::swap(g.b(r, x), g.b(r, y));
          }
        }
        return changed_case{g, d};
      });
}

oracle::grid rows_from(const oracle::grid& g, std::ptrdiff_t first,
                       std::ptrdiff_t count) {
  oracle::grid part(count, g.cols);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) part(i, j) = g(first + i, j);
  }
  return part;
}

verdict check_alone(const implementation& i, const effort& e) {
  return same_bits(i, e, 21, any_case,
                   [](gemm_case g, oracle::grid d, counter_rng& rng) {
                     const auto pick = [&](std::ptrdiff_t count) {
                       return static_cast<std::ptrdiff_t>(
                           rng.below(static_cast<std::uint32_t>(count)));
                     };
                     const std::ptrdiff_t row = pick(g.m());
                     const std::ptrdiff_t col = pick(g.n());
                     const auto scale = [](oracle::grid& s, granularity by,
                                           std::ptrdiff_t at) {
                       if (s.rows > 0)
                         s = rows_from(s, by.mn == 0 ? 0 : at / by.mn, 1);
                     };
                     scale(g.sa, g.r.a, row);
                     scale(g.sb, g.r.b, col);
                     g.a = rows_from(g.a, row, 1);
                     g.b = rows_from(g.b, col, 1);
                     g.c = oracle::grid(1, 1, g.c(row, col));
                     g.layout = placement::dense;
                     return changed_case{g, oracle::grid(1, 1, d(row, col))};
                   });
}

verdict check_tail(const implementation& i, const effort& e) {
  return same_bits(
      i, e, 22, any_case, [](gemm_case g, oracle::grid d, counter_rng&) {
        const std::ptrdiff_t length = std::max<int>(g.r.acc.length, 1);
        const std::ptrdiff_t k = (g.k() + length - 1) / length * length;
        const auto padded = [k](const oracle::grid& x) {
          oracle::grid wide(x.rows, k);
          for (std::ptrdiff_t r = 0; r < x.rows; ++r) {
            for (std::ptrdiff_t c = 0; c < x.cols; ++c) wide(r, c) = x(r, c);
          }
          return wide;
        };
        g.a = padded(g.a);
        g.b = padded(g.b);
        return changed_case{g, d};
      });
}

verdict check_negation(const implementation& i, const effort& e) {
  const auto choose = [](counter_rng& rng) {
    gemm_case g = tame_case(rng, scale_family::normal);
    g.r.acc.cut = rounding::toward_zero;  // the only cut without a direction
    return g;
  };
  return same_bits(
      i, e, 23, choose, [](gemm_case g, oracle::grid d, counter_rng&) {
        const std::uint32_t minus = 1u << (g.fa.exp_bits + g.fa.man_bits);
        for (auto& code : g.a.words) code ^= minus;
        for (auto& bits : d.words) {
          if (bits != 0) bits ^= 0x80000000;
        }
        return changed_case{g, d};
      });
}

/// The update of the product with the operands swapped.
promotion turned(promotion update) {
  switch (update) {
    case promotion::one_then_other:
      return promotion::other_then_one;
    case promotion::other_then_one:
      return promotion::one_then_other;
    default:
      return update;
  }
}

verdict check_transposition(const implementation& i, const effort& e) {
  return same_bits(i, e, 24, any_case,
                   [](gemm_case g, oracle::grid d, counter_rng&) {
                     std::swap(g.fa, g.fb);
                     std::swap(g.a, g.b);
                     std::swap(g.sa, g.sb);
                     std::swap(g.r.a, g.r.b);
                     g.r.update = turned(g.r.update);
                     g.c = oracle::flipped(g.c);
                     return changed_case{g, oracle::flipped(d)};
                   });
}

verdict check_scale_orders(const implementation& i, const effort& e) {
  const auto choose = [](counter_rng& rng) {
    gemm_case g = tame_case(rng, scale_family::power_of_two);
    if (g.r.update == promotion::add) {
      g.r.update = promotion::product_of_scales;
    }
    return g;
  };
  return same_bits(i, e, 25, choose,
                   [](gemm_case g, oracle::grid d, counter_rng&) {
                     g.r.update = g.r.update == promotion::product_of_scales
                                      ? promotion::one_then_other
                                      : promotion::product_of_scales;
                     return changed_case{g, d};
                   });
}

verdict check_powers_of_two(const implementation& i, const effort& e) {
  const auto choose = [](counter_rng& rng) {
    return tame_case(rng, scale_family::power_of_two);
  };
  return same_bits(i, e, 26, choose,
                   [](gemm_case g, oracle::grid d, counter_rng& rng) {
                     if (g.sa.rows == 0) return changed_case{g, d};
                     const std::uint32_t shift = rng.below(20) << 23;
                     for (auto& bits : g.sa.words) bits += shift;
                     for (auto& bits : d.words) {
                       if (bits % 0x80000000 != 0) bits += shift;
                     }
                     return changed_case{g, d};
                   });
}

verdict check_long_interval(const implementation& i, const effort& e) {
  const auto choose = [](counter_rng& rng) {
    gemm_case g = any_case(rng);
    g.r.update = promotion::add;
    g.r.interval = 0;
    g.r.a.k = g.r.b.k = 0;
    g.r.splits = 1;
    g.sa = g.sb = {};
    if (g.r.acc.length == 0) g.r.acc.length = 2048;
    return g;
  };
  return same_bits(
      i, e, 27, choose, [](gemm_case g, oracle::grid d, counter_rng&) {
        const std::ptrdiff_t length = g.r.acc.length;
        g.r.interval = static_cast<std::int32_t>(
            std::max<std::ptrdiff_t>((g.k() + length - 1) / length, 1) *
            length);
        return changed_case{g, d};
      });
}

}  // namespace

check_list gemm_property_checks() {
  return {
      {"TheOrderWithinAStepDoesNotMatter", "T4 G3", "property", 0,
       check_permutation},
      {"AnOutputAloneHasTheSameBits", "G9", "property", 0, check_alone},
      {"ZerosAfterKChangeNothing", "T9 G9", "property", 0, check_tail},
      {"NegatingANegatesD", "T3 T5 G4 G5 G6", "property", 0, check_negation},
      {"SwappingAAndBTransposesD", "G1 G4 G5", "property", 0,
       check_transposition},
      {"ScaleOrdersCoincideForPowersOfTwo", "G5 G6", "property", 0,
       check_scale_orders},
      {"PowersOfTwoInTheScaleMoveTheExponentOnly", "G4 G5 G6", "property", 0,
       check_powers_of_two},
      {"AnIntervalBeyondKPromotesNothing", "G3 G4", "property", 0,
       check_long_interval},
  };
}

}  // namespace zeroulp::conformance
