// The host side of cuda::gemm_bf16: checks a request, chooses a tile and
// launches the kernel for it.

#include <algorithm>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/tensor_map.hpp"
#include "cuda/model/gemm_bf16.cuh"

namespace zeroulp::cuda {
namespace {

using half_view = matrix_view<const std::uint16_t>;

bool is_along_k(const half_view& x) { return x.col_stride == 1; }

void need_operand(const argument_checks& r, const half_view& x,
                  const batch_strides& batch, const char* what) {
  const std::ptrdiff_t far = is_along_k(x) ? x.row_stride : x.col_stride;
  const std::ptrdiff_t near = is_along_k(x) ? x.col_stride : x.row_stride;
  r.need(x.rows >= 0 && x.cols >= 0, "a number of rows or columns is negative");
  const auto is_stride = [](std::ptrdiff_t s) {
    return s >= 0 && s % 8 == 0 && s < most_map_bytes / 2;
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0 &&
                       is_stride(far) && is_stride(batch.outer) &&
                       is_stride(batch.inner);
  if (near != 1 || !aligned) {
    r.refuse(std::string(what) +
             " needs one stride of 1, rows (or columns) on multiples of 16 "
             "bytes");
  }
}

/// Boxes of `rows` rows of 64 elements of K, or of 64 by 64.
CUtensorMap map_of(const argument_checks& r, const bf16_gemm& g,
                   const half_view& x, const batch_strides& batch, int rows) {
  if (x.cols == 0) return {};  // nobody loads
  const bool along = is_along_k(x);
  const auto inner = batch.inner == 0 ? 1 : g.inner;
  const auto outer = batch.outer == 0 ? 1 : g.outer;
  return make_bf16_map(
      r, x.data,
      {{along ? x.cols : x.rows, 1, 64},
       {along ? x.rows : x.cols, along ? x.row_stride : x.col_stride,
        along ? rows : bf16_chunk},
       {inner, batch.inner},
       {outer, batch.outer}});
}

/// True if eight neighbours of a row of D lie on a multiple of their size.
bool is_in_eights(const bf16_gemm& g) {
  return reinterpret_cast<std::uintptr_t>(g.d.data) % 16 == 0 &&
         g.d.cols % 8 == 0 && g.d.stride % 8 == 0 && g.d_batch.inner % 8 == 0 &&
         g.d_batch.outer % 8 == 0;
}

/// True if TMA can store D.
bool goes_in_boxes(const bf16_gemm& g) {
  const auto is_stride = [](std::ptrdiff_t count, std::ptrdiff_t s) {
    return count <= 1 || (s > 0 && s < most_map_bytes / 2);
  };
  return g.output == bf16 && is_in_eights(g) &&
         is_stride(g.d.rows, g.d.stride) &&
         is_stride(g.inner, g.d_batch.inner) &&
         is_stride(g.outer, g.d_batch.outer);
}

template <class Shape>
void launch(const argument_checks& r, const bf16_gemm& g, bf16_params params,
            CUstream_st* stream) {
  params.a_map = map_of(r, g, g.a, g.a_batch, Shape::m);
  params.b_map = map_of(r, g, g.b, g.b_batch, Shape::n);
  if (params.boxed) {
    params.d_map = make_bf16_map(r, g.d.data,
                                 {{g.d.cols, 1, 64},
                                  {g.d.rows, g.d.stride, 16},
                                  {g.inner, g.d_batch.inner},
                                  {g.outer, g.d_batch.outer}});
  }
  const std::ptrdiff_t tiles_m = ceil_div(g.d.rows, Shape::m);
  const std::ptrdiff_t tiles_n = ceil_div(g.d.cols, Shape::n);
  params.tiles_m = static_cast<int>(tiles_m);
  params.tiles_n = static_cast<int>(tiles_n);
  const unsigned tiles = r.blocks(tiles_m * tiles_n * g.inner * g.outer);
  r.require(cudaFuncSetAttribute(multiply_bf16<Shape>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 Shape::shared_bytes));
  multiply_bf16<Shape><<<std::min(tiles, r.multiprocessors()), bf16_threads,
                         Shape::shared_bytes, stream>>>(params);
  r.launched();
}

/// A tile of 128 waves x n, and what its outputs cost beside the widest tile's.
struct tile_choice {
  int waves, n;
  double cost;
};
constexpr tile_choice tiles[] = {
    {1, 256, 1.0}, {2, 128, 1.0}, {1, 192, 1.05}, {1, 128, 1.15}};

/// The tile whose rounds over the multiprocessors take least.
tile_choice best_tile(const argument_checks& r, const bf16_gemm& g) {
  const bool is_causal =
      g.span == gemm_span::to_diagonal || g.span == gemm_span::from_diagonal;
  const auto processors = static_cast<std::ptrdiff_t>(r.multiprocessors());
  tile_choice best{};
  double least = 0;
  for (const tile_choice& t : tiles) {
    if (is_causal && t.waves > 1) continue;
    const std::ptrdiff_t m = 128 * t.waves;
    const std::ptrdiff_t count = ceil_div(g.d.rows, m) *
                                 ceil_div(g.d.cols, std::ptrdiff_t{t.n}) *
                                 g.inner * g.outer;
    const double cost =
        static_cast<double>(ceil_div(count, processors) * m * t.n) * t.cost;
    if (best.n == 0 || cost < least) best = t, least = cost;
  }
  return best;
}

template <operand_major A, operand_major B>
void launch(const argument_checks& r, const bf16_gemm& g,
            const bf16_params& params, CUstream_st* stream) {
  if (g.row_sums != nullptr) {
    return launch<bf16_shape<1, 128, A, B, false, true>>(r, g, params, stream);
  }
  if (g.splits > 1) {
    return launch<bf16_shape<1, 128, A, B, true, false>>(r, g, params, stream);
  }
  const tile_choice t = best_tile(r, g);
  const auto run = [&]<int Waves, int N>() {
    launch<bf16_shape<Waves, N, A, B, false, false>>(r, g, params, stream);
  };
  if (t.waves == 2) {
    run.template operator()<2, 128>();
  } else if (t.n == 256) {
    run.template operator()<1, 256>();
  } else if (t.n == 192) {
    run.template operator()<1, 192>();
  } else {
    run.template operator()<1, 128>();
  }
}

}  // namespace

void gemm_bf16(const bf16_gemm& g, CUstream_st* stream) {
  const argument_checks r("cuda::gemm_bf16");
  r.need(g.output == fp32 || g.output == bf16, "D is of fp32 or bf16");
  r.need(g.a.cols == g.b.cols, "A and B differ in K");
  r.need(g.splits == 1 || (g.splits > 1 && g.span == gemm_span::all),
         "splits are above 0, and 1 unless the span is all of K");
  r.need(g.outer >= 0 && g.inner >= 0 && g.outer < 65536 && g.inner < 65536,
         "a batch is of 0 to 65535 x 65535 matrices");
  r.need(g.row_sums == nullptr || g.span == gemm_span::to_diagonal,
         "row sums are those of the span to_diagonal");
  need_operand(r, g.a, g.a_batch, "A");
  need_operand(r, g.b, g.b_batch, "B");
  r.need_matrix(g.d, g.output == bf16 ? 2 : 4, "D");
  r.need_shape(g.d, g.a.rows, g.b.rows, "D");
  constexpr std::ptrdiff_t most = (std::ptrdiff_t{1} << 31) - 512;
  r.need(g.a.rows < most && g.b.rows < most && g.a.cols < most,
         "M, N and K are below 2^31 - 512");
  if (g.d.rows == 0 || g.d.cols == 0 || g.outer == 0 || g.inner == 0) return;
  bf16_params params{};
  params.m = static_cast<int>(g.d.rows);
  params.n = static_cast<int>(g.d.cols);
  params.k = static_cast<int>(g.a.cols);
  const std::ptrdiff_t chunks = ceil_div(g.a.cols, bf16_chunk);
  params.k_of_split = static_cast<int>(
      ceil_div(chunks > 0 ? chunks : 1, g.splits) * bf16_chunk);
  params.inner = static_cast<int>(g.inner);
  params.outer = static_cast<int>(g.outer);
  params.a_inner = g.a_batch.inner != 0;
  params.a_outer = g.a_batch.outer != 0;
  params.b_inner = g.b_batch.inner != 0;
  params.b_outer = g.b_batch.outer != 0;
  params.span = g.span;
  params.narrow = g.output == bf16;
  params.wide_stores = g.output == fp32 && is_in_eights(g);
  params.boxed = goes_in_boxes(g);
  params.factor = bit_cast<float>(g.factor);
  params.d = g.d.data;
  params.d_stride = g.d.stride;
  params.d_batch = g.d_batch;
  params.row_sums = g.row_sums;
  params.row_sums_batch = g.row_sums_batch;
  r.need_gpu();
  constexpr auto k = operand_major::k, mn = operand_major::mn;
  const bool a = is_along_k(g.a), b = is_along_k(g.b);
  (a   ? b ? launch<k, k> : launch<k, mn>
     : b ? launch<mn, k>
       : launch<mn, mn>)(r, g, params, stream);
}

}  // namespace zeroulp::cuda
