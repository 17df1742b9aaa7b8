// The GEMM kernel with one scale for the whole of A and of B, or none, and any
// promotion interval. It serves as a control.

#include "cuda/gemm/instances.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_by_matrix(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    static constexpr gemm_instance dense[] = {
        make_instance<gemm_shape<2, 1, 128>, matrix_scaling, types.value>(
            750, 2000)};
    return {dense, 1};
  });
}

}  // namespace zeroulp::cuda
