// Declares the vector kernels of the array operations: each takes lines of any
// length and alignment, and runs on the vector set in use. FP32 numbers travel
// as their bits. Internal.

#ifndef ZEROULP_SRC_ARRAYS_KERNELS_HPP_
#define ZEROULP_SRC_ARRAYS_KERNELS_HPP_

#include <algorithm>
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
  /// x * s, likewise. For s and formats as exact_scales() says.
  multiply_exactly,
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

/// FP32 scales as their bits: from `first` on, below `end`.
struct scale_range {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  constexpr bool holds(std::uint32_t s) const { return s >= first && s < end; }
};

/// The scales with which the nearest-even code of every number of `from` times
/// the scale follows from its product as multiply_exactly computes it.
///
/// The product is a multiple of the quantum of `from` and of ulp(s), together
/// at least 2^-149: what rounding took from it is a number of FP32, as is a
/// product that is not normal. Where FP32 overflows, `to` does.
constexpr scale_range exact_scales(format from, format to) {
  if (!has_decoding(from) || to.man_bits > 21 || top_exponent(to) > 127) {
    return {};
  }
  return {static_cast<std::uint32_t>(1 - from.quantum_exponent()) << 23,
          0x7f800000};
}

/// Codes of one byte to codes of two: those of their products by a scale.
struct significand_lookup {
  std::int16_t magnitude_mask;
  std::int16_t sign_mask;
  std::int16_t fraction_mask;
  std::int16_t max_code;
  int sign_shift;      ///< up to the sign of the result
  int exponent_shift;  ///< up to the exponent of the result
};

/// Returns true iff make_lookup takes the formats, of at most 8 and 16 bits.
constexpr bool has_lookup(format from, format to) {
  return from.man_bits <= 3 && from.kind != specials::fnuz &&
         has_encoding(to) && to.man_bits >= from.man_bits &&
         to.kind != specials::fnuz;
}

constexpr significand_lookup make_lookup(format from, format to) {
  return {static_cast<std::int16_t>(from.magnitude_mask()),
          static_cast<std::int16_t>(from.sign_mask()),
          static_cast<std::int16_t>(low_bits(from.man_bits)),
          static_cast<std::int16_t>(from.max_code()),
          to.magnitude_bits() - from.magnitude_bits(),
          to.man_bits - from.man_bits};
}

/// Of exact_scales, those with which normal numbers have normal products: these
/// are what a significand's rounded product makes at any exponent.
constexpr scale_range lookup_scales(format from, format to) {
  const scale_range exact = exact_scales(from, to);
  const auto normal = [](int exponent) {
    return static_cast<std::uint32_t>(std::max(exponent + 127, 1)) << 23;
  };
  return {
      std::max(exact.first, normal(to.min_exponent() - from.min_exponent())),
      std::min(exact.end, normal(top_exponent(to) - top_exponent(from) - 1))};
}

/// Looks n codes up, the first `first` in the first table, then `width` in each
/// that follows. A table has the results of eight fractions with the exponent
/// field 0, then with 1; those beyond the format's repeat. Returns false iff
/// there is a code that is no finite number: then `out` means nothing.
bool look_up_line(const significand_lookup& rule, const std::uint16_t* tables,
                  std::size_t first, std::size_t width,
                  const std::uint8_t* codes, std::uint16_t* out, std::size_t n);

/// amax[j] = max(amax[j], |x[j]|) by the convention's amax rule.
void fold_line(amax_rule rule, bool in_bf16, const std::uint32_t* x,
               std::uint32_t* amax, std::size_t n);

/// The largest of n FP32 magnitudes; 0 of none.
std::uint32_t largest_of(const std::uint32_t* magnitudes, std::size_t n);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_ARRAYS_KERNELS_HPP_
