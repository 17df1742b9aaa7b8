// Declares the equations of core/training.hpp over lines of FP32 numbers, as
// bits: in hardware arithmetic, on the vector set in use, or by the core's own
// where simd::reference is. For callers within a float_mode that rounds to
// nearest. Internal.

#ifndef ZEROULP_SRC_TRAINING_KERNELS_HPP_
#define ZEROULP_SRC_TRAINING_KERNELS_HPP_

#include <cstddef>
#include <cstdint>

#include "zeroulp/core/training.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::engine {

void elementary_line(elementary which, const std::uint32_t* x,
                     std::uint32_t* out, std::size_t n);

void swiglu_line(const std::uint32_t* g, const std::uint32_t* u,
                 std::uint32_t* h, std::size_t n);

/// What swiglu_gradient gives, a line each.
struct gradient_lines {
  std::uint32_t* h;
  std::uint32_t* dg;
  std::uint32_t* du;
};
void swiglu_gradient_line(const std::uint32_t* g, const std::uint32_t* u,
                          const std::uint32_t* dh, const gradient_lines& out,
                          std::size_t n);

/// The partial sums of a row, FP32 bits.
struct rms_sums {
  std::uint32_t lane[rms_lanes];
};

/// Adds elements first, first + 1, ... of a row; `first` a multiple of 8.
void rms_fold_line(std::ptrdiff_t first, const std::uint32_t* x, std::size_t n,
                   rms_sums& sums);
/// The factor of a row of n elements.
std::uint32_t rms_factor(const rms_sums& sums, std::ptrdiff_t n,
                         std::uint32_t eps);
void rms_line(const std::uint32_t* x, std::uint32_t factor,
              const std::uint32_t* w, std::uint32_t* y, std::size_t n);

/// Numbers before and after a step.
struct adamw_lines {
  std::uint32_t* m;
  std::uint32_t* v;
  std::uint32_t* w;
};
void adamw_line(const adamw_factors& f, const std::uint32_t* g,
                const adamw_lines& state, std::size_t n);

/// Adds contributions to sums; `any`: they are not the first. A null `weight`
/// is none.
void contribute_line(combine_rule rule, bool any, const std::uint32_t* x,
                     const std::uint32_t* weight, std::uint32_t* sum,
                     std::size_t n);

}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_TRAINING_KERNELS_HPP_
