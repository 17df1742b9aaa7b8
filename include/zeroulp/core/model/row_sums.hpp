// Defines sums over a row and over tokens in an order that vectors and warps
// can follow, and BF16 numbers for the operators that take them.
//
// Templates over an arithmetic `A` (elementary.hpp, elementary_fp64.hpp).
// Source: SPEC clauses N1 and N2, S4.

#ifndef ZEROULP_CORE_MODEL_ROW_SUMS_HPP_
#define ZEROULP_CORE_MODEL_ROW_SUMS_HPP_

#include "zeroulp/core/training.hpp"

namespace zeroulp {

/// A BF16 code as a number.
template <class A>
ZEROULP_HD constexpr typename A::number bf16_number(std::uint16_t code) {
  return A::from_bits(std::uint32_t{code} << 16);
}
/// The BF16 code nearest to a number that an operation returned.
template <class A>
ZEROULP_HD constexpr std::uint16_t bf16_code(typename A::number x) {
  return static_cast<std::uint16_t>(A::bits(A::round_to_bf16(x)) >> 16);
}

/// Returns the sum of the terms 0 to n - 1: `join(p, j)` returns the partial
/// sum p with term j. 256 partial sums, then a tree of neighbours.
template <class A, class Join>
ZEROULP_HD constexpr typename A::number row_sum(std::ptrdiff_t n,
                                                const Join& join) {
  constexpr std::ptrdiff_t wide = rms_lanes * rms_run;
  typename A::number p[rms_lanes]{};  // +0
  for (std::ptrdiff_t first = 0; first < n; first += wide) {
    const std::ptrdiff_t rest = n - first < wide ? n - first : wide;
    // Lanes with a run of 8 terms, then the one with fewer.
    const std::ptrdiff_t whole = rest / rms_run;
    for (std::ptrdiff_t t = 0; t < whole; ++t) {
      for (std::ptrdiff_t k = 0; k < rms_run; ++k) {
        p[t] = join(p[t], first + rms_run * t + k);
      }
    }
    for (std::ptrdiff_t j = rms_run * whole; j < rest; ++j) {
      p[whole] = join(p[whole], first + j);
    }
  }
  return rms_tree<A>(p);
}

/// Returns the sum of products x(j) y(j), j = 0 .. n - 1.
template <class A, class X, class Y>
ZEROULP_HD constexpr typename A::number row_dot(std::ptrdiff_t n, const X& x,
                                                const Y& y) {
  return row_sum<A>(n, [&](typename A::number p, std::ptrdiff_t j) {
    return A::fma(x(j), y(j), p);
  });
}

/// The tokens of one range of a sum over tokens.
inline constexpr std::ptrdiff_t token_range = 256;

/// Returns the largest of x(0) to x(n - 1), n > 0: NaN if any is; +0 of zeros
/// of both signs.
template <class A, class X>
ZEROULP_HD constexpr typename A::number row_maximum(std::ptrdiff_t n,
                                                    const X& x) {
  // By the order of codes, in which -0 is below +0.
  const auto key = [](std::uint32_t b) {
    return (b & 0x80000000u) != 0 ? ~b : b | 0x80000000u;
  };
  std::uint32_t best = 0;
  bool nan = false;
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    const std::uint32_t b = A::bits(x(j));
    nan = nan || (b & 0x7fffffffu) > 0x7f800000u;
    best = key(b) > best ? key(b) : best;
  }
  if (nan) return A::from_bits(0x7fffffff);
  return A::from_bits((best & 0x80000000u) != 0 ? best & 0x7fffffffu : ~best);
}

/// What softmax makes of a row before it divides.
template <class A>
struct row_exponentials {
  typename A::number largest;
  typename A::number sum;  ///< of exp(x - largest)
};

/// Writes exp(x(j) - largest), FP32 bits, for j = 0 .. n - 1, n > 0.
template <class A, class X>
ZEROULP_HD constexpr row_exponentials<A> exponentials_of_row(std::ptrdiff_t n,
                                                             const X& x,
                                                             std::uint32_t* u) {
  const auto largest = row_maximum<A>(n, x);
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    u[j] = A::bits(exp<A>(A::subtract(x(j), largest)));
  }
  const auto add_term = [u](typename A::number p, std::ptrdiff_t j) {
    return A::add(p, A::from_bits(u[j]));
  };
  return {largest, row_sum<A>(n, add_term)};
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_ROW_SUMS_HPP_
