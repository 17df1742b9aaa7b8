// Defines `float_mode`: the rounding of hardware arithmetic for a scope, with
// subnormal numbers, whatever the caller's thread had set. Internal.

#ifndef ZEROULP_SRC_BASE_FLOAT_MODE_HPP_
#define ZEROULP_SRC_BASE_FLOAT_MODE_HPP_

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace zeroulp {

class float_mode {
 public:
#if defined(__SSE2__)
  enum rounding : unsigned { nearest = 0, toward_zero = 0x6000 };
  explicit float_mode(rounding r) : before_(_mm_getcsr()) {
    // All exceptions masked, no flush to zero.
    _mm_setcsr(0x1f80u | r);
  }
  ~float_mode() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  enum rounding : int { nearest = FE_TONEAREST, toward_zero = FE_TOWARDZERO };
  explicit float_mode(rounding r) {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
    std::fesetround(r);
  }
  ~float_mode() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
#endif
 public:
  float_mode(const float_mode&) = delete;
  float_mode& operator=(const float_mode&) = delete;
};

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_FLOAT_MODE_HPP_
