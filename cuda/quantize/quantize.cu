// The host side of cuda::quantize and cuda::group_amaxes: checks a request and
// launches the kernel for it.

#include <cuda_runtime.h>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/dispatch_format.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/row_target.hpp"
#include "cuda/quantize/launch.cuh"
#include "cuda/quantize/rows_1x128.cuh"

namespace zeroulp::cuda {
namespace {

template <class In, class Out>
void launch(const argument_checks& r, const quantize_params& params,
            CUstream_st* stream) {
  const bool rows_alone = params.amaxes.data == nullptr &&
                          params.y.groups == grouping::row &&
                          params.yt.groups == grouping::none;
  const std::ptrdiff_t m = params.x.rows, n = params.x.cols;
  unsigned blocks =
      r.blocks(rows_alone ? half_warps_of<In>(m, n) : tiles_of(m, n));
  if (rows_alone) blocks = (blocks - 1) / (row_threads / 16) + 1;
  r.need_gpu();
  if (rows_alone) {
    pdl_launch(stream, quantize_rows<In, Out>, blocks, row_threads, params);
  } else if (quantizes_blocks(params)) {
    launch_blocks(params, blocks, stream);
  } else if (quantizes_given_blocks(params)) {
    launch_given_blocks(params, blocks, stream);
  } else if (quantizes_rows_and_columns(params)) {
    launch_rows_and_columns(params, blocks, stream);
  } else {
    launch_tiles(params, blocks, stream);
  }
  r.launched();
}

template <class In>
void launch_to(const argument_checks& r, const quantize_params& params,
               CUstream_st* stream) {
  with_codes(params.plan.q.to,
             [&](auto out) { launch<In, decltype(out)>(r, params, stream); });
}

void launch_amax(const argument_checks& r, const quantize_params& params,
                 CUstream_st* stream) {
  const unsigned tiles = r.blocks(tiles_of(params.x.rows, params.x.cols));
  r.need_gpu();
  r.require(cudaMemsetAsync(params.amaxes.data, 0, 4, stream));
  launch_matrix_amax(params, tiles, r.multiprocessors(), stream);
  r.launched();
}

void launch_from(const argument_checks& r, const quantize_params& params,
                 CUstream_st* stream) {
  const format from = params.plan.q.from;
  (from == fp32   ? launch_to<fp32_elements>
   : from == bf16 ? launch_to<bf16_elements>
                  : launch_to<fp16_elements>)(r, params, stream);
}

/// Returns how groups of shape `g`, or of its transpose, divide a tile of x.
grouping grouping_of(group_shape g, bool is_transposed) {
  if (is_tensor(g)) return grouping::matrix;
  if (g.rows == g.cols) return grouping::tile;
  return (g.rows == 1) != is_transposed ? grouping::row : grouping::column;
}

void check_input(const argument_checks& r, const quantizer& q,
                 const const_matrix& x) {
  r.need(q.from == fp32 || q.from == bf16 || q.from == fp16,
         "x must be of fp32, bf16 or fp16");
  r.need_codes(q.to, "codes");
  need_quantizer(r, q);
  r.need_matrix(x, storage_bytes(q.from), "x");
}

/// Returns where the codes and scales of an m x n matrix go; nothing without
/// codes.
quantized_target target_of(const argument_checks& r, const quantizer& q,
                           const quantized& to, std::ptrdiff_t m,
                           std::ptrdiff_t n, bool is_transposed) {
  if (to.codes.data == nullptr) return {};
  return checked_target(r, q, to, m, n, ceil_div(m, q.group.height(m)),
                        ceil_div(n, q.group.width(n)),
                        grouping_of(q.group, is_transposed),
                        is_transposed ? "yt" : "y");
}

void check_amaxes(const argument_checks& r, const quantizer& q,
                  const const_matrix& x,
                  matrix_view<const std::uint32_t> amax) {
  r.need(is_tile(q.group) || is_tensor(q.group),
         "groups must be 1x128, 128x1, 128x128 or the whole matrix");
  r.need(amax.rows == ceil_div(x.rows, q.group.height(x.rows)) &&
             amax.cols == ceil_div(x.cols, q.group.width(x.cols)),
         "amax must be one for each group");
  r.need_words(amax, "amax");
}

void run(const argument_checks& r, const quantizer& q, const const_matrix& x,
         amax_matrix given, const quantized& y, const quantized& yt,
         CUstream_st* stream) {
  quantizer of_yt = q;  // given amaxes belong to x's groups
  if (given.data != nullptr) of_yt.group = {q.group.cols, q.group.rows};
  quantize_params params{};
  params.plan = plan_of(q);
  params.x = rows_of(x, storage_bytes(q.from));
  params.y = target_of(r, q, y, x.rows, x.cols, false);
  params.yt = target_of(r, of_yt, yt, x.cols, x.rows, true);
  params.given = given;
  r.need(params.y.groups != grouping::none ||
             params.yt.groups != grouping::none || x.rows == 0 || x.cols == 0,
         "neither y nor yt has codes");
  if (x.rows == 0 || x.cols == 0) return;
  launch_from(r, params, stream);
}

}  // namespace

void quantize(const quantizer& q, const const_matrix& x, const quantized& y,
              const quantized& yt, CUstream_st* stream) {
  const argument_checks r("cuda::quantize");
  check_input(r, q, x);
  r.need(is_tile(q.group), is_tensor(q.group)
                               ? "the whole matrix has its amax from "
                                 "group_amaxes: give it"
                               : "groups must be 1x128, 128x1 or 128x128");
  run(r, q, x, {}, y, yt, stream);
}

void quantize(const quantizer& q, const const_matrix& x,
              matrix_view<const std::uint32_t> amax, const quantized& y,
              const quantized& yt, CUstream_st* stream) {
  const argument_checks r("cuda::quantize");
  check_input(r, q, x);
  check_amaxes(r, q, x, amax);
  run(r, q, x,
      {const_cast<std::uint32_t*>(amax.data), amax.row_stride, amax.col_stride},
      y, yt, stream);
}

void group_amaxes(const quantizer& q, const const_matrix& x,
                  matrix_view<std::uint32_t> amax, CUstream_st* stream) {
  const argument_checks r("cuda::group_amaxes");
  check_input(r, q, x);
  check_amaxes(r, q, x, amax);
  r.need(amax.rows <= 1 || amax.row_stride >= amax.cols * amax.col_stride,
         "the rows of amax overlap");
  r.need(amax.cols <= 1 || amax.col_stride > 0, "the columns of amax overlap");
  quantize_params params{};
  params.plan = plan_of(q);
  params.x = rows_of(x, storage_bytes(q.from));
  params.amaxes = {amax.data, amax.row_stride, amax.col_stride};
  params.amax_groups = grouping_of(q.group, false);
  if (x.rows == 0 || x.cols == 0) return;
  (finds_matrix_amax(params) ? launch_amax : launch_from)(r, params, stream);
}

}  // namespace zeroulp::cuda
