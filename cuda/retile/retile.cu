// The host side of cuda::retile: checks a request and launches a kernel for it.

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/retile/pipelined.cuh"
#include "cuda/retile/retile.cuh"

namespace zeroulp::cuda {
namespace {

/// Returns true iff a pipelined_params can hold this job.
bool can_be_pipelined(const retile_params& params) {
  constexpr std::ptrdiff_t most = (std::ptrdiff_t{1} << 31) - 256;
  return starts_on(16, params.codes.data, params.codes.stride) &&
         starts_on(16, params.to.data, params.to.stride) &&
         params.codes.cols % strip_width == 0 && params.codes.rows < most &&
         params.codes.cols < most && params.codes.stride < most &&
         params.to.stride < most;
}

template <class From, class To>
void launch_pipelined(const argument_checks& asked, const retile_params& params,
                      unsigned tiles, CUstream_st* stream) {
  const auto word = [](std::ptrdiff_t x) { return static_cast<unsigned>(x); };
  const pipelined_params strips{params,
                                word(params.codes.rows),
                                word(params.codes.cols),
                                word(params.codes.stride),
                                word(params.to.stride),
                                tiles};
  constexpr int bytes = sizeof(detail::pipelined_storage);
  const auto kernel = retile_pipelined<From, To>;
  asked.require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned blocks = std::min(tiles, asked.multiprocessors());
  pdl_launch(stream, kernel, blocks, pipelined_threads, strips, bytes);
}

template <class From, class To, bool Powers>
void launch(const argument_checks& asked, const retile_params& params,
            unsigned tiles, CUstream_st* stream) {
  if constexpr (!Powers && From::bytes == 1 && To::bytes == 1) {
    if (can_be_pipelined(params)) {
      launch_pipelined<From, To>(asked, params, tiles, stream);
      return;
    }
  }
  if (is_of_vec8s(params.codes, {})) {
    pdl_launch(stream, retile_tile<From, To, Powers, true>, tiles, tile_threads,
               params);
  } else {
    pdl_launch(stream, retile_tile<From, To, Powers, false>, tiles,
               tile_threads, params);
  }
}

template <class From, class To>
void launch_by(const argument_checks& asked, const retile_params& params,
               unsigned tiles, CUstream_st* stream) {
  (params.r.scale == scale_kind::float32
       ? launch<From, To, false>
       : launch<From, To, true>)(asked, params, tiles, stream);
}

template <class From>
void launch_to(const argument_checks& asked, const retile_params& params,
               unsigned tiles, CUstream_st* stream) {
  (params.r.to == e4m3 ? launch_by<From, e4m3_elements>
   : params.r.to == e5m2
       ? launch_by<From, e5m2_elements>
       : launch_by<From, e5m6_elements>)(asked, params, tiles, stream);
}

void check(const argument_checks& r, const retiling& how,
           const const_matrix& codes, const const_scales& scales,
           const quantized& out) {
  r.need(how.tile == tile_edge, "tiles must be of 128");
  r.need(how.scale <= scale_kind::ocp, "no such kind of scale");
  r.need(how.rule <= retile_rule::max_scale, "no such rule");
  r.need_codes(how.from, "codes");
  r.need_codes(how.to, "out");
  r.need(out.scales.layout != scale_layout::packed_ue8m0 ||
             how.scale != scale_kind::float32,
         "the layout ue8m0 needs powers of two as scales");
  const std::ptrdiff_t m = codes.rows, n = codes.cols;
  r.need_matrix(codes, storage_bytes(how.from), "codes");
  r.need_scales(scales, m, ceil_div(n, tile_edge), "codes");
  r.need_matrix(out.codes, storage_bytes(how.to), "out");
  r.need_shape(out.codes, n, m, "out");
  r.need_scales(out.scales, n, ceil_div(m, tile_edge), "out");
}

}  // namespace

void retile(const retiling& r, const const_matrix& codes,
            const const_scales& scales, const quantized& out,
            CUstream_st* stream) {
  const argument_checks asked("cuda::retile");
  check(asked, r, codes, scales, out);
  const std::ptrdiff_t m = codes.rows, n = codes.cols;
  if (m == 0 || n == 0) return;
  retile_params params{};
  params.r = r;
  params.plan =
      plan_of({fp32, r.to, zeroulp_convention, r.scale, {1, tile_edge}});
  params.max_ratio =
      to_float({1,
                integer_log2(decode(r.from, r.from.max_code()),
                             decode(r.to, r.to.max_code()), scale_kind::pow2),
                kind::finite, false});
  params.codes = rows_of(codes, storage_bytes(r.from));
  params.scales = {scales};
  params.to = rows_of(out.codes, storage_bytes(r.to));
  params.to_scales = {out.scales, n, ceil_div(m, tile_edge)};
  const unsigned tiles = asked.blocks(tiles_of(m, n));
  asked.need_gpu();
  (r.from == e4m3   ? launch_to<e4m3_elements>
   : r.from == e5m2 ? launch_to<e5m2_elements>
                    : launch_to<e5m6_elements>)(asked, params, tiles, stream);
  asked.launched();
}

}  // namespace zeroulp::cuda
