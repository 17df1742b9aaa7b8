// The errors of exp, sigmoid and rsqrt, by MPFR.

#include <mpfr.h>

#include <cmath>
#include <limits>

#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::oracle {
namespace {

constexpr mpfr_prec_t precision = 120;

class real {
 public:
  real() { mpfr_init2(value_, precision); }
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

}  // namespace zeroulp::oracle
