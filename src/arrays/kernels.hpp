// Declares the vector kernels of the array operations: each takes lines of any
// length and alignment, and runs on the vector set in use. FP32 numbers travel
// as their bits. Internal.

#ifndef ZEROULP_SRC_ARRAYS_KERNELS_HPP_
#define ZEROULP_SRC_ARRAYS_KERNELS_HPP_

#include <cstddef>
#include <cstdint>

#include "src/arrays/formats.hpp"
#include "zeroulp/core/convention.hpp"

namespace zeroulp::engine {

/// Encodes n FP32 numbers into codes of `bytes` (1, 2, 4) each. `random`, n
/// words, is read by stochastic rounding only.
void encode_line(const encoding& to, rounding mode, const std::uint32_t* x,
                 const std::uint32_t* random, void* codes, int bytes,
                 std::size_t n);

/// Decodes n codes of `bytes` each. `codes` may be `out` itself.
void decode_line(const decoding& from, const void* codes, int bytes,
                 std::uint32_t* out, std::size_t n);

/// How a line is scaled before it is encoded.
enum class scaling : std::uint8_t {
  multiply,  ///< fl(x * s); NaN is 0x7fffffff
  divide,    ///< fl(x / s); NaN is 0x7fffffff
  /// x / s rounded to odd, which keeps what a later rounding to nearest of at
  /// most 22 significand bits needs. A NaN x stays itself. For s and formats
  /// as divides_exactly() says.
  divide_exactly,
};

/// Scales n numbers, each by its own s. `x` may be `out` itself.
void scale_line(scaling how, const std::uint32_t* x, const std::uint32_t* s,
                std::uint32_t* out, std::size_t n);

/// The exponent of the largest number of `f`.
constexpr int top_exponent(format f) {
  return static_cast<int>(f.max_code() >> f.man_bits) - f.bias;
}

/// Returns true iff the nearest-even code of every FP32 number under the scale
/// `s` follows from its quotient as divide_exactly computes it.
///
/// The residual x - q s is a multiple of ulp(q) ulp(s), which for |x| >= 2^-100
/// and normal q is at least 2^-149: an FMA gives its sign. With a smaller x
/// the quotient is below a quarter of the quantum, and its code is zero. Where
/// FP32 overflows, `to` does.
constexpr bool divides_exactly(format to, std::uint32_t s) {
  const int quantum = to.quantum_exponent();
  const int lowest = -98 - quantum < -126 ? -126 : -98 - quantum;
  if (top_exponent(to) > 127) return false;
  return has_encoding(to) && to.man_bits <= 21 && quantum >= -120 &&
         lowest <= 127 && s >= static_cast<std::uint32_t>(lowest + 127) << 23 &&
         s < 0x7f800000;
}

/// amax[j] = max(amax[j], |x[j]|) by the convention's amax rule.
void fold_line(amax_rule rule, bool in_bf16, const std::uint32_t* x,
               std::uint32_t* amax, std::size_t n);

/// The largest of n FP32 magnitudes; 0 of none.
std::uint32_t largest_of(const std::uint32_t* magnitudes, std::size_t n);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_ARRAYS_KERNELS_HPP_
