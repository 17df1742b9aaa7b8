#include "conformance/oracles/mpfr_oracle.hpp"

#include "conformance/oracles/exact_integers.hpp"

namespace zeroulp::oracle {
namespace {

exact special(value_class what, bool negative) {
  exact x;
  x.what = what;
  x.negative = negative;
  return x;
}

exact signed_zero(bool negative) {
  return special(value_class::number, negative);
}

}  // namespace

exact continued(format f, std::uint64_t magnitude) {
  exact x;
  const std::uint64_t fraction = magnitude & ones(f.man_bits);
  const auto biased = static_cast<long>(magnitude >> f.man_bits);
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  if (f.kind == specials::scale || biased > 0) {
    x.numerator = fraction + hidden;
    x.exponent = biased - f.bias - f.man_bits;
  } else {
    x.numerator = fraction;
    x.exponent = 1 - f.bias - f.man_bits;
  }
  return x;
}

exact value_of(format f, std::uint64_t code) {
  const layout l = layout_of(f);
  const bool negative = (code & l.sign_mask) != 0;
  const std::uint64_t magnitude = code & l.magnitude_mask;
  if (f.kind == specials::fnuz && negative && magnitude == 0) {
    return special(value_class::nan, true);
  }
  if (magnitude > l.largest) {
    const bool infinite =
        f.kind == specials::ieee && (magnitude & ones(f.man_bits)) == 0;
    return special(infinite ? value_class::infinite : value_class::nan,
                   negative);
  }
  exact x = continued(f, magnitude);
  x.negative = negative;
  return x;
}

exact midpoint(format f, std::uint64_t magnitude) {
  exact low = continued(f, magnitude);
  const exact high = continued(f, magnitude + 1);
  // (low + high) / 2, with the exponent of the finer one.
  low.numerator += shifted_left(high.numerator, high.exponent - low.exponent);
  --low.exponent;
  return low;
}

namespace {

exact exact_product(const exact& a, const exact& b) {
  const bool negative = a.negative != b.negative;
  if (a.what == value_class::nan || b.what == value_class::nan) {
    return special(value_class::nan, false);
  }
  if (a.what == value_class::infinite || b.what == value_class::infinite) {
    const bool invalid = a.is_zero() || b.is_zero();
    return special(invalid ? value_class::nan : value_class::infinite,
                   negative);
  }
  exact x;
  x.negative = negative;
  x.numerator = a.numerator * b.numerator;
  x.exponent = a.exponent + b.exponent;
  return x;
}

exact exact_sum(const exact& a, const exact& b, rounding mode) {
  if (a.what == value_class::nan || b.what == value_class::nan) {
    return special(value_class::nan, false);
  }
  const bool a_infinite = a.what == value_class::infinite;
  const bool b_infinite = b.what == value_class::infinite;
  if (a_infinite && b_infinite && a.negative != b.negative) {
    return special(value_class::nan, false);
  }
  if (a_infinite) return a;
  if (b_infinite) return b;
  if (a.is_zero() && b.is_zero()) {
    return signed_zero(a.negative == b.negative ? a.negative
                                                : mode == rounding::down);
  }
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  exact x;
  x.exponent = a.exponent < b.exponent ? a.exponent : b.exponent;
  mpz_class total = shifted_left(a.numerator, a.exponent - x.exponent);
  if (a.negative) total = -total;
  const mpz_class other = shifted_left(b.numerator, b.exponent - x.exponent);
  if (b.negative) {
    total -= other;
  } else {
    total += other;
  }
  if (total == 0) return signed_zero(mode == rounding::down);
  x.negative = total < 0;
  x.numerator = abs(total);
  return x;
}

exact exact_quotient(const exact& a, const exact& b) {
  const bool negative = a.negative != b.negative;
  const bool a_infinite = a.what == value_class::infinite;
  const bool b_infinite = b.what == value_class::infinite;
  if (a.what == value_class::nan || b.what == value_class::nan ||
      (a_infinite && b_infinite) || (a.is_zero() && b.is_zero())) {
    return special(value_class::nan, false);
  }
  if (a_infinite || b.is_zero())
    return special(value_class::infinite, negative);
  if (b_infinite || a.is_zero()) return signed_zero(negative);
  exact x;
  x.negative = negative;
  x.numerator = a.numerator;
  x.denominator = b.numerator;
  x.exponent = a.exponent - b.exponent;
  return x;
}

exact exact_root(const exact& a) {
  if (a.is_zero()) return a;
  if (a.what == value_class::nan || a.negative) {
    return special(value_class::nan, false);
  }
  exact x = a;
  x.root = a.what == value_class::number;
  return x;
}

}  // namespace

exact evaluate(function op, const exact& a, const exact& b, const exact& c,
               rounding mode) {
  switch (op) {
    case function::add:
      return exact_sum(a, b, mode);
    case function::subtract: {
      exact minus_b = b;
      minus_b.negative = !b.negative;
      return exact_sum(a, minus_b, mode);
    }
    case function::multiply:
      return exact_product(a, b);
    case function::fma:
      return exact_sum(exact_product(a, b), c, mode);
    case function::divide:
      return exact_quotient(a, b);
    case function::square_root:
      break;
  }
  return exact_root(a);
}

}  // namespace zeroulp::oracle
