// The GEMM kernels of Wgrad: a scale for each 1x128 of A and of B.

#include "cuda/gemm/instances.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_1d1d(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    constexpr auto product = promotion::product_of_scales;
    constexpr auto other = promotion::one_then_other;
    constexpr auto t = types.value;
    using large = tile_shape<tile_config{
        .math_warpgroups = 2, .m_waves = 2, .block_n = 128}>;
    using large_store_thread =
        tile_shape<tile_config{.math_warpgroups = 2,
                               .m_waves = 2,
                               .block_n = 128,
                               .store = store_policy::store_thread}>;
    using middle = tile_shape<tile_config{
        .math_warpgroups = 2, .m_waves = 1, .block_n = 128}>;
    // 3 of 16 pairs of scales are read early; the slowdown with other counts
    // (LESSONS.md, lesson 9):
    //   1: 4 %   2: 2.5 %   4: 1.5 %
    static constexpr gemm_instance dense[] = {
        make_instance<large, column_scaling<product, 128, 3>, t>(1800, 5000),
        make_instance<middle, column_scaling<product, 128>, t>(1000, 4000),
    };
    static constexpr gemm_instance grouped[] = {
        make_instance<large_store_thread, column_scaling<product, 128, 3>, t,
                      true>(1800, 5000),
        make_instance<middle, column_scaling<product, 128>, t, true>(1000,
                                                                     4000)};
    static constexpr gemm_instance in_turn[] = {
        make_instance<middle, column_scaling<other, 128>, t>(1000, 4000)};
    if (kind.update == other) return all_of(in_turn);
    if (kind.grouped) return all_of(grouped);
    return all_of(dense);
  });
}

}  // namespace zeroulp::cuda
