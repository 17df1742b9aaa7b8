// The GEMM kernel with one scale for the whole of A and of B, or none, and any
// promotion interval. It serves as a control.

#include "cuda/gemm/instances.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_tensorwise(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    using middle = tile_shape<tile_config{
        .math_warpgroups = 2, .m_waves = 1, .block_n = 128}>;
    static constexpr gemm_instance dense[] = {
        make_instance<middle, matrix_scaling, types.value>(750, 2000)};
    return all_of(dense);
  });
}

}  // namespace zeroulp::cuda
