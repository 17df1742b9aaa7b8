// The GEMM kernels of Fprop and Dgrad: a scale for each 1x128 of A and each
// 128x128 of B.

#include "cuda/gemm/instances.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_by_blocks(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    constexpr auto product = promotion::product_of_scales;
    constexpr auto other = promotion::one_then_other;
    constexpr auto t = types.value;
    using large = gemm_shape<2, 2, 128>;
    using flowing = gemm_shape<2, 2, 128, 1, 1, gemm_end::flows>;
    using middle = gemm_shape<2, 1, 128, 2, 4>;
    using narrow = gemm_shape<2, 1, 64, 4>;
    // Two load threads are 2 to 8 % slower where N is large: not understood.
    using small = gemm_shape<1, 1, 64, 4, 4, gemm_end::stores, 1>;
    // With N = 7168 each of 128 multiprocessors gets one tile.
    using narrow_small = gemm_shape<1, 1, 56, 4, 4, gemm_end::stores, 1>;
    using least = gemm_shape<1, 1, 32, 4>;
    static constexpr gemm_instance dense[] = {
        make_instance<flowing, block_scaling<product>, t>(1090, 1400, 2000),
        make_instance<large, block_scaling<product>, t>(1180, 4000),
        make_instance<middle, block_scaling<product>, t>(660, 3700),
        make_instance<narrow, block_scaling<product>, t>(550, 2500),
        make_instance<small, block_scaling<product>, t>(290, 1800),
        make_instance<narrow_small, block_scaling<product, 2>, t>(280, 1700),
        make_instance<least, block_scaling<product>, t>(205, 1500),
    };
    static constexpr gemm_instance grouped[] = {
        make_instance<flowing, block_scaling<product>, t, true>(1090, 1400,
                                                                2000),
        make_instance<large, block_scaling<product>, t, true>(1180, 4000),
        make_instance<middle, block_scaling<product>, t, true>(660, 3700),
    };
    static constexpr gemm_instance in_turn[] = {
        make_instance<middle, block_scaling<other>, t>(660, 3700)};
    if (kind.update == other) return {in_turn, 1};
    if (kind.grouped) return {grouped, 3};
    return {dense, 7};
  });
}

}  // namespace zeroulp::cuda
