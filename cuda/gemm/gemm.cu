// The host side of cuda::gemm: checks a request, makes tensor maps and strides,
// and launches the kernel that is likely to be fastest. All kernels give the
// same bits.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/tensor_map.hpp"
#include "cuda/common/vec8.cuh"
#include "cuda/gemm/instances.hpp"

namespace zeroulp::cuda {
namespace {

/// The sizes of a request.
struct sizes {
  std::ptrdiff_t m, n, k;  ///< of one matrix; m: of all, with groups of rows
  std::ptrdiff_t a_matrices, b_matrices, d_matrices;
};

sizes sizes_of(const request& r, const gemm_partition& g, const operand& a,
               const operand& b) {
  r.need(g.kind <= gemm_groups::k_ranges, "there is no such kind of groups");
  const bool several = g.kind != gemm_groups::none;
  r.need(several || g.count == 1, "one matrix is one group");
  r.need(g.count >= 1 && g.count <= 65535, "groups must be 1 to 65535");
  r.need(!several || g.table != nullptr, "the table of groups has no data");
  r.need(reinterpret_cast<std::uintptr_t>(g.table) % 4 == 0,
         "the table of groups is not aligned to 4 bytes");
  r.need(a.cols == b.cols, "A and B must have the same K");
  sizes s{a.rows, b.rows, a.cols, 1, 1, 1};
  const auto cut = [&](std::ptrdiff_t& rows, std::ptrdiff_t& matrices,
                       const char* what) {
    r.need(rows % g.count == 0, what);
    rows /= g.count, matrices = g.count;
  };
  if (g.kind == gemm_groups::first_rows) {
    cut(s.m, s.a_matrices, "A must have the same rows for each group");
    s.d_matrices = g.count;
  }
  if (g.kind == gemm_groups::rows || g.kind == gemm_groups::first_rows) {
    cut(s.n, s.b_matrices, "B must have the same rows for each group");
  }
  if (g.kind == gemm_groups::k_ranges) s.d_matrices = g.count;
  constexpr std::ptrdiff_t most = std::numeric_limits<std::int32_t>::max() / 2;
  r.need(a.rows <= most && b.rows <= most && s.k <= most,
         "the matrices are too large for one call: cut them");
  return s;
}

void check_operand(const request& r, const operand& x, const char* what) {
  const std::string name = what;
  if (x.element != e4m3 && x.element != e5m2) {
    r.refuse(name + " must be of e4m3 or e5m2");
  }
  r.need_matrix({x.codes, x.rows, x.cols, x.stride}, 1, what);
  if (x.rows == 0 || x.cols == 0) return;
  if (!starts_on(16, x.codes, x.stride)) {
    r.refuse(name + " must have rows that start on multiples of 16 bytes");
  }
}

/// The scales of `matrices` matrices of `rows` rows each.
gemm_scales scales_of(const request& r, const operand& x, granularity g,
                      std::ptrdiff_t matrices, std::ptrdiff_t rows,
                      const char* what) {
  const std::string name = std::string("the scales of ") + what;
  const auto& s = x.scales;
  if (s.data == nullptr) {
    if (g.k != 0 && x.rows > 0 && x.cols > 0) r.refuse(name + " have no data");
    return {};
  }
  const auto groups = [](std::ptrdiff_t length, std::ptrdiff_t by) {
    return by == 0 ? 1 : ceil_div(length, by);
  };
  const std::ptrdiff_t each = groups(rows, g.mn);
  r.need_shape({s.data, s.rows, s.cols}, matrices * each, groups(x.cols, g.k),
               name.c_str());
  r.need_words(s, name.c_str());
  return {reinterpret_cast<const float*>(s.data), s.row_stride, s.col_stride,
          each * s.row_stride};
}

/// Makes a tensor map of scales. Returns false if TMA cannot load them: scales
/// of neighbouring rows must be contiguous.
bool map_scales(const request& r, const gemm_scales& s, std::ptrdiff_t rows,
                std::ptrdiff_t groups, int box, CUtensorMap& map) {
  const bool is_step = s.k_stride > 0 && s.k_stride < most_map_bytes / 4;
  if (groups == 0 || s.stride != 1 || !is_step ||
      !starts_on(16, s.data, s.k_stride * 4)) {
    return false;
  }
  map = make_map(r, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, s.data, 1, groups,
                     rows, s.k_stride, 1, box, CU_TENSOR_MAP_SWIZZLE_NONE});
  return true;
}

enum class scaling { blocks, columns, matrix };

scaling scaling_of(const request& q, const recipe& r) {
  q.need(is_valid(r), "the recipe is not valid: see is_valid()");
  q.need(r.acc == hopper_fp8_f32,
         "the accumulator must be Hopper's for FP8: hopper_fp8_f32");
  q.need(r.splits == 1, "K is not split");
  q.need(r.output == fp32 || r.output == bf16, "D must be of fp32 or bf16");
  if (r.update == promotion::add) {
    const bool is_power = (r.interval & (r.interval - 1)) == 0;
    q.need(r.a == per_tensor && r.b == per_tensor && is_power,
           "promotion::add takes a scale for the whole of A and of B, and an "
           "interval that is a power of two from 32, or none");
    return scaling::matrix;
  }
  q.need(r.interval == 128 && r.a == tile_1x128 &&
             (r.b == tile_1x128 || r.b == block_128x128),
         "scales are promoted every 128 elements of K, for each 1x128 of A and "
         "each 1x128 or 128x128 of B");
  return r.b == block_128x128 ? scaling::blocks : scaling::columns;
}

/// Returns the instance of the least cost: waves of tiles times the clocks of a
/// tile. `flows`: an instance with Shape::flows can serve the request (see
/// gemm_instance).
const gemm_instance& choose(const gemm_instances& all, const gemm_partition& g,
                            const sizes& s, bool flows, int processors) {
  const auto cost = [&](const gemm_instance& x) {
    if (x.flows && !flows) return std::numeric_limits<double>::infinity();
    const bool by_rows = g.kind == gemm_groups::rows;
    // With groups of rows, half a tile of each group is lost. Tall tiles lose
    // less: consumer warps without rows leave the tensor core to the others.
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
                     (g.kind == gemm_groups::k_ranges ? copies : 1);
    return waves * (k * x.clocks + x.clocks_once) + x.clocks_last;
  };
  return *std::min_element(all.first, all.first + all.count,
                           [&](const gemm_instance& x, const gemm_instance& y) {
                             return cost(x) < cost(y);
                           });
}

}  // namespace

