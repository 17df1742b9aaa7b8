// Defines the Hadamard transform of blocks of K, which spreads an outlier over
// its block before a matrix is quantized:
//
//   y(i, j) = scale * sum over e of sign(e) * H(e, j) * x(i, e)
//   H(e, j) = -1 to the number of ones that e and j have in common
//
// e and j count from the first element of a block, whose size is a power of
// two. The sums are made in FP32 by a butterfly, or by the steps of a tensor
// core. Source: SPEC clause Q21.

#ifndef ZEROULP_CORE_HADAMARD_HPP_
#define ZEROULP_CORE_HADAMARD_HPP_

#include "zeroulp/core/elementary.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp {

inline constexpr int max_hadamard_size = 1024;

/// A transform with its formats.
struct hadamard_transform {
  format from;
  format to;
  int size = 16;            ///< of a block: 2 to 1024
  std::uint32_t scale = 0;  ///< FP32 bits; 0: unit_hadamard_scale
};

/// Returns fl(1 / sqrt(size)), FP32 bits: the transform keeps lengths.
ZEROULP_HD constexpr std::uint32_t unit_hadamard_scale(int size) {
  int log2 = 0;
  while (2 << log2 <= size) ++log2;
  constexpr std::uint32_t one_over_root_2 = 0x3f3504f3;
  const auto whole = static_cast<std::uint32_t>(log2 / 2) << 23;
  return (log2 % 2 == 0 ? fp32_one : one_over_root_2) - whole;
}

/// Returns what sums are multiplied by, FP32 bits.
ZEROULP_HD constexpr std::uint32_t scale_of(const hadamard_transform& t) {
  return t.scale == 0 ? unit_hadamard_scale(t.size) : t.scale;
}

/// Returns true iff a matrix can be transformed so.
ZEROULP_HD constexpr bool is_valid(const hadamard_transform& t) {
  const bool input = t.from == fp32 || t.from == bf16 || t.from == fp16;
  const bool output = t.to == fp32 || t.to == bf16 || t.to == fp16;
  return input && output && t.size >= 2 && t.size <= max_hadamard_size &&
         (t.size & (t.size - 1)) == 0;
}

/// Returns true iff the sum `j` subtracts the element `e`.
ZEROULP_HD constexpr bool hadamard_is_negative(int e, int j) {
  bool odd = false;
  for (int common = e & j; common != 0; common &= common - 1) odd = !odd;
  return odd;
}

/// Transforms `size` numbers in place: pairs of neighbours first, then of
/// those 2 apart, 4, ...; each sum and difference is rounded.
template <class A>
ZEROULP_HD constexpr void hadamard_butterfly(typename A::number* v, int size) {
  for (int apart = 1; apart < size; apart *= 2) {
    for (int e = 0; e < size; ++e) {
      if ((e & apart) != 0) continue;
      const auto sum = A::add(v[e], v[e + apart]);
      v[e + apart] = A::subtract(v[e], v[e + apart]);
      v[e] = sum;
    }
  }
}

/// Transforms an m x k matrix, k a multiple of t.size, by butterflies: each
/// result is fl(scale * sum), rounded to t.to. `signs` are 1 or -1, t.size of
/// them, or null. `t` is valid.
template <class X, class Y>
ZEROULP_HD constexpr void hadamard(const hadamard_transform& t,
                                   const std::int8_t* signs,
                                   matrix_view<const X> x, matrix_view<Y> y) {
  using A = core_fp32;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < x.cols; k += t.size) {
      A::number v[max_hadamard_size]{};
      for (int e = 0; e < t.size; ++e) {
        v[e] = A::from_bits(as_fp32(t.from, x(i, k + e)));
        if (signs != nullptr && signs[e] < 0) v[e] = A::negate(v[e]);
      }
      hadamard_butterfly<A>(v, t.size);
      for (int e = 0; e < t.size; ++e) {
        const auto scaled = A::multiply(v[e], A::from_bits(scale_of(t)));
        y(i, k + e) =
            static_cast<Y>(recode(fp32, A::bits(scaled), t.to, {}, cuda_nosat));
      }
    }
  }
}

/// Returns the element (j, e) of the matrix B whose product A B^T by the path
/// `p` is the transform: a code of p.b. The sum of `p` is rounded to t.to.
ZEROULP_HD constexpr std::uint64_t hadamard_element(const hadamard_transform& t,
                                                    const path& p,
                                                    const std::int8_t* signs,
                                                    int j, int e) {
  const bool negative =
      hadamard_is_negative(e, j) != (signs != nullptr && signs[e] < 0);
  return recode(fp32, scale_of(t) ^ (negative ? 0x80000000u : 0u), p.b, {},
                cuda_nosat);
}

static_assert(unit_hadamard_scale(2) == 0x3f3504f3);
static_assert(unit_hadamard_scale(16) == 0x3e800000);
static_assert(unit_hadamard_scale(32) == 0x3e3504f3);
static_assert(hadamard_is_negative(1, 1) && !hadamard_is_negative(3, 3));

}  // namespace zeroulp

#endif  // ZEROULP_CORE_HADAMARD_HPP_
