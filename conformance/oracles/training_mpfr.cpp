// The errors of exp, sigmoid, rsqrt and log, and rope's cosines, sines and
// frequencies (E5 to E7), by MPFR.

#include <mpfr.h>

#include <cmath>
#include <limits>

#include "conformance/oracles/model_oracle.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::oracle {
namespace {

constexpr mpfr_prec_t precision = 120;

class real {
 public:
  explicit real(mpfr_prec_t bits = precision) { mpfr_init2(value_, bits); }
  ~real() { mpfr_clear(value_); }
  real(const real&) = delete;
  real& operator=(const real&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// |result - y| in ulps of y, y not NaN.
double ulps(mpfr_ptr y, std::uint32_t result) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  const float got = to_float(result);
  if (std::isnan(got)) return wrong;
  const bool negative = mpfr_signbit(y) != 0;
  if (negative != std::signbit(got)) return wrong;
  if (!mpfr_number_p(y) || mpfr_zero_p(y)) {
    const bool same = mpfr_inf_p(y) ? std::isinf(got) : got == 0;
    return same ? 0 : wrong;
  }
  real error;
  // Inf stands for the number after the largest.
  if (std::isinf(got)) {
    mpfr_set_ui_2exp(error.get(), 1, 128, MPFR_RNDN);
    if (mpfr_cmpabs(y, error.get()) >= 0) return 0;
  } else {
    mpfr_set_flt(error.get(), std::fabs(got), MPFR_RNDN);
  }
  real magnitude;
  mpfr_abs(magnitude.get(), y, MPFR_RNDN);
  mpfr_sub(error.get(), error.get(), magnitude.get(), MPFR_RNDN);
  // y is in [2^(e - 1), 2^e): 24 bits, or down to 2^-149.
  const long e = std::max(mpfr_get_exp(y) - 24, mpfr_exp_t{-149});
  mpfr_mul_2si(error.get(), error.get(), -e, MPFR_RNDN);
  return std::fabs(mpfr_get_d(error.get(), MPFR_RNDN));
}

template <class Function>
double error_of(std::uint32_t x, std::uint32_t result, Function function) {
  real y;
  mpfr_set_flt(y.get(), to_float(x), MPFR_RNDN);
  function(y.get());
  if (mpfr_nan_p(y.get())) {
    return result == 0x7fffffff ? 0 : std::numeric_limits<double>::infinity();
  }
  return ulps(y.get(), result);
}

/// FP32's range of exponents, as MPFR counts them, while this lives.
class fp32_range {
 public:
  fp32_range() : least_(mpfr_get_emin()), largest_(mpfr_get_emax()) {
    mpfr_set_emin(-148);
    mpfr_set_emax(128);
  }
  ~fp32_range() {
    mpfr_set_emin(least_);
    mpfr_set_emax(largest_);
  }
  fp32_range(const fp32_range&) = delete;
  fp32_range& operator=(const fp32_range&) = delete;

 private:
  mpfr_exp_t least_;
  mpfr_exp_t largest_;
};

}  // namespace

double exponential_error(std::uint32_t x, std::uint32_t result) {
  return error_of(x, result, [](mpfr_ptr y) { mpfr_exp(y, y, MPFR_RNDN); });
}

double logistic_error(std::uint32_t x, std::uint32_t result) {
  return error_of(x, result, [](mpfr_ptr y) {
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
  });
}

double inverse_root_error(std::uint32_t x, std::uint32_t result) {
  return error_of(x, result, [](mpfr_ptr y) {
    // MPFR's root of -0 is +Inf, where IEEE 754's has the sign.
    const bool minus_zero = mpfr_zero_p(y) && mpfr_signbit(y);
    mpfr_rec_sqrt(y, y, MPFR_RNDN);
    if (minus_zero) mpfr_neg(y, y, MPFR_RNDN);
  });
}

double logarithm_error(std::uint32_t x, std::uint32_t result) {
  return error_of(x, result, [](mpfr_ptr y) { mpfr_log(y, y, MPFR_RNDN); });
}

angle turn(double frequency, std::ptrdiff_t position) {
  real x(53 + 64);
  mpfr_set_d(x.get(), frequency, MPFR_RNDN);
  mpfr_mul_si(x.get(), x.get(), static_cast<long>(position), MPFR_RNDN);
  const fp32_range range;
  const auto rounded = [&](auto function) {
    real y(24);
    const int how = function(y.get(), x.get(), MPFR_RNDN);
    mpfr_subnormalize(y.get(), how, MPFR_RNDN);
    return to_bits(mpfr_get_flt(y.get(), MPFR_RNDN));
  };
  return {rounded(mpfr_cos), rounded(mpfr_sin)};
}

double frequency_of(std::ptrdiff_t n, std::ptrdiff_t i) {
  real base(53), exponent(53), f(53);
  mpfr_set_ui(base.get(), 10000, MPFR_RNDN);
  mpfr_set_si(exponent.get(), static_cast<long>(-2 * i), MPFR_RNDN);
  mpfr_div_si(exponent.get(), exponent.get(), static_cast<long>(n), MPFR_RNDN);
  mpfr_pow(f.get(), base.get(), exponent.get(), MPFR_RNDN);
  return mpfr_get_d(f.get(), MPFR_RNDN);
}

}  // namespace zeroulp::oracle
