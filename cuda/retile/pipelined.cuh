// Defines the persistent re-tiling kernel of one-byte codes under FP32 scales,
// in rows that start on 16 bytes. It runs one block on each multiprocessor.
//
// Four load warps copy tiles of 128 x 128 codes, and the scales of their rows,
// into the stages of a pipeline. Sixteen math warps take strips of 16 columns
// in order and re-tile them. No barrier joins the math warps.
//
//   codes of a strip -> values v = code * s, kept in registers; amax of the
//   columns -> a lane a column: its scale t and factors of 1 / t -> codes of v
//   / t, transposed, in place of the strip's codes -> stores
//
// Values, factors and the cases for the core are as in retile.cuh. A lane whose
// column is special computes it by the core. Columns that the factors leave
// undecided are divided last, from the registers: rereading them would hold up
// the warp and its stage.
//
// Source: SPEC clauses W1 to W5, W7, Q11.

#ifndef ZEROULP_CUDA_RETILE_PIPELINED_CUH_
#define ZEROULP_CUDA_RETILE_PIPELINED_CUH_

#include "cuda/common/pipeline.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/retile/core_fallback.cuh"

namespace zeroulp::cuda {

inline constexpr unsigned strip_width = 16;
inline constexpr unsigned strips = tile_edge / strip_width;  ///< in a tile
inline constexpr unsigned math_warps = 16;  ///< that re-tile strips
/// Load warps for codes, half of each tile each; as many again for scales,
/// every other tile each.
inline constexpr unsigned load_warps = 2;
inline constexpr int pipelined_threads = 32 * (math_warps + 2 * load_warps);
inline constexpr unsigned pipelined_stages = 6;  ///< of the pipeline
/// Stages that are loaded at first; the others follow once tile 0 has arrived.
/// If all blocks asked for more at once, the first tile would arrive later.
inline constexpr unsigned first_stages = 4;
/// Tiles of a block that are prefetched into the L2. Four were no faster.
inline constexpr unsigned prefetched_tiles = 2;
// A stage that is not full holds up every load_warps-th tile after it, and
// eight math warps at each. So no warp can run ahead to the stage's next
// phase of the same parity.
static_assert(load_warps == 2 && pipelined_stages % load_warps == 0 &&
              math_warps <= strips * (pipelined_stages / load_warps));

/// A retile_params with fewer than 2^31 - 256 rows and columns, strides below
/// that, and columns that fill whole strips.
struct pipelined_params {
  retile_params any;
  unsigned rows, cols;
  unsigned stride, to_stride;
  unsigned tiles;  ///< tiles of the matrix
};

namespace detail {

/// A lane's part of its strip: rows 8 r to 8 r + 7, columns 8 h to 8 h + 7. A
/// reduction over the rows leaves it with one column, which two lanes share.
struct strip_lane {
  unsigned r = threadIdx.x % 32 / 2;
  unsigned h = threadIdx.x % 2;

  __device__ unsigned column() const { return 8 * h + r / 2; }
  __device__ bool is_first() const { return r % 2 == 0; }
};

/// A tile in shared memory. A strip has 16 times eight places of 16 bytes, 128
/// bytes apart; their banks change from eight to eight.
struct strip_tile {
  uint4 places[tile_edge][strips];

  /// The address at offset `bytes` of strip 0; in another strip, bits 4 to 6
  /// differ.
  template <class T>
  __device__ T* at(unsigned bytes, unsigned strip) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(places) +
                                (bytes ^ strip_width * strip));
  }
  __device__ static unsigned eight(unsigned index) {
    return 1024 * index + 16 * (index % 8);
  }
  /// The offset of a lane's codes; row i is element 16 i.
  __device__ static unsigned codes(strip_lane l) {
    return eight(l.r) + 8 * l.h;
  }
  /// The offset, once transposed, of columns 8 h to 8 h + 7 in rows 16 m to 16
  /// m + 15; column j is element 8 j. Neither writes nor reads conflict in a
  /// bank.
  __device__ static unsigned sixteen(unsigned h, unsigned m) {
    return eight(8 * h + (m ^ 4 * h));
  }
  /// The same for rows 8 r to 8 r + 7; column j is element 16 j.
  __device__ static unsigned vec8s(unsigned h, unsigned r) {
    return sixteen(h, r / 2) + 8 * (r % 2);
  }
};

struct strip_columns {
  alignas(16) column_factors factors[strip_width];
  std::uint32_t scale[strip_width];
};

/// Where a tile begins, and how many strips it has.
struct alignas(16) pipelined_origin {
  unsigned row0, col0;
  unsigned count;
};

struct pipelined_stage {
  strip_tile tile;
  retiled_rows rows;
  pipelined_origin origin;
};

