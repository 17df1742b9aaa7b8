// The host side of cuda::adamw: checks a request and launches the kernel for
// it.

#include <cuda_runtime.h>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/training/adamw.cuh"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::cuda {
namespace {

template <class Gradient, class Moment, bool Stochastic>
void launch(const argument_checks& r, const adamw_params& params,
            CUstream_st* stream) {
  const unsigned warps = r.blocks(params.rows * params.warps_a_row);
  const unsigned blocks = (warps - 1) / (adamw_threads / 32) + 1;
  r.need_gpu();
  pdl_launch(stream, update_state<Gradient, Moment, Stochastic>, blocks,
             adamw_threads, params);
  r.launched();
}

template <class Gradient>
void launch_by(const adamw_step& step, const argument_checks& r,
               const adamw_params& params, CUstream_st* stream) {
  (step.moment == fp32 ? launch<Gradient, fp32_elements, false>
   : step.mode == rounding::stochastic
       ? launch<Gradient, bf16_elements, true>
       : launch<Gradient, bf16_elements, false>)(r, params, stream);
}

void need_elements(const argument_checks& r, const const_matrix& x, int bytes,
                   const const_matrix& like, const char* what) {
  r.need_matrix(x, bytes, what);
  r.need_shape(x, like.rows, like.cols, what);
}

}  // namespace

void adamw(const adamw_step& step, const const_matrix& g, const matrix& m,
           const matrix& v, const matrix& w, const matrix& copy,
           CUstream_st* stream) {
  const argument_checks r("cuda::adamw");
  const auto is_taken = [](format f) { return f == fp32 || f == bf16; };
  r.need(is_taken(step.gradient), "g must be of fp32 or bf16");
  r.need(is_taken(step.moment), "m and v must be of fp32 or bf16");
  r.need(
      step.mode == rounding::nearest_even || step.mode == rounding::stochastic,
      "m and v are rounded nearest_even or stochastic");
  const int moment = storage_bytes(step.moment);
  r.need_matrix(g, storage_bytes(step.gradient), "g");
  need_elements(r, m, moment, g, "m");
  need_elements(r, v, moment, g, "v");
  need_elements(r, w, 4, g, "w");
  const bool copies = copy.data != nullptr;
  if (copies) need_elements(r, copy, 2, g, "the copy of w");
  if (g.rows == 0 || g.cols == 0) return;

  // Without gaps, the matrix is one row, and only its ends need care.
  const auto has_no_gaps = [](const const_matrix& x) {
    return x.rows == 1 || x.stride == x.cols;
  };
  const bool dense = has_no_gaps(g) && has_no_gaps(m) && has_no_gaps(v) &&
                     has_no_gaps(w) && (!copies || has_no_gaps(copy));
  adamw_params params{};
  params.factors = step.factors;
  params.seed = step.seed;
  params.first = step.first;
  params.rows = dense ? 1 : g.rows;
  params.cols = dense ? g.rows * g.cols : g.cols;
  const std::ptrdiff_t warps = ceil_div(params.cols, adamw_warp_columns);
  params.warps_a_row = r.blocks(warps);
  params.vectorized = true;
  const auto rows_for = [&](const const_matrix& x, int bytes) {
    const std::ptrdiff_t stride = dense ? 0 : x.stride;
    const auto start = reinterpret_cast<std::uintptr_t>(x.data) |
                       static_cast<std::uintptr_t>(stride * bytes);
    params.vectorized =
        params.vectorized && start % static_cast<unsigned>(4 * bytes) == 0;
    return state_matrix{const_cast<void*>(x.data), stride};
  };
  params.g = rows_for(g, storage_bytes(step.gradient));
  params.m = rows_for(m, moment);
  params.v = rows_for(v, moment);
  params.w = rows_for(w, 4);
  if (copies) params.copy = rows_for(copy, 2);
  (step.gradient == fp32 ? launch_by<fp32_elements>
                         : launch_by<bf16_elements>)(step, r, params, stream);
}

}  // namespace zeroulp::cuda
