// Properties of re-tiling that need no oracle.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "conformance/cases/matrix_cases.hpp"
#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/retile_oracle.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;
using oracle::retiled;

codes_in view(const grid& g) { return {g.words.data(), g.rows, g.cols}; }
codes_out view(grid& g) { return {g.words.data(), g.rows, g.cols}; }

retiled by_core(const retiling& r, const retiled& x) {
  retiled out{grid(x.codes.cols, x.codes.rows),
              grid(x.codes.cols, oracle::groups_along(x.codes.rows, r.tile))};
  const retiled& source = x;
  retile(r, view(source.codes), view(source.scales), view(out.codes),
         view(out.scales));
  return out;
}

grid values(format f, int tile, const retiled& x) {
  grid out(x.codes.rows, x.codes.cols);
  dequantize(f, {1, tile}, view(x.codes), view(x.scales), view(out));
  return out;
}

std::uint64_t any_seed() { return *rc::gen::arbitrary<std::uint64_t>(); }

/// Codes whose exponent is at least `least`, each row tile with the largest
/// code in it, under scales 2^0 to 2^3.
retiled deep_matrix(format f, std::uint32_t least, int tile) {
  const auto m = *rc::gen::inRange<std::ptrdiff_t>(1, 40);
  const auto n = *rc::gen::inRange<std::ptrdiff_t>(1, 140);
  counter_rng rng(any_seed(), 0);
  retiled x{grid(m, n), grid(m, oracle::groups_along(n, tile))};
  const auto largest = static_cast<std::uint32_t>(oracle::largest_code(f));
  const auto smallest = least << f.man_bits;
  for (auto& code : x.codes.words) {
    code = smallest + rng.below(largest - smallest + 1);
    if (rng.one_in(2)) code |= static_cast<std::uint32_t>(oracle::sign_bit(f));
  }
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t g = 0; g < x.scales.cols; ++g) {
      x.scales(i, g) = (127 + rng.below(4)) << 23;
      x.codes(i, g * tile) = largest;
    }
  }
  return x;
}

RC_GTEST_PROP(Retile, TwiceRestoresTheCodes, ()) {
  const format f = *rc::gen::element(e4m3, e5m6, e5m2);
  const auto rule =
      *rc::gen::element(retile_rule::amax, retile_rule::max_scale);
  const int tile = *rc::gen::element(0, 1, 3, 32, 128);
  const retiling r{f, f, scale_kind::pow2, tile, rule};
  // Shifts of at most 3 leave exponents from 4 on above the subnormals.
  const auto x = deep_matrix(f, 4, tile);
  const auto y = by_core(r, x);
  RC_ASSERT(values(f, tile, y) == oracle::flipped(values(f, tile, x)));
  const auto z = by_core({f, f, scale_kind::pow2, tile, retile_rule::amax}, y);
  RC_ASSERT(z.scales == x.scales);
  RC_ASSERT(z.codes == x.codes);
}

RC_GTEST_PROP(Retile, FineTargetKeepsE4m3, ()) {
  // Every E4M3 value is an E5M6 value under the same scale.
  const int tile = *rc::gen::element(0, 3, 128);
  const retiling r{e4m3, e5m6, scale_kind::pow2, tile, retile_rule::amax};
  const auto x = deep_matrix(e4m3, 0, tile);
  RC_ASSERT(values(e5m6, tile, by_core(r, x)) ==
            oracle::flipped(values(e4m3, tile, x)));
}

RC_GTEST_PROP(Retile, TileOfOneRowIsQuantizationOfItsValues, ()) {
  // A tile of the whole matrix and rule amax: what dequantizing, transposing
  // and quantizing give, where FP32 holds the values.
  const retiling r{e5m6, e4m3,
                   *rc::gen::element(scale_kind::pow2, scale_kind::float32), 0,
                   retile_rule::amax};
  const auto x = deep_matrix(e5m6, 0, 0);
  const grid v = oracle::flipped(values(e5m6, 0, x));
  const quantizer q{fp32, e4m3, zeroulp_convention, r.scale, {1, 0}};
  retiled want{grid(v.rows, v.cols), grid(v.rows, 1)};
  quantize(q, view(static_cast<const grid&>(v)), view(want.codes),
           view(want.scales));
  const auto got = by_core(r, x);
  RC_ASSERT(got.scales == want.scales);
  RC_ASSERT(got.codes == want.codes);
}

RC_GTEST_PROP(Retile, ColumnsDoNotDependOnEachOther, ()) {
  const int tile = *rc::gen::element(1, 3, 32);
  const auto rule =
      *rc::gen::element(retile_rule::amax, retile_rule::max_scale);
  const retiling r{e4m3, e4m3, scale_kind::pow2, tile, rule};
  const auto x = deep_matrix(e4m3, 0, tile);
  const auto whole = by_core(r, x);
  // The first tile of columns alone.
  const auto n = std::min<std::ptrdiff_t>(tile, x.codes.cols);
  retiled out{grid(n, x.codes.rows), grid(n, whole.scales.cols)};
  retile(r, view(x.codes).block(0, 0, x.codes.rows, n),
         view(x.scales).block(0, 0, x.scales.rows, 1), view(out.codes),
         view(out.scales));
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    for (std::ptrdiff_t i = 0; i < x.codes.rows; ++i) {
      RC_ASSERT(out.codes(j, i) == whole.codes(j, i));
    }
  }
}

TEST(Retile, DoubleRoundingsThroughE5m6AreCounted) {
  // W4: of the 17376 BF16 numbers below 448, 8 in each binade of normal codes.
  EXPECT_EQ(count_double_roundings(core_implementation()), 126u);
}

}  // namespace
}  // namespace zeroulp::conformance
