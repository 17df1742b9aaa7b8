// The GEMM kernels of Fprop and Dgrad: a scale for each 1x128 of A and each
// 128x128 of B.

#include "cuda/gemm/instances.cuh"

namespace zeroulp::cuda {
namespace {

/// For small M.
template <int BlockN>
using small_tile = tile_shape<tile_config{.math_warpgroups = 1,
                                          .m_waves = 1,
                                          .block_n = BlockN,
                                          .accumulators_in_flight = 4,
                                          .k_unroll = 4,
                                          .load_threads = 1}>;

}  // namespace

gemm_instances gemm_1d2d(const gemm_kind& kind) {
  return with_types(kind, [&](auto types) -> gemm_instances {
    constexpr auto product = promotion::product_of_scales;
    constexpr auto other = promotion::one_then_other;
    constexpr auto t = types.value;
    constexpr auto overlapped = store_policy::overlapped;
    using large = tile_shape<tile_config{
        .math_warpgroups = 2, .m_waves = 2, .block_n = 128}>;
    using large_overlapped = tile_shape<tile_config{.math_warpgroups = 2,
                                                    .m_waves = 2,
                                                    .block_n = 128,
                                                    .store = overlapped}>;
    using middle = tile_shape<tile_config{.math_warpgroups = 2,
                                          .m_waves = 1,
                                          .block_n = 128,
                                          .accumulators_in_flight = 2,
                                          .k_unroll = 4}>;
    using narrow = tile_shape<tile_config{.math_warpgroups = 2,
                                          .m_waves = 1,
                                          .block_n = 64,
                                          .accumulators_in_flight = 4,
                                          .k_unroll = 4}>;
    // Two load threads are 2 to 8 % slower where N is large: not understood.
    using small = small_tile<64>;
    // With N = 7168 each of 128 multiprocessors gets one tile.
    using narrow_small = small_tile<56>;
    using least = tile_shape<tile_config{.math_warpgroups = 1,
                                         .m_waves = 1,
                                         .block_n = 32,
                                         .accumulators_in_flight = 4,
                                         .k_unroll = 4}>;
    static constexpr gemm_instance dense[] = {
        make_instance<large_overlapped, block_scaling<product>, t>(1090, 1400,
                                                                   2000),
        make_instance<large, block_scaling<product>, t>(1180, 4000),
        make_instance<middle, block_scaling<product>, t>(660, 3700),
        make_instance<narrow, block_scaling<product>, t>(550, 2500),
        make_instance<small, block_scaling<product>, t>(290, 1800),
        make_instance<narrow_small, block_scaling<product, 2>, t>(280, 1700),
        make_instance<least, block_scaling<product>, t>(205, 1500),
    };
    static constexpr gemm_instance grouped[] = {
        make_instance<large_overlapped, block_scaling<product>, t, true>(
            1090, 1400, 2000),
        make_instance<large, block_scaling<product>, t, true>(1180, 4000),
        make_instance<middle, block_scaling<product>, t, true>(660, 3700),
    };
    static constexpr gemm_instance in_turn[] = {
        make_instance<middle, block_scaling<other>, t>(660, 3700)};
    if (kind.update == other) return all_of(in_turn);
    if (kind.grouped) return all_of(grouped);
    return all_of(dense);
  });
}

}  // namespace zeroulp::cuda
