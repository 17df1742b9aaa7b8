// The lines of the training path, compiled for each set of vector instructions.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/training/kernels.cpp"
#include "src/base/simd.hpp"
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on

#include "src/arrays/reference.hpp"
#include "src/training/lines-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp::engine {
namespace HWY_NAMESPACE {
namespace {

using by_hardware = lines<hardware_fp32>;

// The equations must become part of a function here, since what the headers
// define is compiled for no set in particular.
#define ZEROULP_FLAT __attribute__((flatten))

ZEROULP_FLAT void elementary_any(elementary which, const std::uint32_t* x,
                                 std::uint32_t* out, std::size_t n) {
  by_hardware::elementary_line(which, x, out, n);
}
ZEROULP_FLAT void swiglu_any(const std::uint32_t* g, const std::uint32_t* u,
                             std::uint32_t* h, std::size_t n) {
  by_hardware::swiglu_line(g, u, h, n);
}
ZEROULP_FLAT void swiglu_gradient_any(const std::uint32_t* g,
                                      const std::uint32_t* u,
                                      const std::uint32_t* dh,
                                      const gradient_lines& out,
                                      std::size_t n) {
  by_hardware::swiglu_gradient_line(g, u, dh, out, n);
}
ZEROULP_FLAT void rms_fold_any(std::ptrdiff_t first, const std::uint32_t* x,
                               std::size_t n, rms_sums& sums) {
  by_hardware::rms_fold_line(first, x, n, sums);
}
ZEROULP_FLAT void rms_factor_any(const rms_sums& sums, std::ptrdiff_t n,
                                 std::uint32_t eps, std::uint32_t& factor) {
  by_hardware::rms_factor(sums, n, eps, factor);
}
ZEROULP_FLAT void rms_any(const std::uint32_t* x, std::uint32_t factor,
                          const std::uint32_t* w, std::uint32_t* y,
                          std::size_t n) {
  by_hardware::rms_line(x, factor, w, y, n);
}
ZEROULP_FLAT void adamw_any(const adamw_factors& f, const std::uint32_t* g,
                            const adamw_lines& state, std::size_t n) {
  by_hardware::adamw_line(f, g, state, n);
}
ZEROULP_FLAT void contribute_any(combine_rule rule, bool any,
                                 const std::uint32_t* x,
                                 const std::uint32_t* weight,
                                 std::uint32_t* sum, std::size_t n) {
  by_hardware::contribute_line(rule, any, x, weight, sum, n);
}

#undef ZEROULP_FLAT

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroulp::engine {
namespace {
using by_core = HWY_NAMESPACE::lines<core_fp32>;
}

// The reference is the definition, whatever the set.
#define ZEROULP_RUN(ANY, CORE, ...)           \
  by_reference() ? by_core::CORE(__VA_ARGS__) \
                 : (*ZEROULP_SIMD_DISPATCH(ANY))(__VA_ARGS__)

void elementary_line(elementary which, const std::uint32_t* x,
                     std::uint32_t* out, std::size_t n) {
  ZEROULP_RUN(elementary_any, elementary_line, which, x, out, n);
}

void swiglu_line(const std::uint32_t* g, const std::uint32_t* u,
                 std::uint32_t* h, std::size_t n) {
  ZEROULP_RUN(swiglu_any, swiglu_line, g, u, h, n);
}

void swiglu_gradient_line(const std::uint32_t* g, const std::uint32_t* u,
                          const std::uint32_t* dh, const gradient_lines& out,
                          std::size_t n) {
  ZEROULP_RUN(swiglu_gradient_any, swiglu_gradient_line, g, u, dh, out, n);
}

void rms_fold_line(std::ptrdiff_t first, const std::uint32_t* x, std::size_t n,
                   rms_sums& sums) {
  ZEROULP_RUN(rms_fold_any, rms_fold_line, first, x, n, sums);
}

std::uint32_t rms_factor(const rms_sums& sums, std::ptrdiff_t n,
                         std::uint32_t eps) {
  std::uint32_t factor = 0;
  ZEROULP_RUN(rms_factor_any, rms_factor, sums, n, eps, factor);
  return factor;
}

void rms_line(const std::uint32_t* x, std::uint32_t factor,
              const std::uint32_t* w, std::uint32_t* y, std::size_t n) {
  ZEROULP_RUN(rms_any, rms_line, x, factor, w, y, n);
}

void adamw_line(const adamw_factors& f, const std::uint32_t* g,
                const adamw_lines& state, std::size_t n) {
  ZEROULP_RUN(adamw_any, adamw_line, f, g, state, n);
}

void contribute_line(combine_rule rule, bool any, const std::uint32_t* x,
                     const std::uint32_t* weight, std::uint32_t* sum,
                     std::size_t n) {
  ZEROULP_RUN(contribute_any, contribute_line, rule, any, x, weight, sum, n);
}

#undef ZEROULP_RUN

}  // namespace zeroulp::engine
#endif
