// The host side of cuda::rms_norm: checks a request and launches a kernel for
// it.

#include <cuda_runtime.h>

#include <type_traits>

#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_target.hpp"
#include "cuda/training/rms_norm.cuh"
#include "cuda/training/rms_norm_vectorized.cuh"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::cuda {
namespace {

template <class Out, int Rows, bool Longer>
void launch(const argument_checks& r, const rms_params& params,
            CUstream_st* stream) {
  const unsigned blocks = r.blocks(ceil_div(params.x.rows.rows, Rows));
  r.need_gpu();
  pdl_launch(stream, rms_norm_rows<Out, Rows, Longer>, blocks, rms_threads,
             params);
  r.launched();
}

/// `Steps`: the step counts for which E4M3 has kernels of its own.
template <class Out, int Rows, int... Steps>
void launch_vectorized(const argument_checks& r, const rms_params& params,
                       CUstream_st* stream) {
  const unsigned blocks = r.blocks(ceil_div(params.x.rows.rows, Rows));
  auto kernel = rms_norm_vectorized<Out, Rows, 0>;
  if constexpr (std::is_same_v<Out, e4m3_elements>) {
    const auto take = [&](int steps, auto of_steps) {
      if (params.x.rows.cols == steps * rms_vectorized_stride)
        kernel = of_steps;
    };
    (take(Steps, rms_norm_vectorized<Out, Rows, Steps>), ...);
  }
  r.need_gpu();
  pdl_launch(stream, kernel, blocks, row_threads, params);
  r.launched();
}

/// True iff w is of BF16, all vec8s are whole, and a block has the registers
/// for its rows.
bool can_be_vectorized(const rms_params& params) {
  const auto fits = [](const device_rows& to) {
    return to.data == nullptr || to.vectorized;
  };
  const std::ptrdiff_t n = params.x.rows.cols;
  return params.w.kind == number_kind::bf16 && params.w.rows.vectorized &&
         params.x.rows.vectorized && n > 0 && n % 8 == 0 &&
         n <= rms_vectorized_columns && fits(params.y.rows) &&
         fits(params.out.codes);
}

/// Launches a kernel with as many rows per block as fit its registers.
template <class Out>
void launch_rows(const argument_checks& r, const rms_params& params,
                 CUstream_st* stream) {
  const std::ptrdiff_t vec8s = ceil_div(params.x.rows.cols, rms_stride);
  if (can_be_vectorized(params)) {
    return (vec8s <= 1 ? launch_vectorized<Out, 4, 1, 2>
            : vec8s <= 2
                ? launch_vectorized<Out, 2, 3, 4>
                : launch_vectorized<Out, 1, 5, 6, 7, 8>)(r, params, stream);
  }
  (vec8s <= 1           ? launch<Out, 4, false>
   : vec8s <= 2         ? launch<Out, 2, false>
   : vec8s <= rms_vec8s ? launch<Out, 1, false>
                        : launch<Out, 1, true>)(r, params, stream);
}

void check_rstd(const argument_checks& r, matrix_view<std::uint32_t> rstd,
                std::ptrdiff_t m) {
  if (rstd.data == nullptr) return;
  r.need(rstd.rows == m && rstd.cols == 1, "rstd must be one for each row");
  r.need_words(rstd, "rstd");
  r.need(m <= 1 || rstd.row_stride > 0, "the rows of rstd overlap");
}

}  // namespace

void rms_norm(const rms_layer& layer, const const_matrix& x,
              const const_matrix& w, const matrix& y,
              matrix_view<std::uint32_t> rstd, const quantized& out,
              CUstream_st* stream) {
  const argument_checks r("cuda::rms_norm");
  const format to = layer.out.from;
  r.need(is_number(layer.from) && is_number(layer.weight) && is_number(to),
         "numbers must be of fp32, bf16 or fp16");
  r.need_matrix(x, storage_bytes(layer.from), "x");
  r.need_matrix(w, storage_bytes(layer.weight), "w");
  r.need_shape(w, 1, x.cols, "w");
  check_rstd(r, rstd, x.rows);
  rms_params params{};
  params.x = {rows_of(x, storage_bytes(layer.from)),
              number_kind_of(layer.from)};
  params.w = {rows_of(w, storage_bytes(layer.weight)),
              number_kind_of(layer.weight)};
  params.y = {number_target(r, to, y, x.rows, x.cols, "y"), number_kind_of(to)};
  params.rstd = rstd;
  params.count = count_as_fp32(x.cols);
  params.eps = layer.eps;
  params.out = row_target(r, layer.out, out, x.rows, x.cols, "y quantized");
  const bool makes_codes = params.out.groups != grouping::none;
  const bool in_rows = layer.from == bf16 && to == bf16 && layer.weight != fp16;
  r.need(!makes_codes || in_rows,
         "what is quantized in the same pass must be of bf16, w of bf16 or "
         "fp32");
  if (x.rows == 0) return;
  if (x.cols == 0 && rstd.data == nullptr) return;
  r.need(makes_codes || params.y.rows.data != nullptr || rstd.data != nullptr,
         "there is no output");
  if (!in_rows) {
    const unsigned blocks = r.blocks(x.rows);
    r.need_gpu();
    pdl_launch(stream, rms_norm_elementwise, blocks, rms_threads, params);
    return r.launched();
  }
  if (makes_codes) params.plan = plan_of(layer.out);
  with_codes(makes_codes ? layer.out.to : e4m3,
             [&](auto out) { launch_rows<decltype(out)>(r, params, stream); });
}

}  // namespace zeroulp::cuda