struct pipelined_storage {
  pipelined_stage stages[pipelined_stages];
  strip_columns columns[math_warps];
  ptx::barrier full[pipelined_stages], empty[pipelined_stages];
  unsigned next;  ///< first strip of the block not yet taken; a tile has eight
};

/// A block takes every gridDim.x-th tile.
__device__ inline unsigned tiles_of_block(const pipelined_params& params) {
  return (params.tiles - 1 - blockIdx.x) / gridDim.x + 1;
}

/// The place of the block's tile i.
__device__ inline pipelined_origin origin_of_tile(
    const pipelined_params& params, unsigned i) {
  const auto at = params.any.codes.tiles.divide(i * gridDim.x + blockIdx.x);
  const unsigned col0 = tile_edge * at.rest;
  return {tile_edge * at.quotient, col0,
          min(strips, (params.cols - col0) / strip_width)};
}

using pipelined_state = pipeline_state<pipelined_stages, unsigned>;

/// Prefetches into the L2 a quarter of the block's first tiles and of their
/// scales.
__device__ inline void prefetch_quarter(const pipelined_params& params,
                                        unsigned quarter) {
  const unsigned tiles = min(tiles_of_block(params), prefetched_tiles);
#pragma unroll 1
  for (unsigned i = 0; i < tiles; ++i) {
    const pipelined_origin origin = origin_of_tile(params, i);
    const unsigned first = origin.row0 + tile_edge / 4 * quarter;
    const unsigned row = min(first + threadIdx.x % 32, params.rows - 1);
    ptx::prefetch_l2(params.any.codes.row<1>(0) +
                     std::uint64_t{row} * params.stride + origin.col0);
    params.any.scales.prefetch(row, origin.col0 / tile_edge);
  }
}

/// Copies half of a tile's rows by cp.async; called by a warp. Rows beyond the
/// matrix repeat its last one; columns beyond are left as they are.
__device__ inline void copy_half(const pipelined_params& params,
                                 pipelined_origin origin, unsigned half,
                                 strip_tile& to) {
  const unsigned strip = threadIdx.x % 8;
  if (strip >= origin.count) return;
  const unsigned first = tile_edge / 2 * half + threadIdx.x % 32 / 8;
  const unsigned row0 = origin.row0 + first;
  const char* const codes =
      params.any.codes.row<1>(0) + origin.col0 + strip_width * strip;
  const auto copy = [&](unsigned i, const char* from) {
    ptx::cp_async_16(&to.places[first + 4 * i][(strip ^ i / 2) % 8], from);
  };
  if (origin.row0 + tile_edge <= params.rows) {
    const char* from = codes + std::uint64_t{row0} * params.stride;
    const std::uint64_t step = std::uint64_t{4} * params.stride;
#pragma unroll
    for (unsigned i = 0; i < 16; ++i, from += step) copy(i, from);
  } else {
#pragma unroll 1
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned row = min(row0 + 4 * i, params.rows - 1);
      copy(i, codes + std::uint64_t{row} * params.stride);
    }
  }
}

__device__ inline void run_code_load_warp(const pipelined_params& params,
                                          unsigned half,
                                          pipelined_storage& storage) {
  const unsigned tiles = tiles_of_block(params);
#pragma unroll 1
  for (unsigned i = 0; i < tiles; ++i) {
    const auto at = pipelined_state::after(i);
    const pipelined_origin origin = origin_of_tile(params, i);
    wait_empty(storage.empty, at);
    if (i >= first_stages && i < pipelined_stages) {
      wait_full(storage.full, pipelined_state{});
    }
    copy_half(params, origin, half, storage.stages[at.stage].tile);
    ptx::arrive_after_cp_async(storage.full[at.stage]);
  }
}

/// A scale-load warp; also writes the places of tiles.
__device__ inline void run_scale_load_warp(const pipelined_params& params,
                                           unsigned first,
                                           pipelined_storage& storage) {
  const unsigned tiles = tiles_of_block(params), lane = threadIdx.x % 32;
#pragma unroll 1
  for (unsigned i = first; i < tiles; i += load_warps) {
    const auto at = pipelined_state::after(i);
    const pipelined_origin origin = origin_of_tile(params, i);
    std::uint32_t scales[4];
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) {
      const unsigned row = min(origin.row0 + 32 * q + lane, params.rows - 1);
      scales[q] = params.any.scales.at(row, origin.col0 / tile_edge);
    }
    pipelined_stage& stage = storage.stages[at.stage];
    wait_empty(storage.empty, at);
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) {
      stage.rows.put<false>(32 * q + lane, scales[q]);
    }
    if (lane == 0) stage.origin = origin;
    ptx::arrive(storage.full[at.stage]);
  }
}

