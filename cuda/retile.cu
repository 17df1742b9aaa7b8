#include <cuda_runtime.h>

#include "cuda/launch.cuh"
#include "cuda/request.hpp"
#include "cuda/retile.cuh"

namespace zeroulp::cuda {
namespace {

template <class From, class To, bool Powers>
void launch(const retile_job& job, unsigned blocks, CUstream_st* stream) {
  if (is_of_octets(job.codes, {})) {
    launch_after(stream, retile_tile<From, To, Powers, true>, blocks,
                 tile_threads, job);
  } else {
    launch_after(stream, retile_tile<From, To, Powers, false>, blocks,
                 tile_threads, job);
  }
}

template <class From, class To>
void launch_by(const retile_job& job, unsigned blocks, CUstream_st* stream) {
  (job.r.scale == scale_kind::float32
       ? launch<From, To, false>
       : launch<From, To, true>)(job, blocks, stream);
}

template <class From>
void launch_to(const retile_job& job, unsigned blocks, CUstream_st* stream) {
  (job.r.to == e4m3   ? launch_by<From, e4m3_elements>
   : job.r.to == e5m2 ? launch_by<From, e5m2_elements>
                      : launch_by<From, e5m6_elements>)(job, blocks, stream);
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
  r.need_matrix(codes, bytes_of(how.from), "codes");
  r.need_scales(scales, m, ceil_div(n, tile_edge), "codes");
  r.need_matrix(out.codes, bytes_of(how.to), "out");
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
  job.codes = rows_of(codes, bytes_of(r.from));
  job.scales = {scales};
  job.to = rows_of(out.codes, bytes_of(r.to));
  job.to_scales = {out.scales, n, ceil_div(m, tile_edge)};
  const unsigned blocks = asked.blocks(tiles_of(m, n));
  asked.need_gpu();
  (r.from == e4m3   ? launch_to<e4m3_elements>
   : r.from == e5m2 ? launch_to<e5m2_elements>
                    : launch_to<e5m6_elements>)(job, blocks, stream);
  asked.launched();
}

}  // namespace zeroulp::cuda
