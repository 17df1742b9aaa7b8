// Wgrad: a scale for each 1x128 of A and of B.

#include "cuda/gemm_instance.cuh"

namespace zeroulp::cuda {

gemm_instances gemm_by_columns(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    constexpr auto product = promotion::product_of_scales;
    constexpr auto other = promotion::one_then_other;
    constexpr auto t = types.value;
    using pair = gemm_shape<2, 1, 128, 2>;
    using single = gemm_shape<2, 1, 128, 1>;
    static constexpr gemm_instance dense[] = {
        make_instance<pair, column_scaling<product, 128>, t>(900, 2500),
        make_instance<single, column_scaling<product, 128>, t>(910, 2500),
    };
    static constexpr gemm_instance grouped[] = {
        make_instance<single, column_scaling<product, 128>, t, true>(910,
                                                                     2500)};
    static constexpr gemm_instance in_turn[] = {
        make_instance<single, column_scaling<other, 128>, t>(910, 2500)};
    if (kind.update == other) return {in_turn, 1};
    if (kind.grouped) return {grouped, 1};
    return {dense, 2};
  });
}

}  // namespace zeroulp::cuda
