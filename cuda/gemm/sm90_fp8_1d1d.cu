// The GEMM kernels of Wgrad: a scale for each 1x128 of A and of B.

#include "cuda/gemm/instances.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_by_columns(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    constexpr auto product = promotion::product_of_scales;
    constexpr auto other = promotion::one_then_other;
    constexpr auto t = types.value;
    using large = gemm_shape<2, 2, 128>;
    using sending = gemm_shape<2, 2, 128, 1, 1, gemm_end::sends>;
    using middle = gemm_shape<2, 1, 128>;
    // 3 of 16 pairs of scales are read early; the slowdown with other counts
    // (LESSONS.md, lesson 9):
    //   1: 4 %   2: 2.5 %   4: 1.5 %
    static constexpr gemm_instance dense[] = {
        make_instance<large, column_scaling<product, 128, 3>, t>(1800, 5000),
        make_instance<middle, column_scaling<product, 128>, t>(1000, 4000),
    };
    static constexpr gemm_instance grouped[] = {
        make_instance<sending, column_scaling<product, 128, 3>, t, true>(1800,
                                                                         5000),
        make_instance<middle, column_scaling<product, 128>, t, true>(1000,
                                                                     4000)};
    static constexpr gemm_instance in_turn[] = {
        make_instance<middle, column_scaling<other, 128>, t>(1000, 4000)};
    if (kind.update == other) return {in_turn, 1};
    if (kind.grouped) return {grouped, 2};
    return {dense, 2};
  });
}

}  // namespace zeroulp::cuda