/// Returns the amax of this lane's column, reduced over the rows of all lanes.
/// In each step, lanes that differ in one bit keep half of the columns each.
template <int Half = 4>
__device__ std::uint32_t amax_of_column(std::uint32_t (&most)[8]) {
  const bool upper = (threadIdx.x & (4 * Half)) != 0;
#pragma unroll
  for (int j = 0; j < Half; ++j) {
    const std::uint32_t own = upper ? most[j + Half] : most[j];
    const std::uint32_t sent = upper ? most[j] : most[j + Half];
    most[j] = max(own, __shfl_xor_sync(0xffffffff, sent, 4 * Half));
  }
  if constexpr (Half > 1) return amax_of_column<Half / 2>(most);
  return max(most[0], __shfl_xor_sync(0xffffffff, most[0], 2));
}

/// Re-tiles a lane's column by the core; returns its scale.
template <class From, class To>
__device__ __noinline__ std::uint32_t retile_column(
    const pipelined_params& params, unsigned strip, pipelined_stage& stage) {
  const strip_lane l;
  const pipelined_origin origin = stage.origin;
  const device_rows& from = params.any.codes;
  const auto height = static_cast<int>(
      min(params.rows - origin.row0, static_cast<unsigned>(tile_edge)));
  const auto* const codes =
      reinterpret_cast<const std::uint8_t*>(from.row<1>(origin.row0)) +
      origin.col0 + strip_width * strip + l.column();
  const std::uint32_t t = retiled_scale(
      params.any.r,
      matrix_view<const std::uint8_t>(codes, height, 1, from.stride, 1),
      stage.rows.scales);
  const auto vec8_of = [&](int r) -> vec8<1>& {
    const unsigned at = strip_tile::vec8s(l.h, static_cast<unsigned>(r));
    return stage.tile.at<vec8<1>>(at, strip)[16 * (l.column() % 8)];
  };
  // Two lanes share the column: they take vec8s in turn.
  for (int i = l.is_first() ? 0 : 8; i < height; i += i % 8 == 7 ? 9 : 1) {
    vec8_of(i / 8).set(i % 8, retiled_code(params.any.r, codes[i * from.stride],
                                           stage.rows.scales[i], t));
  }
  return t;
}

/// Writes a strip to its place in the transposed matrix.
__device__ inline void store_strip(const pipelined_params& params,
                                   pipelined_origin origin, unsigned strip,
                                   strip_tile& tile) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned col0 = origin.col0 + strip_width * strip;
  if (origin.row0 + tile_edge <= params.rows) {
    const unsigned first = lane / 8, m = lane % 8;
    char* row = params.any.to.row<1>(0) +
                std::uint64_t{col0 + first} * params.to_stride + origin.row0 +
                16 * m;
    const std::uint64_t step = std::uint64_t{4} * params.to_stride;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i, row += step) {
      *reinterpret_cast<uint4*>(row) = tile.at<uint4>(
          strip_tile::sixteen(i / 2, m), strip)[8 * (first + i % 2 * 4)];
    }
    return;
  }
#pragma unroll 1
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned column = lane / 16 + 2 * i, r = lane % 16;
    const auto* const vec8s =
        tile.at<vec8<1>>(strip_tile::vec8s(column / 8, r), strip);
    store<1>(params.any.to.row<1>(col0 + column), origin.row0 + 8 * r,
             params.rows, true, vec8s[16 * (column % 8)]);
  }
}

