// MPFR's own rounding, exponent range and subnormals, as a second oracle.

#include <mpfr.h>

#include "conformance/oracles/mpfr_oracle.hpp"

namespace zeroulp::oracle {
namespace {

/// An mpfr_t with an owner.
class number_of_mpfr {
 public:
  explicit number_of_mpfr(mpfr_prec_t precision) {
    mpfr_init2(value_, precision);
  }
  ~number_of_mpfr() { mpfr_clear(value_); }
  number_of_mpfr(const number_of_mpfr&) = delete;
  number_of_mpfr& operator=(const number_of_mpfr&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

mpfr_rnd_t mode_of(rounding mode) {
  switch (mode) {
    case rounding::toward_zero:
      return MPFR_RNDZ;
    case rounding::up:
      return MPFR_RNDU;
    case rounding::down:
      return MPFR_RNDD;
    default:
      return MPFR_RNDN;
  }
}

void set(mpfr_ptr to, const exact& x) {
  const int sign = x.negative ? -1 : 1;
  if (x.what == value_class::nan) return mpfr_set_nan(to);
  if (x.what == value_class::infinite) return mpfr_set_inf(to, sign);
  if (x.is_zero()) return mpfr_set_zero(to, sign);
  mpfr_set_z_2exp(to, x.numerator.get_mpz_t(), x.exponent, MPFR_RNDN);
  mpfr_setsign(to, to, x.negative, MPFR_RNDN);
}

/// Returns the code of a number that the format holds exactly.
std::uint64_t code_of(format f, mpfr_srcptr x) {
  const layout l = layout_of(f);
  if (mpfr_nan_p(x)) return l.magnitude_mask;
  const std::uint64_t sign = mpfr_signbit(x) ? l.sign_mask : 0;
  if (mpfr_inf_p(x)) return sign | (l.largest + 1);
  if (mpfr_zero_p(x)) return sign;
  mpz_class significand;
  const long smallest = 1L - f.bias - f.man_bits;
  long exponent = mpfr_get_z_2exp(significand.get_mpz_t(), x);
  significand = abs(significand);
  // MPFR keeps the full precision also of subnormals.
  while (exponent < smallest) {
    significand >>= 1;
    ++exponent;
  }
  const std::uint64_t units = significand.get_ui();
  const auto binade = static_cast<std::uint64_t>(exponent - smallest);
  return sign | ((binade << f.man_bits) + units);
}

}  // namespace

bool mpfr_rounds(format f, rounding mode) {
  return f.kind == specials::ieee &&
         (mode == rounding::nearest_even || mode == rounding::toward_zero ||
          mode == rounding::up || mode == rounding::down);
}

std::uint64_t mpfr_compute(function op, format f, std::uint64_t a,
                           std::uint64_t b, std::uint64_t c, rounding mode) {
  const mpfr_prec_t precision = f.man_bits + 1;
  number_of_mpfr x(precision);
  number_of_mpfr y(precision);
  number_of_mpfr z(precision);
  number_of_mpfr result(precision);
  set(x.get(), value_of(f, a));
  set(y.get(), value_of(f, b));
  set(z.get(), value_of(f, c));
  const auto old_min = mpfr_get_emin();
  const auto old_max = mpfr_get_emax();
  // MPFR's significands lie in [1/2, 1), hence one more.
  mpfr_set_emin(1L - f.bias - f.man_bits + 1);
  mpfr_set_emax((1L << f.exp_bits) - 2 - f.bias + 1);
  const mpfr_rnd_t rnd = mode_of(mode);
  int ternary = 0;
  switch (op) {
    case function::add:
      ternary = mpfr_add(result.get(), x.get(), y.get(), rnd);
      break;
    case function::subtract:
      ternary = mpfr_sub(result.get(), x.get(), y.get(), rnd);
      break;
    case function::multiply:
      ternary = mpfr_mul(result.get(), x.get(), y.get(), rnd);
      break;
    case function::fma:
      ternary = mpfr_fma(result.get(), x.get(), y.get(), z.get(), rnd);
      break;
    case function::divide:
      ternary = mpfr_div(result.get(), x.get(), y.get(), rnd);
      break;
    case function::square_root:
      ternary = mpfr_sqrt(result.get(), x.get(), rnd);
      break;
  }
  mpfr_subnormalize(result.get(), ternary, rnd);
  mpfr_set_emin(old_min);
  mpfr_set_emax(old_max);
  return code_of(f, result.get());
}

}  // namespace zeroulp::oracle
