// The host side of cuda::combine: checks a request and launches the kernel for
// it.

#include <cuda_runtime.h>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/training/combine.cuh"

namespace zeroulp::cuda {
namespace {

template <combine_rule Rule, bool Weighted>
void launch(const argument_checks& r, const combine_params& params,
            unsigned blocks, CUstream_st* stream) {
  pdl_launch(stream, combine_rows<Rule, Weighted>, blocks, combine_threads,
             params);
  r.launched();
}

}  // namespace

void combine(combine_rule rule, const const_matrix& x, const row_numbers& slots,
             const basic_matrix<const std::uint32_t>& weights,
             const matrix& out, CUstream_st* stream) {
  const argument_checks r("cuda::combine");
  const bool weighted = weights.data != nullptr;
  r.need(rule <= combine_rule::bf16_pair, "there is no such rule");
  r.need(rule != combine_rule::bf16_pair || (!weighted && slots.cols <= 2),
         "bf16_pair takes two slots, without weights");
  r.need_matrix(x, 2, "x");
  r.need_matrix(slots, 4, "slots");
  if (weighted) {
    r.need_matrix(weights, 4, "weights");
    r.need_shape(weights, slots.rows, slots.cols, "weights");
  }
  r.need_matrix(out, 2, "out");
  r.need_shape(out, slots.rows, x.cols, "out");
  if (out.rows == 0 || out.cols == 0) return;

  combine_params params{rows_of(x, 2), rows_of(out, 2), slots, weights, 0};
  params.warps_a_token = r.blocks(ceil_div(out.cols, combine_warp_columns));
  const unsigned warps = r.blocks(out.rows * params.warps_a_token);
  const unsigned blocks = (warps - 1) / (combine_threads / 32) + 1;
  r.need_gpu();
  // Without weights, bf16_pair equals bf16_hops of two slots.
  constexpr auto one = combine_rule::fp32_slots;
  constexpr auto each = combine_rule::bf16_hops;
  const bool once = rule == one;
  (weighted ? once ? launch<one, true> : launch<each, true>
   : once ? launch<one, false>
            : launch<each, false>)(r, params, blocks, stream);
}

}  // namespace zeroulp::cuda
