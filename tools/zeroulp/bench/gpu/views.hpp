// Defines the operands of an operation as what the functions that it times
// take.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_VIEWS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_VIEWS_HPP_

#include <numeric>
#include <utility>

#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/random.hpp"

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
inline matrix_view<std::uint16_t> halves(const engine::code_view& v) {
  return {static_cast<std::uint16_t*>(v.data), v.rows, v.cols};
}
inline matrix_view<std::uint8_t> bytes(const engine::code_view& v) {
  return {static_cast<std::uint8_t*>(v.data), v.rows, v.cols};
}

/// 0 to n - 1 in a random order.
inline std::vector<std::uint32_t> permutation(std::ptrdiff_t n) {
  std::vector<std::uint32_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0u);
  counter_rng rng(44, 0);
  for (std::size_t i = all.size(); i > 1; --i) {
    std::swap(all[i - 1], all[rng.below(static_cast<std::uint32_t>(i))]);
  }
  return all;
}

/// m x n different row numbers, from 0 on, in a random order.
inline gpu_operand row_numbers(const char* name, std::ptrdiff_t m,
                               std::ptrdiff_t n) {
  return {name,   gpu_use::read,    fp32,
          {m, n}, gpu_fill::normal, permutation(m * n)};
}

inline matrix_view<const std::int32_t> numbers(const engine::code_view& v) {
  return {static_cast<const std::int32_t*>(v.data), v.rows, v.cols};
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
