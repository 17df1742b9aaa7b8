// Properties of quantization that need no oracle, and tests of the oracle: its
// FP32 and its comparisons are held against rational numbers.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "conformance/cases/matrix_cases.hpp"
#include "conformance/contract/implementation.hpp"
#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;
using oracle::quantized;

quantized by_core(const quantizer& q, codes_in x) {
  quantized out{grid(x.rows, x.cols),
                grid(oracle::groups_along(x.rows, q.group.rows),
                     oracle::groups_along(x.cols, q.group.cols))};
  quantize(
      q, x, codes_out(out.codes.words.data(), x.rows, x.cols),
      codes_out(out.scales.words.data(), out.scales.rows, out.scales.cols));
  return out;
}

codes_in view(const grid& g) { return {g.words.data(), g.rows, g.cols}; }

quantized by_core(const quantizer& q, const grid& x) {
  return by_core(q, view(x));
}

grid back(const quantizer& q, const quantized& y) {
  grid out(y.codes.rows, y.codes.cols);
  dequantize(q.to, q.group, view(y.codes), view(y.scales),
             codes_out(out.words.data(), out.rows, out.cols));
  return out;
}

bool finite(const grid& x) {
  for (const auto word : x.words) {
    if (!std::isfinite(oracle::to_float(word))) return false;
  }
  return true;
}

convention any_convention() {
  return named_conventions[*rc::gen::inRange<std::size_t>(
                               0, std::size(named_conventions))]
      .value;
}

format any_target() {
  return *rc::gen::element(e4m3, e5m2, e5m6, e2m1, e3m2, e4m3fnuz, bf16);
}

scale_kind any_kind() {
  return static_cast<scale_kind>(*rc::gen::inRange(0, 5));
}

group_shape any_group() {
  return {*rc::gen::element(0, 1, 2, 3, 7, 32, 128),
          *rc::gen::element(0, 1, 2, 5, 32, 128)};
}

/// An FP32 matrix of one of the `families` first families.
grid any_matrix(int families) {
  const auto m = *rc::gen::inRange<std::ptrdiff_t>(0, 40);
  const auto n = *rc::gen::inRange<std::ptrdiff_t>(0, 140);
  const auto family = *rc::gen::inRange(0, families);
  return make_matrix(static_cast<matrix_family>(family), fp32, m, n,
                     {*rc::gen::arbitrary<std::uint64_t>(), 0});
}

constexpr int without_specials = 4;

RC_GTEST_PROP(Quantize, IsInvariantUnderPowersOfTwo, ()) {
  // Far from FP32's ends the input times 2^k has the same codes.
  const quantizer q{fp32, any_target(), zeroulp_convention, any_kind(),
                    any_group()};
  RC_PRE(!(q.to == bf16));       // its scales would be at FP32's lower end
  const auto x = any_matrix(3);  // no subnormals
  const int k = *rc::gen::inRange(-40, 40);
  grid scaled = x;
  for (auto& word : scaled.words) {
    word = oracle::to_bits(std::ldexp(oracle::to_float(word), k));
  }
  const auto a = by_core(q, x);
  const auto b = by_core(q, scaled);
  RC_ASSERT(a.codes == b.codes);
  for (std::size_t g = 0; g < a.scales.words.size(); ++g) {
    const float s = oracle::to_float(a.scales.words[g]);
    const float t = oracle::to_float(b.scales.words[g]);
    const bool zero_group = s == 1 && t == 1;
    RC_ASSERT(zero_group || std::ldexp(s, k) == t);
  }
}

RC_GTEST_PROP(Quantize, RowsArePermutedWithTheirInput, ()) {
  const quantizer q{
      fp32, any_target(), any_convention(), any_kind(), {1, any_group().cols}};
  const auto x = any_matrix(family_count);
  RC_PRE(x.rows > 0);
  const auto shift = *rc::gen::inRange<std::ptrdiff_t>(0, x.rows);
  const auto rolled = [shift](const grid& g) {
    grid r(g.rows, g.cols);
    for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
        r((i + shift) % g.rows, j) = g(i, j);
      }
    }
    return r;
  };
  const auto a = by_core(q, x);
  const auto b = by_core(q, rolled(x));
  RC_ASSERT(rolled(a.codes) == b.codes);
  RC_ASSERT(rolled(a.scales) == b.scales);
}

RC_GTEST_PROP(Quantize, ByItsOwnScalesAMatrixHasItsOwnCodes, ()) {
  const quantizer q{fp32, any_target(), any_convention(), any_kind(),
                    any_group()};
  // That q is 1 / s is true of given scales alone.
  RC_PRE(q.how.element != element_rule::inverse);
  const auto x = any_matrix(family_count);
  const auto own = by_core(q, x);
  grid codes(x.rows, x.cols);
  quantize_by_scale(
      q, view(x), view(own.scales),
      matrix_view<std::uint32_t>(codes.words.data(), x.rows, x.cols));
  RC_ASSERT(codes == own.codes);
}

RC_GTEST_PROP(Quantize, ByAScaleOfOneItIsACast, ()) {
  const quantizer q{fp32, any_target(), any_convention(), any_kind(), {0, 0}};
  RC_PRE(q.how.through == pre_rounding::none && q.how.largest == 0);
  const auto x = any_matrix(family_count);
  grid codes(x.rows, x.cols);
  const std::uint32_t one = fp32_one;
  quantize_by_scale(
      q, view(x), matrix_view<const std::uint32_t>(&one, 1, 1),
      matrix_view<std::uint32_t>(codes.words.data(), x.rows, x.cols));
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    RC_ASSERT(codes.words[i] ==
              recode(fp32, x.words[i], q.to, {}, q.how.conversion));
  }
}

