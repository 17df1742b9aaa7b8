#include "conformance/oracles/nearest_code.hpp"

#include <cmath>

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

constexpr std::uint64_t one = 1;

std::uint64_t magnitude_mask(format f) {
  return (one << (f.exp_bits + f.man_bits)) - 1;
}

std::uint64_t infinity_of(format f) {
  return ((one << f.exp_bits) - 1) << f.man_bits;
}

std::uint64_t nan_of(format f, bool negative, policy p) {
  const std::uint64_t sign = negative && p.nan_sign ? sign_bit(f) : 0;
  switch (f.kind) {
    case specials::ieee:
      return p.payload == nan_payload::quiet
                 ? sign | infinity_of(f) | one << (f.man_bits - 1)
                 : sign | magnitude_mask(f);
    case specials::fn:
      return sign | magnitude_mask(f);
    case specials::fnuz:
      return sign_bit(f);
    case specials::scale:
      return magnitude_mask(f);
    case specials::finite:
      break;
  }
  return largest_code(f);
}

/// What becomes of NaN, which may be a number.
std::uint64_t from_nan(format f, bool negative, policy p) {
  switch (p.payload) {
    case nan_payload::largest:
      return largest_code(f);
    case nan_payload::lowest:
      return f.kind == specials::scale ? 0 : sign_bit(f) + largest_code(f);
    default:
      return nan_of(f, negative, p);
  }
}

/// What stands for an infinite result (C3's "otherwise").
std::uint64_t infinite_of(format f, bool negative, policy p) {
  const std::uint64_t sign = negative ? sign_bit(f) : 0;
  if (f.kind == specials::ieee) return sign | infinity_of(f);
  if (f.kind == specials::finite) return sign | largest_code(f);
  return sign | nan_of(f, false, p);  // the sign is the value's, not a NaN's
}

/// Returns true iff x / scale belongs to a code above `c`.
bool belongs_above(format f, std::uint64_t c, double x, double scale) {
  const double middle =
      (magnitude_value(f, c) + magnitude_value(f, c + 1)) / 2 * scale;
  return x > middle || (x == middle && c % 2 != 0);
}

/// The code nearest to x / scale, codes continued; x >= 0.
std::uint64_t nearest_magnitude(format f, double x, double scale) {
  const std::uint64_t beyond = largest_code(f) + 1;
  if (belongs_above(f, beyond - 1, x, scale)) return beyond;
  // A guess, then steps to the right code: the guess cannot make it wrong.
  const double ratio = x / scale;
  std::uint64_t c = 0;
  if (ratio >= magnitude_value(f, 1)) {
    const int smallest = f.kind == specials::scale ? -f.bias : 1 - f.bias;
    const int e = std::ilogb(ratio) < smallest ? smallest : std::ilogb(ratio);
    const auto units =
        static_cast<std::uint64_t>(std::ldexp(ratio, f.man_bits - e));
    c = (static_cast<std::uint64_t>(e - smallest) << f.man_bits) + units;
    if (f.kind == specials::scale) c -= 1;
  }
  while (c > 0 && !belongs_above(f, c - 1, x, scale)) --c;
  while (belongs_above(f, c, x, scale)) ++c;
  return c;
}

}  // namespace

std::uint64_t largest_code(format f) {
  switch (f.kind) {
    case specials::ieee:
      return infinity_of(f) - 1;
    case specials::fn:
    case specials::scale:
      return magnitude_mask(f) - 1;
    case specials::fnuz:
    case specials::finite:
      break;
  }
  return magnitude_mask(f);
}

std::uint64_t sign_bit(format f) {
  return f.kind == specials::scale ? 0 : one << (f.exp_bits + f.man_bits);
}

double magnitude_value(format f, std::uint64_t magnitude) {
  const auto exponent = static_cast<int>(magnitude >> f.man_bits);
  if (f.kind == specials::scale) return std::ldexp(1.0, exponent - f.bias);
  const auto fraction =
      static_cast<double>(magnitude & ((one << f.man_bits) - 1));
  const auto hidden = static_cast<double>(one << f.man_bits);
  return exponent == 0
             ? std::ldexp(fraction, 1 - f.bias - f.man_bits)
             : std::ldexp(hidden + fraction, exponent - f.bias - f.man_bits);
}

double code_value(format f, std::uint64_t code) {
  const bool negative = (code & sign_bit(f)) != 0;
  const std::uint64_t magnitude = code & magnitude_mask(f);
  double value = magnitude_value(f, magnitude);
  if (magnitude > largest_code(f)) {
    const bool infinite =
        f.kind == specials::ieee && magnitude == infinity_of(f);
    value = infinite ? static_cast<double>(INFINITY) : std::nan("");
  }
  if (f.kind == specials::fnuz && negative && magnitude == 0) {
    return std::nan("");
  }
  return std::copysign(value, negative ? -1.0 : 1.0);
}

std::uint64_t nearest_code(format f, double x, double scale, policy p) {
  const bool negative = std::signbit(x);
  if (std::isnan(x)) return from_nan(f, negative, p);
  if (f.kind == specials::scale && x < 0 && !p.scale_magnitude) {
    return nan_of(f, negative, p);
  }
  const std::uint64_t sign = negative ? sign_bit(f) : 0;
  if (std::isinf(x)) {
    return p.saturate_infinite ? sign | largest_code(f)
                               : infinite_of(f, negative, p);
  }
  const std::uint64_t c = nearest_magnitude(f, std::fabs(x), scale);
  if (c > largest_code(f)) {
    return p.saturate_finite ? sign | largest_code(f)
                             : infinite_of(f, negative, p);
  }
  return c == 0 && f.kind == specials::fnuz ? 0 : sign | c;
}

}  // namespace zeroulp::oracle
