// Chooses the kernel for a GEMM by a model of its time.

#include "cuda/gemm/heuristics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zeroulp::cuda {

const gemm_instance& choose_instance(const gemm_instances& all,
                                     const gemm_partition& g,
                                     const gemm_sizes& s, bool can_overlap,
                                     int processors) {
  const auto cost = [&](const gemm_instance& x) {
    if (x.overlaps_epilogue && !can_overlap) {
      return std::numeric_limits<double>::infinity();
    }
    const bool by_rows = g.kind == gemm_groups::m_contiguous;
    // With groups of rows, half a tile of each group is lost. Tall tiles lose
    // less: math warps without rows leave the tensor core to the others.
    const double lost = x.m > 128 ? 0.33 : 0.5;
    const double tiles_m =
        by_rows ? static_cast<double>(s.m) / static_cast<double>(x.m) +
                      lost * static_cast<double>(g.count)
                : static_cast<double>(ceil_div(s.m, x.m));
    const double copies = static_cast<double>(s.d_matrices);
    const double tiles =
        tiles_m * copies * static_cast<double>(ceil_div(s.n, x.n));
    const double waves = std::ceil(tiles / processors);
    const double k = static_cast<double>(ceil_div(s.k, 128)) /
                     (g.kind == gemm_groups::k_contiguous ? copies : 1);
    return waves * (k * x.clocks + x.clocks_once) + x.clocks_last;
  };
  return *std::min_element(all.first, all.first + all.count,
                           [&](const gemm_instance& x, const gemm_instance& y) {
                             return cost(x) < cost(y);
                           });
}

}  // namespace zeroulp::cuda
