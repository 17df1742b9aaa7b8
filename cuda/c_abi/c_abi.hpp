// Defines how the structs of zeroulp_cuda.h become those of cuda.hpp. Here
// pointers and the ranges of enums are checked; cuda.hpp's functions check the
// contents. model_rows.hpp has what zeroulp_cuda_model.h takes. Internal.

#ifndef ZEROULP_CUDA_C_ABI_C_ABI_HPP_
#define ZEROULP_CUDA_C_ABI_C_ABI_HPP_

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/zeroulp_cuda.h"

namespace zeroulp::c_abi {

inline CUstream_st* stream_of(void* stream) {
  return static_cast<CUstream_st*>(stream);
}

/// Requires that a matrix that is present has data. A NULL pointer leaves a
/// matrix out.
template <class Matrix>
const Matrix& with_data(const Matrix* m, const char* what) {
  const Matrix& x = needed(m, what);
  if (x.data == nullptr && x.rows > 0 && x.cols > 0) {
    refuse("{} has no data", what);
  }
  return x;
}

inline cuda::matrix matrix_of(const zeroulp_cuda_matrix* m, const char* what) {
  const auto& x = with_data(m, what);
  return {x.data, x.rows, x.cols, x.stride};
}
inline cuda::const_matrix matrix_of(const zeroulp_cuda_const_matrix* m,
                                    const char* what) {
  const auto& x = with_data(m, what);
  return {x.data, x.rows, x.cols, x.stride};
}
/// NULL: none.
inline cuda::matrix optional_matrix_of(const zeroulp_cuda_matrix* m,
                                       const char* what) {
  return m == nullptr ? cuda::matrix{} : matrix_of(m, what);
}

/// Elements of 4 bytes.
template <class Word>
cuda::basic_matrix<Word> word_matrix_of(const cuda::const_matrix& x,
                                        const char* what) {
  if (reinterpret_cast<std::uintptr_t>(x.data) % 4 != 0) {
    refuse("{}: data is not aligned to elements of 4 bytes", what);
  }
  return {static_cast<Word*>(x.data), x.rows, x.cols, x.stride};
}
inline matrix_view<const std::uint32_t> word_view_of(
    const zeroulp_cuda_const_matrix* m, const char* what) {
  const auto x = word_matrix_of<const std::uint32_t>(matrix_of(m, what), what);
  return {x.data, x.rows, x.cols, x.stride, 1};
}
inline matrix_view<std::uint32_t> word_view_of(const zeroulp_cuda_matrix* m,
                                               const char* what) {
  const zeroulp_cuda_const_matrix x{needed(m, what).data, m->rows, m->cols,
                                    m->stride};
  const auto v = word_view_of(&x, what);
  return {static_cast<std::uint32_t*>(m->data), v.rows, v.cols, v.row_stride,
          1};
}

inline scale_layout gpu_layout_of(std::int64_t layout, const char* what) {
  constexpr auto last = static_cast<std::int64_t>(scale_layout::packed_ue8m0);
  if (layout < 0 || layout > last) {
    refuse("the layout of {} is {}: use 0 to {}", what, layout, last);
  }
  return static_cast<scale_layout>(layout);
}
inline cuda::scales scales_of(const zeroulp_cuda_scales& s, const char* what) {
  return {s.data, s.stride, gpu_layout_of(s.layout, what)};
}
inline cuda::const_scales scales_of(const zeroulp_cuda_const_scales& s,
                                    const char* what) {
  return {s.data, s.stride, gpu_layout_of(s.layout, what)};
}

inline cuda::quantized quantized_of(const zeroulp_cuda_quantized* q,
                                    const char* what) {
  const auto& x = needed(q, what);
  return {matrix_of(&x.codes, what), scales_of(x.scales, what)};
}
inline cuda::const_quantized quantized_of(const zeroulp_cuda_const_quantized* q,
                                          const char* what) {
  const auto& x = needed(q, what);
  return {matrix_of(&x.codes, what), scales_of(x.scales, what)};
}
/// NULL: none.
inline cuda::quantized optional_quantized_of(const zeroulp_cuda_quantized* q,
                                             const char* what) {
  return q == nullptr ? cuda::quantized{} : quantized_of(q, what);
}

}  // namespace zeroulp::c_abi

#endif  // ZEROULP_CUDA_C_ABI_C_ABI_HPP_
