// The C ABI of the kernels: GEMM and the emulator.

#include "cuda/c_abi/c_abi.hpp"
#include "zeroulp/cuda_gemm.hpp"

namespace zeroulp::c_abi {
namespace {

constexpr bool is(int kind, cuda::gemm_groups groups) {
  return kind == static_cast<int>(groups);
}
static_assert(is(ZEROULP_CUDA_GEMM_ONE, cuda::gemm_groups::none) &&
              is(ZEROULP_CUDA_GEMM_ROWS, cuda::gemm_groups::m_contiguous) &&
              is(ZEROULP_CUDA_GEMM_FIRST_ROWS, cuda::gemm_groups::m_masked) &&
              is(ZEROULP_CUDA_GEMM_K_RANGES, cuda::gemm_groups::k_contiguous));

cuda::operand gpu_operand_of(const zeroulp_cuda_operand* given,
                             const char* what) {
  const auto& x = needed(given, what);
  cuda::operand o{operand_of(&x.format, what), x.codes.data, x.codes.rows,
                  x.codes.cols, x.codes.stride};
  if (x.scales.data != nullptr) {
    o.scales = words_of(view_of(&x.scales, what), what);
  }
  return o;
}

/// NULL: one GEMM.
cuda::gemm_partition groups_of(const zeroulp_cuda_gemm_groups* given) {
  if (given == nullptr) return {};
  constexpr std::int64_t last = ZEROULP_CUDA_GEMM_K_RANGES;
  if (given->kind < 0 || given->kind > last) {
    refuse("groups: kind is {}: use 0 to {}", given->kind, last);
  }
  return {static_cast<cuda::gemm_groups>(given->kind), given->count,
          given->table};
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace cuda = zeroulp::cuda;

zeroulp_status zeroulp_cuda_gemm(const zeroulp_recipe* recipe,
                                 const zeroulp_cuda_gemm_groups* groups,
                                 const zeroulp_cuda_operand* a,
                                 const zeroulp_cuda_operand* b,
                                 const zeroulp_cuda_const_matrix* c,
                                 const zeroulp_cuda_matrix* d, void* stream) {
  return guarded(__func__, [&] {
    cuda::const_matrix addend;
    if (c != nullptr) addend = matrix_of(c, "c");
    cuda::gemm(recipe_of(recipe), groups_of(groups), gpu_operand_of(a, "a"),
               gpu_operand_of(b, "b"), addend, matrix_of(d, "d"),
               stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_emulate_gemm(const zeroulp_recipe* recipe,
                                         const zeroulp_cuda_operand* a,
                                         const zeroulp_cuda_operand* b,
                                         const zeroulp_cuda_const_matrix* c,
                                         const zeroulp_cuda_matrix* d,
                                         void* stream) {
  return guarded(__func__, [&] {
    cuda::const_matrix addend;
    if (c != nullptr) addend = matrix_of(c, "c");
    cuda::emulate_gemm(recipe_of(recipe), gpu_operand_of(a, "a"),
                       gpu_operand_of(b, "b"), addend, matrix_of(d, "d"),
                       stream_of(stream));
  });
}
