// The host side of cuda::retile: checks a request and launches a kernel for it.

#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/retile/pipelined.cuh"
#include "cuda/retile/retile.cuh"

namespace zeroulp::cuda {
namespace {

/// Returns true iff a strip_job can hold this job.
bool is_of_strips(const retile_job& job) {
  constexpr std::ptrdiff_t most = (std::ptrdiff_t{1} << 31) - 256;
  return starts_on(16, job.codes.data, job.codes.stride) &&
         starts_on(16, job.to.data, job.to.stride) &&
         job.codes.cols % strip_width == 0 && job.codes.rows < most &&
         job.codes.cols < most && job.codes.stride < most &&
         job.to.stride < most;
}

template <class From, class To>
void launch_strips(const request& asked, const retile_job& job, unsigned tiles,
                   CUstream_st* stream) {
  const auto word = [](std::ptrdiff_t x) { return static_cast<unsigned>(x); };
  const strip_job strips{job,
                         word(job.codes.rows),
                         word(job.codes.cols),
                         word(job.codes.stride),
                         word(job.to.stride),
                         tiles};
  constexpr int bytes = sizeof(detail::strip_ring);
  const auto kernel = retile_strips<From, To>;
  asked.require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned blocks = std::min(tiles, asked.multiprocessors());
  launch_after(stream, kernel, blocks, strip_threads, strips, bytes);
}

template <class From, class To, bool Powers>
void launch(const request& asked, const retile_job& job, unsigned tiles,
            CUstream_st* stream) {
  if constexpr (!Powers && From::bytes == 1 && To::bytes == 1) {
    if (is_of_strips(job)) {
      launch_strips<From, To>(asked, job, tiles, stream);
      return;
    }
  }
  if (is_of_vec8s(job.codes, {})) {
    launch_after(stream, retile_tile<From, To, Powers, true>, tiles,
                 tile_threads, job);
  } else {
    launch_after(stream, retile_tile<From, To, Powers, false>, tiles,
                 tile_threads, job);
  }
}

template <class From, class To>
void launch_by(const request& asked, const retile_job& job, unsigned tiles,
               CUstream_st* stream) {
  (job.r.scale == scale_kind::float32
       ? launch<From, To, false>
       : launch<From, To, true>)(asked, job, tiles, stream);
}

template <class From>
void launch_to(const request& asked, const retile_job& job, unsigned tiles,
               CUstream_st* stream) {
  (job.r.to == e4m3 ? launch_by<From, e4m3_elements>
   : job.r.to == e5m2
       ? launch_by<From, e5m2_elements>
       : launch_by<From, e5m6_elements>)(asked, job, tiles, stream);
}

void check(const request& r, const retiling& how, const const_matrix& codes,
           const const_scales& scales, const quantized& out) {
  r.need(how.tile == tile_edge, "tiles must be of 128");
  r.need(how.scale <= scale_kind::pow2_nearest, "no such kind of scale");
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
  const request asked("cuda::retile");
  check(asked, r, codes, scales, out);
  const std::ptrdiff_t m = codes.rows, n = codes.cols;
  if (m == 0 || n == 0) return;
  retile_job job{};
  job.r = r;
  job.plan = plan_of({fp32, r.to, zeroulp_convention, r.scale, {1, tile_edge}});
  job.max_ratio =
      to_float({1,
                integer_log2(decode(r.from, r.from.max_code()),
                             decode(r.to, r.to.max_code()), scale_kind::pow2),
                kind::finite, false});
  job.codes = rows_of(codes, storage_bytes(r.from));
  job.scales = {scales};
  job.to = rows_of(out.codes, storage_bytes(r.to));
  job.to_scales = {out.scales, n, ceil_div(m, tile_edge)};
  const unsigned tiles = asked.blocks(tiles_of(m, n));
  asked.need_gpu();
  (r.from == e4m3   ? launch_to<e4m3_elements>
   : r.from == e5m2 ? launch_to<e5m2_elements>
                    : launch_to<e5m6_elements>)(asked, job, tiles, stream);
  asked.launched();
}

}  // namespace zeroulp::cuda