/// Re-tiles a strip in place; called by a warp. Returns the place of its tile.
template <class From, class To>
__device__ pipelined_origin retile_strip(const pipelined_params& params,
                                         unsigned strip, pipelined_stage& stage,
                                         strip_columns& columns) {
  const strip_lane l;
  const retile_params& any = params.any;
  const uint2* const codes = stage.tile.at<uint2>(strip_tile::codes(l), strip);
  float by_row[8];
  read_eight(by_row, stage.rows.factors + 8 * l.r);
  float v[8][8];  // row i, column j
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint2 x = codes[16 * i];
    const std::uint32_t words[2] = {x.x, x.y};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t halves = fp16x2_of<From>(words, k);
      v[i][2 * k] = __fmul_rn(fp16_value(halves, 0), by_row[i]);
      v[i][2 * k + 1] = __fmul_rn(fp16_value(halves, 1), by_row[i]);
    }
  }
  std::uint32_t most[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    float largest = fabsf(v[0][j]);
#pragma unroll
    for (int i = 1; i < 8; ++i) largest = larger_magnitude(largest, v[i][j]);
    most[j] = __float_as_uint(largest);
  }
  const std::uint32_t amax = amax_of_column(most);

  const bool by_amax = any.r.rule == retile_rule::amax;
  std::uint32_t t = column_scale<false>(any, stage.rows, amax);
  const bool is_fast =
      (by_amax ? amax == 0 || is_ordinary(amax) : amax < fp32_infinity) &
      is_ordinary(t);
  // See set_scale of retiled_columns. 0 iff the column needs the core: codes
  // are then never `undecided`.
  const float inverse = is_fast ? ptx::rcp_approx(__uint_as_float(t)) : 0;
  if (l.is_first()) {
    columns.factors[l.column()] = {__fmul_rn(inverse, any.plan.low),
                                   __fmul_rn(inverse, any.plan.high)};
    columns.scale[l.column()] = t;
  }
  __syncwarp();  // also: all codes have been read before they are overwritten

  vec8<1>* const vec8s =
      stage.tile.at<vec8<1>>(strip_tile::vec8s(l.h, l.r), strip);
  unsigned undecided = 0;  // columns that their factors do not decide
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const auto two =
        *reinterpret_cast<const float4*>(&columns.factors[8 * l.h + j / 2 * 2]);
    const auto scaled = [&](float factor) {
      return encode_eight<To>(
          [&](int i) { return __fmul_rn(v[i][j], factor); });
    };
    const auto low = scaled(j % 2 == 0 ? two.x : two.z);
    const auto high = scaled(j % 2 == 0 ? two.y : two.w);
    if (((low.words[0] ^ high.words[0]) | (low.words[1] ^ high.words[1])) !=
        0) {
      undecided |= 1u << j;
    }
    vec8s[16 * j] = low;
  }
#pragma unroll 1
  for (; undecided != 0; undecided &= undecided - 1) {
    const int at = __ffs(static_cast<int>(undecided)) - 1;
    float x[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = j == 0 || j == at ? v[i][j] : x[i];
    }
    const std::uint32_t s = columns.scale[8 * l.h + at];
    vec8s[16 * at] =
        encode_eight<To>([&](int i) { return divided(any.plan, x[i], s); });
  }
  const pipelined_origin origin =
      stage.origin;  // late, as registers were scarce
  __syncwarp();
  if (inverse == 0) t = retile_column<From, To>(params, strip, stage);
  if (l.is_first()) {
    put_kept(any.to_scales, origin.col0 + strip_width * strip + l.column(),
             origin.row0 / tile_edge, t);
  }
  __syncwarp();
  return origin;
}

/// A math warp. Faster warps take more of the block's strips.
template <class From, class To>
__device__ void retile_codes(const pipelined_params& params, unsigned warp,
                             pipelined_storage& storage) {
  const unsigned count = strips * tiles_of_block(params);
  const bool are_all_inside = params.cols % tile_edge == 0;
#pragma unroll 1
  for (unsigned n = warp; n < count;) {
    const unsigned strip = n % strips;
    const auto at = pipelined_state::after(n / strips);
    pipelined_stage& stage = storage.stages[at.stage];
    wait_full(storage.full, at);
    unsigned next = 0;
    const auto take = [&] {
      if (threadIdx.x % 32 == 0) next = atomicAdd(&storage.next, 1);
    };
    // A vote makes the branch warp-uniform.
    if (are_all_inside || __any_sync(0xffffffff, strip < stage.origin.count)) {
      const pipelined_origin origin =
          retile_strip<From, To>(params, strip, stage, storage.columns[warp]);
      take();
      store_strip(params, origin, strip, stage.tile);
    } else {
      take();
    }
    ptx::arrive(storage.empty[at.stage]);
    n = __shfl_sync(0xffffffff, next, 0);
  }
}

}  // namespace detail

/// One block runs on each multiprocessor.
template <class From, class To>
__global__ void __launch_bounds__(pipelined_threads, 1)
    retile_pipelined(const __grid_constant__ pipelined_params params) {
  extern __shared__ uint4 shared[];
  auto& storage = *reinterpret_cast<detail::pipelined_storage*>(shared);
  // Broadcast, since the compiler cannot see that it is warp-uniform.
  const unsigned warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp >= math_warps) {
    detail::prefetch_quarter(params, warp - math_warps);
  }
  if (threadIdx.x < pipelined_stages) {
    initialize_stage(storage.full[threadIdx.x], 32 * (load_warps + 1),
                     storage.empty[threadIdx.x], 32 * strips);
  }
  if (threadIdx.x == 0) storage.next = math_warps;
  __syncthreads();
  ptx::wait_for_kernels_before();
  if (warp < math_warps) {
    detail::retile_codes<From, To>(params, warp, storage);
  } else if (warp < math_warps + load_warps) {
    detail::run_code_load_warp(params, warp - math_warps, storage);
  } else {
    detail::run_scale_load_warp(params, warp - math_warps - load_warps,
                                storage);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_RETILE_PIPELINED_CUH_
