// Defines `format`: a floating-point format as a value, and the named ones.
//
//   code  = sign | biased exponent E | fraction M   (high to low)
//   value = (-1)^sign * 2^(max(E,1) - bias) * (E > 0 ? 1.M : 0.M)
//
// Source: OCP FP8 and MX specifications, IEEE 754, SPEC clauses F1 to F5. A
// what-if format is another value of this struct. Codes travel in uint64_t.
// Left out: what a code means as a number (convert.hpp).

#ifndef ZEROULP_CORE_FORMAT_HPP_
#define ZEROULP_CORE_FORMAT_HPP_

#include <cstddef>
#include <string_view>

#include "zeroulp/core/config.hpp"

namespace zeroulp {

/// Which codes are not finite numbers.
enum class specials : std::uint8_t {
  ieee,    ///< the highest exponent: Inf (fraction 0) and NaN
  fn,      ///< no Inf; NaN is the code with all bits below the sign set
  fnuz,    ///< no Inf, no -0; the code of -0 is the only NaN
  finite,  ///< every code is a finite number
  scale,   ///< no sign, no zero, no fraction: 2^(E - bias); all ones is NaN
};

/// A format: 1 <= exp_bits <= 11, 0 <= man_bits <= 52 (with Inf and NaN codes
/// at least 1, since fraction 0 is Inf). Its highest exponent and its quantum
/// must lie within those of FP64.
struct format {
  std::uint8_t exp_bits;
  std::uint8_t man_bits;
  std::int16_t bias;
  specials kind;

  ZEROULP_HD constexpr bool has_sign() const { return kind != specials::scale; }
  ZEROULP_HD constexpr bool has_infinity() const {
    return kind == specials::ieee;
  }
  ZEROULP_HD constexpr bool has_nan() const { return kind != specials::finite; }
  /// Bits of exponent and fraction: a code below the sign.
  ZEROULP_HD constexpr int magnitude_bits() const {
    return exp_bits + man_bits;
  }
  ZEROULP_HD constexpr int bits() const {
    return magnitude_bits() + (has_sign() ? 1 : 0);
  }
  ZEROULP_HD constexpr std::uint64_t magnitude_mask() const {
    return low_bits(magnitude_bits());
  }
  ZEROULP_HD constexpr std::uint64_t sign_mask() const {
    return has_sign() ? std::uint64_t{1} << magnitude_bits() : 0;
  }
  /// The code of +Inf; of formats with Inf only.
  ZEROULP_HD constexpr std::uint64_t infinity_code() const {
    return low_bits(exp_bits) << man_bits;
  }
  /// The largest finite code: the last before Inf or NaN.
  ZEROULP_HD constexpr std::uint64_t max_code() const {
    return kind == specials::ieee ? infinity_code() - 1
           : kind == specials::fn || kind == specials::scale
               ? magnitude_mask() - 1
               : magnitude_mask();
  }
  /// The exponent of the smallest normal number.
  ZEROULP_HD constexpr int min_exponent() const {
    return (kind == specials::scale ? 0 : 1) - bias;
  }
  /// The exponent of the last bit of a number with the smallest exponent.
  ZEROULP_HD constexpr int quantum_exponent() const {
    return min_exponent() - man_bits;
  }
  friend constexpr bool operator==(format, format) = default;
};

/// Bytes of an element in memory: 1, 2, 4 or 8.
ZEROULP_HD constexpr int storage_bytes(format f) {
  return f.bits() <= 8 ? 1 : f.bits() <= 16 ? 2 : f.bits() <= 32 ? 4 : 8;
}

inline constexpr format e4m3{4, 3, 7, specials::fn};
inline constexpr format e5m2{5, 2, 15, specials::ieee};
inline constexpr format e5m6{5, 6, 15, specials::ieee};
inline constexpr format bf16{8, 7, 127, specials::ieee};
inline constexpr format fp16{5, 10, 15, specials::ieee};
inline constexpr format tf32{8, 10, 127, specials::ieee};
inline constexpr format fp32{8, 23, 127, specials::ieee};
inline constexpr format fp64{11, 52, 1023, specials::ieee};
inline constexpr format e8m13{8, 13, 127, specials::ieee};
inline constexpr format ue8m0{8, 0, 127, specials::scale};
inline constexpr format e2m1{2, 1, 1, specials::finite};
inline constexpr format e2m3{2, 3, 1, specials::finite};
inline constexpr format e3m2{3, 2, 3, specials::finite};
inline constexpr format e4m3fnuz{4, 3, 8, specials::fnuz};
inline constexpr format e5m2fnuz{5, 2, 16, specials::fnuz};

/// A format and the name that the program, reports and meta.json use.
struct named_format {
  const char* name;
  format value;
};

/// Every named format, in the order in which `zeroulp formats` lists them.
inline constexpr named_format named_formats[] = {
    {"e4m3", e4m3},   {"e5m2", e5m2},         {"e5m6", e5m6},
    {"bf16", bf16},   {"fp16", fp16},         {"tf32", tf32},
    {"fp32", fp32},   {"fp64", fp64},         {"ue8m0", ue8m0},
    {"e8m13", e8m13}, {"e2m1", e2m1},         {"e2m3", e2m3},
    {"e3m2", e3m2},   {"e4m3fnuz", e4m3fnuz}, {"e5m2fnuz", e5m2fnuz},
};

/// The row of a table, found by its name when it is compiled.
template <class Row, std::size_t Rows>
consteval const Row& row_named(const Row (&table)[Rows],
                               std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) return row;
  }
  throw "there is no row of this name";
}

static_assert(e4m3.bits() == 8 && e5m2.bits() == 8 && e5m6.bits() == 12);
static_assert(ue8m0.bits() == 8 && tf32.bits() == 19 && e8m13.bits() == 22);
static_assert(e4m3.max_code() == 0x7e && e5m2.max_code() == 0x7b);
static_assert(e5m6.max_code() == 0x7bf && e4m3fnuz.max_code() == 0x7f);
static_assert(e4m3.quantum_exponent() == -9 && fp32.quantum_exponent() == -149);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_FORMAT_HPP_
