// Fprop and Dgrad: a scale for each 1x128 of A and each 128x128 of B.

#include "cuda/gemm_instance.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_by_blocks(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    constexpr auto product = promotion::product_of_scales;
    constexpr auto other = promotion::one_then_other;
    constexpr auto t = types.value;
    using large = gemm_shape<2, 2, 128, 2>;
    using middle = gemm_shape<2, 1, 128, 1>;
    using small = gemm_shape<1, 1, 64, 1, 4>;
    using least = gemm_shape<1, 1, 32, 1, 4>;
    static constexpr gemm_instance dense[] = {
        make_instance<large, block_scaling<product, 128>, t>(1440, 3000),
        make_instance<middle, block_scaling<product, 128>, t>(810, 2000),
        make_instance<small, block_scaling<product, 64>, t>(330, 2000),
        make_instance<least, block_scaling<product, 32>, t>(200, 2000),
    };
    static constexpr gemm_instance grouped[] = {
        make_instance<large, block_scaling<product, 128>, t, true>(1440, 3000),
        make_instance<middle, block_scaling<product, 128>, t, true>(810, 2000),
    };
    static constexpr gemm_instance in_turn[] = {
        make_instance<middle, block_scaling<other, 128>, t>(810, 2000)};
    if (kind.update == other) return {in_turn, 1};
    if (kind.grouped) return {grouped, 2};
    return {dense, 4};
  });
}

}  // namespace zeroulp::cuda
