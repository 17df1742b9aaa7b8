// Defines the matrices that quantizers, re-tiling and GEMM are tried on. All
// are functions of a seed and an index, the same on every machine.

#ifndef ZEROULP_CONFORMANCE_CASES_MATRIX_CASES_HPP_
#define ZEROULP_CONFORMANCE_CASES_MATRIX_CASES_HPP_

#include <cstdint>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {

enum class matrix_family : std::uint8_t {
  normal,      ///< bell-shaped, of one magnitude
  outliers,    ///< the same, with one element in 50 up to 2^20 times larger
  zero_tiles,  ///< runs of zeros of both signs, some a whole tile long
  subnormal,   ///< the smallest numbers of the format
  specials,    ///< normal with NaN, Inf and zeros strewn in
  any_bits,    ///< uniform bits
  wide,        ///< uniform exponents, finite
};

inline constexpr int family_count = 7;

/// Returns the code of `from` (fp32, bf16, fp16) for a finite FP64 number,
/// rounded to nearest.
std::uint32_t code_near(format from, double x);

/// An m x n matrix of codes of `from`.
oracle::grid make_matrix(matrix_family family, format from, std::ptrdiff_t m,
                         std::ptrdiff_t n, counter_rng rng);

/// A row of elements (FP32 bits) for one group: first amax, then, for magnitude
/// codes `first`, `first + step`, ... of `to`, the FP32 numbers up to two ulps
/// beside the point where x / s leaves the code, and their negatives. `s` is
/// the group's scale, positive and finite; what exceeds `amax` is left out.
std::vector<std::uint32_t> midpoint_row(format to, float s, std::uint32_t amax,
                                        std::uint64_t first,
                                        std::uint64_t step);

/// An amax (FP32 bits) that is max(to) times a number of `bits` significant
/// bits, so that the scale and the products of midpoints with it are exact.
std::uint32_t exact_amax(format to, int bits, int exponent, counter_rng& rng);

/// An amax (FP32 bits) on which the conventions disagree: fl(amax / max),
/// fl(amax * R) and fl(1 / q) differ, and q is the reciprocal of none.
std::uint32_t disputed_amax(format to, counter_rng& rng);

/// The amaxes (FP32 bits) at which a scale for `to` changes its nature: zero,
/// subnormals, floors, max * 2^e and max * 2^(e + 1/2) with their neighbours,
/// where 448 / amax overflows, FLT_MAX, Inf, NaN. Ascending, no duplicates.
std::vector<std::uint32_t> boundary_amaxes(format to);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_MATRIX_CASES_HPP_
