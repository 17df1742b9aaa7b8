// Defines operands of a step as the kernels' arguments: views, quantizers,
// storage. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_GPU_OPERANDS_HPP_
#define ZEROULP_TOOLS_TRAIN_GPU_OPERANDS_HPP_

#include "tools/train/gpu/cuda_ops.hpp"

namespace zeroulp::train::gpu {

using operand = cuda_ops::operand;

inline constexpr group_shape tile{1, 128};
inline constexpr group_shape whole{0, 0};

inline quantizer quantizer_of(const storage& how, format from) {
  return {from, how.to, zeroulp_convention, how.scale, how.group};
}

inline cuda::quantized written(operand& x) {
  return {x.codes.matrix(), {x.scales.span().data(), x.scales.cols}};
}

inline cuda::const_scales scales_of(const operand& x) {
  return {x.scales.span().data(), x.scales.cols};
}

inline cuda::const_quantized read(const operand& x) {
  return {x.codes.matrix(), scales_of(x)};
}

template <class T>
cuda::const_matrix matrix_of(matrix_view<const T> x) {
  return {x.data, x.rows, x.cols, x.row_stride};
}

inline cuda::matrix matrix_of(matrix_view<std::uint16_t> x) {
  return {x.data, x.rows, x.cols, x.row_stride};
}

/// A view whose elements have no gaps.
template <class T>
std::span<T> span_of(matrix_view<T> x) {
  if (x.rows > 1 && x.row_stride != x.cols) {
    throw cuda::error("a step adds tensors with gaps");
  }
  return {x.data, static_cast<std::size_t>(x.rows * x.cols)};
}

/// Room for the codes and scales of an m x n matrix.
operand empty_operand(const storage& how, std::ptrdiff_t m, std::ptrdiff_t n);

inline std::size_t bytes_of(half_view x) {
  return static_cast<std::size_t>(x.rows * x.row_stride) * sizeof *x.data;
}

/// x itself, in this memory.
inline operand plain(half_view x, device_memory memory) {
  cuda_ops::code_matrix codes{x.rows, x.cols, 2, false, std::move(memory)};
  codes.stride = x.row_stride;
  return {detail::plain(bf16), std::move(codes), {}};
}

inline operand plain(half_view x, const cuda_ops::halves& owner) {
  return plain(x, owner.memory().part(x.data, bytes_of(x)));
}

}  // namespace zeroulp::train::gpu

#endif  // ZEROULP_TOOLS_TRAIN_GPU_OPERANDS_HPP_