RC_GTEST_PROP(Quantize, TransposedViewGivesTheTranspose, ()) {
  const quantizer q{fp32, any_target(), any_convention(), any_kind(),
                    any_group()};
  const auto x = any_matrix(family_count);
  quantizer across = q;
  across.group = {q.group.cols, q.group.rows};
  const auto a = by_core(q, x);
  const auto b = by_core(across, view(x).transposed());
  RC_ASSERT(oracle::flipped(a.codes) == b.codes);
  RC_ASSERT(oracle::flipped(a.scales) == b.scales);
}

RC_GTEST_PROP(Quantize, NothingExceedsMaxUnderPow2, ()) {
  // Q5: rounded up, 2^e * max is at least the amax.
  const quantizer q{fp32, any_target(), zeroulp_convention, scale_kind::pow2,
                    any_group()};
  const auto x = any_matrix(without_specials);
  const auto y = by_core(q, x);
  const double max = oracle::magnitude_value(q.to, oracle::largest_code(q.to));
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float s =
          oracle::to_float(y.scales(oracle::group_of(i, q.group.rows),
                                    oracle::group_of(j, q.group.cols)));
      const auto v = static_cast<double>(oracle::to_float(x(i, j)));
      RC_ASSERT(std::fabs(v) <= max * static_cast<double>(s));
    }
  }
}

RC_GTEST_PROP(Quantize, DequantizedValuesStayUnderPow2, ()) {
  const quantizer q{fp32, any_target(), zeroulp_convention, scale_kind::pow2,
                    any_group()};
  const auto once = back(q, by_core(q, any_matrix(without_specials)));
  RC_PRE(finite(once));
  RC_ASSERT(back(q, by_core(q, once)) == once);
}

RC_GTEST_PROP(Quantize, BitsDoNotDependOnTheRestOfTheMatrix, ()) {
  const quantizer q{fp32,
                    any_target(),
                    any_convention(),
                    any_kind(),
                    {*rc::gen::inRange(1, 9), *rc::gen::inRange(1, 40)}};
  const auto x = any_matrix(family_count);
  RC_PRE(x.rows > 0 && x.cols > 0);
  const auto whole = by_core(q, x);
  const std::ptrdiff_t h = q.group.rows;
  const std::ptrdiff_t w = q.group.cols;
  const auto gi = *rc::gen::inRange<std::ptrdiff_t>(0, whole.scales.rows);
  const auto gj = *rc::gen::inRange<std::ptrdiff_t>(0, whole.scales.cols);
  const auto m = std::min(h, x.rows - gi * h);
  const auto n = std::min(w, x.cols - gj * w);
  const auto alone = by_core(q, view(x).block(gi * h, gj * w, m, n));
  RC_ASSERT(alone.scales(0, 0) == whole.scales(gi, gj));
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      RC_ASSERT(alone.codes(i, j) == whole.codes(gi * h + i, gj * w + j));
    }
  }
}

// The oracle.

double any_finite() {
  const auto bits = *rc::gen::inRange<std::uint32_t>(1, 0x7f800000);
  return static_cast<double>(oracle::to_float(bits));
}

RC_GTEST_PROP(QuantizerOracle, ExponentEqualsTheRational, ()) {
  const format to = any_target();
  const double max = oracle::magnitude_value(to, oracle::largest_code(to));
  const auto kind =
      *rc::gen::element(scale_kind::pow2, scale_kind::pow2_down,
                        scale_kind::pow2_nearest, scale_kind::ocp);
  const auto known = boundary_amaxes(to);
  const auto bits = *rc::gen::elementOf(known);
  const double a = bits > 0 && bits < 0x7f800000 && *rc::gen::arbitrary<bool>()
                       ? static_cast<double>(oracle::to_float(bits))
                       : any_finite();
  RC_ASSERT(oracle::pow2_exponent(a, max, kind) ==
            oracle::rational_pow2_exponent(a, max, kind));
}

RC_GTEST_PROP(QuantizerOracle, CodeEqualsTheRational, ()) {
  const format to = *rc::gen::element(e4m3, e5m2, e2m1, e3m2, e4m3fnuz, ue8m0);
  counter_rng rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const auto amax = *rc::gen::arbitrary<bool>()
                        ? exact_amax(to, 12, rng.between(-9, 9), rng)
                        : oracle::to_bits(static_cast<float>(any_finite()));
  RC_PRE(amax < 0x7f800000);
  const float s = oracle::to_float(
      oracle::make_scale({fp32, to, zeroulp_convention, scale_kind::float32},
                         amax)
          .scale);
  const auto row = midpoint_row(to, s, amax, rng.below(3), 9);
  for (const auto x : row) {
    const auto v = static_cast<double>(oracle::to_float(x));
    const auto by = static_cast<double>(s);
    RC_ASSERT(oracle::nearest_code(to, v, by, cuda_satfinite) ==
              oracle::rational_nearest_code(to, v, by, cuda_satfinite));
  }
}

RC_GTEST_PROP(QuantizerOracle, HostRoundsAsTheRationalDoes, ()) {
  const auto a = static_cast<float>(any_finite());
  const auto b = static_cast<float>(any_finite());
  const auto c = static_cast<float>(any_finite());
  RC_ASSERT(a / b == oracle::rational_divide(a, b));
  RC_ASSERT(a * b == oracle::rational_multiply(a, b));
  RC_ASSERT(std::fma(a, b, -c) == oracle::rational_fma(a, b, -c));
  const auto near = static_cast<float>(-a * b * (1 + 0x1p-23f));
  if (std::isfinite(near)) {
    RC_ASSERT(std::fma(a, b, near) == oracle::rational_fma(a, b, near));
  }
}

}  // namespace
}  // namespace zeroulp::conformance
