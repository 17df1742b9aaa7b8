// Defines the operands of an operation as what the functions that it times
// take.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_VIEWS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_VIEWS_HPP_

#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "zeroulp/cuda.hpp"

namespace zeroulp::program {

inline cuda::matrix to_cuda(const engine::code_view& v) {
  return {v.data, v.rows, v.cols};
}
inline engine::code_view transposed(const engine::code_view& v) {
  return {v.data, v.cols, v.rows, v.col_stride, v.row_stride, v.bytes};
}
inline matrix_view<std::uint32_t> words(const engine::code_view& v) {
  return {static_cast<std::uint32_t*>(v.data), v.rows, v.cols};
}
inline matrix_view<std::uint8_t> bytes(const engine::code_view& v) {
  return {static_cast<std::uint8_t*>(v.data), v.rows, v.cols};
}

/// Codes and, next to them, their scales.
inline void add_quantized(gpu_operation& op, const std::string& suffix,
                          gpu_use use, format f, shape s, group_shape g,
                          gpu_fill scales = gpu_fill::scales,
                          gpu_fill codes = gpu_fill::normal) {
  op.operands.push_back({"codes" + suffix, use, f, s, codes});
  op.operands.push_back(
      {"scales" + suffix, use, fp32, groups_of(g, s), scales});
}

inline cuda::quantized quantized_at(const gpu_matrices& at, std::size_t i) {
  return {to_cuda(at[i]), {words(at[i + 1]).data, at[i + 1].cols}};
}
inline cuda::const_scales scales_at(const gpu_matrices& at, std::size_t i) {
  return {words(at[i]).data, at[i].cols};
}

inline shape swapped(shape s) { return {s.n, s.m}; }

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_VIEWS_HPP_