void gemm(const recipe& r, const gemm_partition& groups, const operand& a,
          const operand& b, const const_matrix& c, const matrix& d,
          CUstream_st* stream) {
  const request q("cuda::gemm");
  const scaling kind = scaling_of(q, r);
  check_operand(q, a, "A");
  check_operand(q, b, "B");
  const sizes s = sizes_of(q, groups, a, b);
  q.need(groups.kind == gemm_groups::none ||
             r.update == promotion::product_of_scales,
         "groups are for promotion::product_of_scales");
  const bool is_fp32 = r.output == fp32;
  const int d_bytes = is_fp32 ? 4 : 2;
  const std::ptrdiff_t d_rows = s.d_matrices * s.m;
  q.need_matrix(d, d_bytes, "D");
  q.need_shape(d, d_rows, s.n, "D");
  const bool adds = r.end == epilogue::accumulate;
  if (adds) {
    q.need_matrix(c, 4, "C");
    q.need_shape(c, d_rows, s.n, "C");
  }
  gemm_job job{};
  job.a_scales = scales_of(q, a, r.a, s.a_matrices, s.m, "A");
  job.b_scales = scales_of(q, b, r.b, s.b_matrices, s.n, "B");
  if (d_rows == 0 || s.n == 0) return;
  q.need_gpu();

  const auto processors = static_cast<int>(q.multiprocessors());
  const gemm_kind wanted{r.update, a.element == e5m2, b.element == e5m2,
                         groups.kind != gemm_groups::none};
  const gemm_instances all = kind == scaling::blocks ? gemm_by_blocks(wanted)
                             : kind == scaling::columns
                                 ? gemm_by_columns(wanted)
                                 : gemm_by_matrix(wanted);
  // TMA stores whole pieces of 16 bytes, beyond column N if need be.
  const bool has_boxes = s.n * d_bytes % 16 == 0 &&
                         starts_on(16, d.data, d.stride * d_bytes) &&
                         s.m * d.stride < most_map_bytes / d_bytes;
  const gemm_instance& x =
      choose(all, groups, s,
             has_boxes && !is_fp32 && !adds &&
                 groups.kind != gemm_groups::k_ranges && s.k > 128,
             processors);

  job.b = static_cast<const char*>(b.codes), job.b_stride = b.stride;
  job.b_once = groups.kind == gemm_groups::none && s.m <= 64;
  // Do not load rows of a tile that no matrix has.
  const int a_rows =
      static_cast<int>(std::min<std::ptrdiff_t>(ceil_div(s.m, 8) * 8, x.m));
  job.a_box_bytes = static_cast<unsigned>(a_rows) * 128;
  if (s.k > 0) {
    // LESSONS.md, lesson 14.
    const auto l2 = job.b_once ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                               : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    const auto map_codes = [&](const operand& of, std::ptrdiff_t matrices,
                               std::ptrdiff_t rows, int box_rows) {
      return make_map(
          q, {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, of.codes, matrices, rows, s.k,
              of.stride, box_rows, 128, CU_TENSOR_MAP_SWIZZLE_128B, l2});
    };
    job.a_map = map_codes(a, s.a_matrices, s.m, a_rows);
    job.b_map = map_codes(b, s.b_matrices, s.n, x.n);
  }
  if (kind != scaling::matrix) {
    const std::ptrdiff_t k_groups = ceil_div(s.k, 128);
    job.a_scale_boxes = map_scales(q, job.a_scales, s.a_matrices * s.m,
                                   k_groups, x.m, job.a_scale_map);
    job.b_scale_boxes = kind == scaling::columns &&
                        map_scales(q, job.b_scales, s.b_matrices * s.n,
                                   k_groups, x.n, job.b_scale_map);
  }
  job.by_boxes = has_boxes && (is_fp32 ? x.sends : x.n % 64 == 0);
  if (job.by_boxes) {
    const auto map_d = [&](int box_rows) {
      return make_map(q, {is_fp32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                  : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                          d_bytes, d.data, s.d_matrices, s.m, s.n, d.stride,
                          box_rows, 128 / d_bytes});
    };
    job.d_map = map_d(16);
    if (x.sends) job.d_tall_map = map_d(64);
  }
  job.d_words = starts_on(is_fp32 ? 16 : 4, d.data, d.stride * d_bytes);
  job.d = d.data;
  job.d_stride = d.stride, job.d_matrix_stride = s.m * d.stride;
  if (adds) {
    job.c = static_cast<const float*>(c.data);
    job.c_stride = c.stride, job.c_matrix_stride = s.m * c.stride;
    job.c_by_boxes = starts_on(16, c.data, c.stride * 4);
    if (job.c_by_boxes) {
      job.c_map = make_map(q, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, c.data,
                               s.d_matrices, s.m, s.n, c.stride, x.m, 32});
    }
  }
  job.is_fp32 = is_fp32;
  job.table = groups.table, job.groups = groups.kind;
  job.m = static_cast<int>(s.m), job.n = static_cast<int>(s.n);
  job.k = static_cast<int>(s.k), job.count = static_cast<int>(groups.count);
  job.interval = r.interval;

  q.require(cudaFuncSetAttribute(
      x.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, x.shared_bytes));
  // With tables only the device knows how many tiles there are.
  const std::ptrdiff_t tiles = groups.kind == gemm_groups::none
                                   ? ceil_div(s.m, x.m) * ceil_div(s.n, x.n)
                                   : processors;
  const auto blocks =
      static_cast<unsigned>(std::min<std::ptrdiff_t>(tiles, processors));
  launch_after(stream, x.kernel, blocks, x.threads, job, x.shared_bytes);
  q.launched();
}

}  // namespace zeroulp::cuda
