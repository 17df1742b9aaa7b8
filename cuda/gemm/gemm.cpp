// The host side of cuda::gemm: checks a request, makes tensor maps and strides,
// and launches the kernel that is likely to be fastest. All kernels give the
// same bits.

#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <string>

#include "cuda/common/alignment.hpp"
#include "cuda/common/argument_checks.hpp"
#include "cuda/common/pdl_launch.cuh"
#include "cuda/common/tensor_map.hpp"
#include "cuda/gemm/heuristics.hpp"
#include "cuda/gemm/instances.hpp"

namespace zeroulp::cuda {
namespace {

gemm_sizes sizes_of(const argument_checks& r, const gemm_partition& g,
                    const operand& a, const operand& b) {
  r.need(g.kind <= gemm_groups::k_contiguous,
         "there is no such kind of groups");
  const bool several = g.kind != gemm_groups::none;
  r.need(several || g.count == 1, "one matrix is one group");
  r.need(g.count >= 1 && g.count <= 65535, "groups must be 1 to 65535");
  r.need(!several || g.table != nullptr, "the table of groups has no data");
  r.need(reinterpret_cast<std::uintptr_t>(g.table) % 4 == 0,
         "the table of groups is not aligned to 4 bytes");
  r.need(a.cols == b.cols, "A and B must have the same K");
  gemm_sizes s{a.rows, b.rows, a.cols, 1, 1, 1};
  const auto cut = [&](std::ptrdiff_t& rows, std::ptrdiff_t& matrices,
                       const char* what) {
    r.need(rows % g.count == 0, what);
    rows /= g.count, matrices = g.count;
  };
  if (g.kind == gemm_groups::m_masked) {
    cut(s.m, s.a_matrices, "A must have the same rows for each group");
    s.d_matrices = g.count;
  }
  if (g.kind == gemm_groups::m_contiguous || g.kind == gemm_groups::m_masked) {
    cut(s.n, s.b_matrices, "B must have the same rows for each group");
  }
  if (g.kind == gemm_groups::k_contiguous) s.d_matrices = g.count;
  constexpr std::ptrdiff_t most = std::numeric_limits<std::int32_t>::max() / 2;
  r.need(a.rows <= most && b.rows <= most && s.k <= most,
         "the matrices are too large for one call: cut them");
  return s;
}

void check_operand(const argument_checks& r, const operand& x,
                   const char* what) {
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
gemm_scales scales_of(const argument_checks& r, const operand& x, granularity g,
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
bool map_scales(const argument_checks& r, const gemm_scales& s,
                std::ptrdiff_t rows, std::ptrdiff_t groups, int box,
                CUtensorMap& map) {
  const bool is_step = s.k_stride > 0 && s.k_stride < most_map_bytes / 4;
  if (groups == 0 || s.stride != 1 || !is_step ||
      !starts_on(16, s.data, s.k_stride * 4)) {
    return false;
  }
  map = make_tensor_map(
      r, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, s.data, 1, groups, rows,
          s.k_stride, 1, box, CU_TENSOR_MAP_SWIZZLE_NONE});
  return true;
}

enum class scaling { blocks, columns, matrix };

scaling scaling_of(const argument_checks& q, const recipe& r) {
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
  q.need(r.update != promotion::other_then_one,
         "promotion::other_then_one is the emulator's alone");
  q.need(r.interval == 128 && r.a == tile_1x128 &&
             (r.b == tile_1x128 || r.b == block_128x128),
         "scales are promoted every 128 elements of K, for each 1x128 of A and "
         "each 1x128 or 128x128 of B");
  return r.b == block_128x128 ? scaling::blocks : scaling::columns;
}

/// Maps A and B, and says how many rows of A a box has.
void map_operands(const argument_checks& q, const gemm_partition& groups,
                  const gemm_sizes& s, const gemm_instance& x, const operand& a,
                  const operand& b, gemm_params& params) {
  params.b = static_cast<const char*>(b.codes), params.b_stride = b.stride;
  params.b_once = groups.kind == gemm_groups::none && s.m <= 64;
  // Do not load rows of a tile that no matrix has.
  const int a_rows =
      static_cast<int>(std::min<std::ptrdiff_t>(ceil_div(s.m, 8) * 8, x.m));
  params.a_box_bytes = static_cast<unsigned>(a_rows) * 128;
  if (s.k == 0) return;
  // LESSONS.md, lesson 14.
  const auto l2 = params.b_once ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B
                                : CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  const auto map_codes = [&](const operand& of, std::ptrdiff_t matrices,
                             std::ptrdiff_t rows, int box_rows) {
    return make_tensor_map(
        q, {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, of.codes, matrices, rows, s.k,
            of.stride, box_rows, 128, CU_TENSOR_MAP_SWIZZLE_128B, l2});
  };
  params.a_map = map_codes(a, s.a_matrices, s.m, a_rows);
  params.b_map = map_codes(b, s.b_matrices, s.n, x.n);
}

/// Maps the scales that TMA can load.
void map_all_scales(const argument_checks& q, scaling kind, const gemm_sizes& s,
                    const gemm_instance& x, gemm_params& params) {
  if (kind == scaling::matrix) return;
  const std::ptrdiff_t k_groups = ceil_div(s.k, 128);
  params.a_scales_by_tma = map_scales(q, params.a_scales, s.a_matrices * s.m,
                                      k_groups, x.m, params.a_scale_map);
  params.b_scales_by_tma = kind == scaling::columns &&
                           map_scales(q, params.b_scales, s.b_matrices * s.n,
                                      k_groups, x.n, params.b_scale_map);
}

/// True if TMA can store D. It stores whole pieces of 16 bytes, beyond column N
/// if need be.
bool can_map_d(const matrix& d, const gemm_sizes& s, int d_bytes) {
  return s.n * d_bytes % 16 == 0 && starts_on(16, d.data, d.stride * d_bytes) &&
         s.m * d.stride < most_map_bytes / d_bytes;
}

/// Maps D, if TMA can store it and the kernel has smem_d for it.
void map_d(const argument_checks& q, const matrix& d, const gemm_sizes& s,
           const gemm_instance& x, bool is_fp32, gemm_params& params) {
  const int bytes = is_fp32 ? 4 : 2;
  params.is_fp32 = is_fp32;
  params.d = d.data;
  params.d_stride = d.stride, params.d_matrix_stride = s.m * d.stride;
  params.d_is_vectorized =
      starts_on(is_fp32 ? 16 : 4, d.data, d.stride * bytes);
  params.stores_by_tma =
      can_map_d(d, s, bytes) && (is_fp32 ? x.has_store_thread : x.n % 64 == 0);
  if (!params.stores_by_tma) return;
  const auto map_rows = [&](int box_rows) {
    return make_tensor_map(q, {is_fp32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                               bytes, d.data, s.d_matrices, s.m, s.n, d.stride,
                               box_rows, 128 / bytes});
  };
  params.d_map = map_rows(16);
  if (x.has_store_thread) params.d_tall_map = map_rows(64);
}

/// Maps C, if TMA can load it.
void map_c(const argument_checks& q, const const_matrix& c, const gemm_sizes& s,
           const gemm_instance& x, gemm_params& params) {
  params.c = static_cast<const float*>(c.data);
  params.c_stride = c.stride, params.c_matrix_stride = s.m * c.stride;
  params.loads_c_by_tma = starts_on(16, c.data, c.stride * 4);
  if (!params.loads_c_by_tma) return;
  params.c_map =
      make_tensor_map(q, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, c.data,
                          s.d_matrices, s.m, s.n, c.stride, x.m, 32});
}

void launch(const argument_checks& q, const gemm_partition& groups,
            const gemm_sizes& s, const gemm_instance& x, int processors,
            const gemm_params& params, CUstream_st* stream) {
  q.require(cudaFuncSetAttribute(reinterpret_cast<const void*>(x.kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 x.shared_bytes));
  // With tables only the device knows how many tiles there are.
  const std::ptrdiff_t tiles = groups.kind == gemm_groups::none
                                   ? ceil_div(s.m, x.m) * ceil_div(s.n, x.n)
                                   : processors;
  const auto blocks =
      static_cast<unsigned>(std::min<std::ptrdiff_t>(tiles, processors));
  pdl_launch(stream, x.kernel, blocks, x.threads, params, x.shared_bytes);
  q.launched();
}

}  // namespace

void gemm(const recipe& r, const gemm_partition& groups, const operand& a,
          const operand& b, const const_matrix& c, const matrix& d,
          CUstream_st* stream) {
  const argument_checks q("cuda::gemm");
  const scaling kind = scaling_of(q, r);
  check_operand(q, a, "A");
  check_operand(q, b, "B");
  const gemm_sizes s = sizes_of(q, groups, a, b);
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
  gemm_params params{};
  params.a_scales = scales_of(q, a, r.a, s.a_matrices, s.m, "A");
  params.b_scales = scales_of(q, b, r.b, s.b_matrices, s.n, "B");
  if (d_rows == 0 || s.n == 0) return;
  q.need_gpu();

  const auto processors = static_cast<int>(q.multiprocessors());
  const gemm_kind wanted{r.update, a.element == e5m2, b.element == e5m2,
                         groups.kind != gemm_groups::none};
  const gemm_instances all = kind == scaling::blocks ? gemm_1d2d(wanted)
                             : kind == scaling::columns
                                 ? gemm_1d1d(wanted)
                                 : gemm_tensorwise(wanted);
  const bool can_overlap = can_map_d(d, s, d_bytes) && !is_fp32 && !adds &&
                           groups.kind != gemm_groups::k_contiguous &&
                           s.k > 128;
  const gemm_instance& x =
      choose_instance(all, groups, s, can_overlap, processors);

  map_operands(q, groups, s, x, a, b, params);
  map_all_scales(q, kind, s, x, params);
  map_d(q, d, s, x, is_fp32, params);
  if (adds) map_c(q, c, s, x, params);
  params.table = groups.table, params.groups = groups.kind;
  params.m = static_cast<int>(s.m), params.n = static_cast<int>(s.n);
  params.k = static_cast<int>(s.k);
  params.count = static_cast<int>(groups.count);
  params.interval = r.interval;
  launch(q, groups, s, x, processors, params, stream);
}

}  // namespace zeroulp::cuda
