// Defines the persistent re-tiling kernel of one-byte codes under FP32 scales,
// in rows that start on 16 bytes. It runs one block on each multiprocessor.
//
// Four producer warps copy tiles of 128 x 128 codes, and the scales of their
// rows, into a pipeline of shared-memory stages (the ring). Sixteen consumer
// warps take strips of 16 columns in order and re-tile them. No barrier joins
// the consumers.
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

#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/warp.cuh"
#include "cuda/retile/core_fallback.cuh"

namespace zeroulp::cuda {

inline constexpr unsigned strip_width = 16;
inline constexpr unsigned strips = tile_edge / strip_width;  ///< in a tile
inline constexpr unsigned strip_workers = 16;                ///< consumer warps
/// Producer warps: two copy codes, half of each tile; two copy scales, of every
/// other tile.
inline constexpr unsigned strip_copiers = 2;
inline constexpr int strip_threads = 32 * (strip_workers + 2 * strip_copiers);
inline constexpr unsigned strip_stages = 6;  ///< stages of the ring
/// Stages that are loaded at first; the others follow once tile 0 has arrived.
/// If all blocks asked for more at once, the first tile would arrive later.
inline constexpr unsigned first_strip_stages = 4;
/// Tiles of a block that are prefetched into the L2. Four were no faster.
inline constexpr unsigned prefetched_tiles = 2;
// A stage that is not full holds up every strip_copiers-th tile after it, and
// eight consumer warps at each. So no warp can run ahead to the stage's next
// phase of the same parity.
static_assert(strip_copiers == 2 && strip_stages % strip_copiers == 0 &&
              strip_workers <= strips * (strip_stages / strip_copiers));

/// A retile_job with fewer than 2^31 - 256 rows and columns, strides below
/// that, and columns that fill whole strips.
struct strip_job {
  retile_job any;
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
struct alignas(16) strip_place {
  unsigned row0, col0;
  unsigned count;
};

struct strip_stage {
  strip_tile tile;
  retiled_rows rows;
  strip_place place;
};

struct strip_ring {
  strip_stage stages[strip_stages];
  strip_columns columns[strip_workers];
  ptx::barrier full[strip_stages], empty[strip_stages];
  unsigned next;  ///< first strip of the block not yet taken; a tile has eight
};

/// A block takes every gridDim.x-th tile.
__device__ inline unsigned tiles_of_block(const strip_job& job) {
  return (job.tiles - 1 - blockIdx.x) / gridDim.x + 1;
}

/// The place of the block's tile i.
__device__ inline strip_place place_of_tile(const strip_job& job, unsigned i) {
  const auto at = job.any.codes.tiles.divide(i * gridDim.x + blockIdx.x);
  const unsigned col0 = tile_edge * at.rest;
  return {tile_edge * at.quotient, col0,
          min(strips, (job.cols - col0) / strip_width)};
}

/// The stage of the block's tile i, and the parity of the number of its earlier
/// uses.
struct strip_turn {
  unsigned stage, parity;

  __device__ explicit strip_turn(unsigned i)
      : stage(i % strip_stages), parity(i / strip_stages % 2) {}
};

/// Prefetches into the L2 a quarter of the block's first tiles and of their
/// scales.
__device__ inline void prefetch_quarter(const strip_job& job,
                                        unsigned quarter) {
  const unsigned tiles = min(tiles_of_block(job), prefetched_tiles);
#pragma unroll 1
  for (unsigned i = 0; i < tiles; ++i) {
    const strip_place place = place_of_tile(job, i);
    const unsigned first = place.row0 + tile_edge / 4 * quarter;
    const unsigned row = min(first + threadIdx.x % 32, job.rows - 1);
    ptx::prefetch_l2(job.any.codes.row<1>(0) + std::uint64_t{row} * job.stride +
                     place.col0);
    job.any.scales.prefetch(row, place.col0 / tile_edge);
  }
}

/// Copies half of a tile's rows by cp.async; called by a warp. Rows beyond the
/// matrix repeat its last one; columns beyond are left as they are.
__device__ inline void copy_half(const strip_job& job, strip_place place,
                                 unsigned half, strip_tile& to) {
  const unsigned strip = threadIdx.x % 8;
  if (strip >= place.count) return;
  const unsigned first = tile_edge / 2 * half + threadIdx.x % 32 / 8;
  const unsigned row0 = place.row0 + first;
  const char* const codes =
      job.any.codes.row<1>(0) + place.col0 + strip_width * strip;
  const auto copy = [&](unsigned i, const char* from) {
    ptx::cp_async_16(&to.places[first + 4 * i][(strip ^ i / 2) % 8], from);
  };
  if (place.row0 + tile_edge <= job.rows) {
    const char* from = codes + std::uint64_t{row0} * job.stride;
    const std::uint64_t step = std::uint64_t{4} * job.stride;
#pragma unroll
    for (unsigned i = 0; i < 16; ++i, from += step) copy(i, from);
  } else {
#pragma unroll 1
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned row = min(row0 + 4 * i, job.rows - 1);
      copy(i, codes + std::uint64_t{row} * job.stride);
    }
  }
}

__device__ inline void copy_codes(const strip_job& job, unsigned half,
                                  strip_ring& ring) {
  const unsigned tiles = tiles_of_block(job);
#pragma unroll 1
  for (unsigned i = 0; i < tiles; ++i) {
    const strip_turn turn(i);
    const strip_place place = place_of_tile(job, i);
    ptx::wait(ring.empty[turn.stage], turn.parity ^ 1);
    if (i >= first_strip_stages && i < strip_stages) {
      ptx::wait(ring.full[0], 0);
    }
    copy_half(job, place, half, ring.stages[turn.stage].tile);
    ptx::arrive_after_cp_async(ring.full[turn.stage]);
  }
}

/// A scale-load warp; also writes the places of tiles.
__device__ inline void copy_scales(const strip_job& job, unsigned first,
                                   strip_ring& ring) {
  const unsigned tiles = tiles_of_block(job), lane = threadIdx.x % 32;
#pragma unroll 1
  for (unsigned i = first; i < tiles; i += strip_copiers) {
    const strip_turn turn(i);
    const strip_place place = place_of_tile(job, i);
    std::uint32_t scales[4];
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) {
      const unsigned row = min(place.row0 + 32 * q + lane, job.rows - 1);
      scales[q] = job.any.scales.at(row, place.col0 / tile_edge);
    }
    strip_stage& stage = ring.stages[turn.stage];
    ptx::wait(ring.empty[turn.stage], turn.parity ^ 1);
#pragma unroll
    for (unsigned q = 0; q < 4; ++q) {
      stage.rows.put<false>(32 * q + lane, scales[q]);
    }
    if (lane == 0) stage.place = place;
    ptx::arrive(ring.full[turn.stage]);
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
__device__ __noinline__ std::uint32_t retile_column(const strip_job& job,
                                                    unsigned strip,
                                                    strip_stage& stage) {
  const strip_lane l;
  const strip_place place = stage.place;
  const device_rows& from = job.any.codes;
  const auto height = static_cast<int>(
      min(job.rows - place.row0, static_cast<unsigned>(tile_edge)));
  const auto* const codes =
      reinterpret_cast<const std::uint8_t*>(from.row<1>(place.row0)) +
      place.col0 + strip_width * strip + l.column();
  const std::uint32_t t = retiled_scale(
      job.any.r,
      matrix_view<const std::uint8_t>(codes, height, 1, from.stride, 1),
      stage.rows.scales);
  const auto vec8_of = [&](int r) -> vec8<1>& {
    const unsigned at = strip_tile::vec8s(l.h, static_cast<unsigned>(r));
    return stage.tile.at<vec8<1>>(at, strip)[16 * (l.column() % 8)];
  };
  // Two lanes share the column: they take vec8s in turn.
  for (int i = l.is_first() ? 0 : 8; i < height; i += i % 8 == 7 ? 9 : 1) {
    vec8_of(i / 8).set(i % 8, retiled_code(job.any.r, codes[i * from.stride],
                                           stage.rows.scales[i], t));
  }
  return t;
}

/// Writes a strip to its place in the transposed matrix.
__device__ inline void store_strip(const strip_job& job, strip_place place,
                                   unsigned strip, strip_tile& tile) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned col0 = place.col0 + strip_width * strip;
  if (place.row0 + tile_edge <= job.rows) {
    const unsigned first = lane / 8, m = lane % 8;
    char* row = job.any.to.row<1>(0) +
                std::uint64_t{col0 + first} * job.to_stride + place.row0 +
                16 * m;
    const std::uint64_t step = std::uint64_t{4} * job.to_stride;
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
    store<1>(job.any.to.row<1>(col0 + column), place.row0 + 8 * r, job.rows,
             true, vec8s[16 * (column % 8)]);
  }
}

/// Re-tiles a strip in place; called by a warp. Returns the place of its tile.
template <class From, class To>
__device__ strip_place retile_strip(const strip_job& job, unsigned strip,
                                    strip_stage& stage,
                                    strip_columns& columns) {
  const strip_lane l;
  const retile_job& any = job.any;
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
      const std::uint32_t halves = two_halves<From>(words, k);
      v[i][2 * k] = __fmul_rn(half_value(halves, 0), by_row[i]);
      v[i][2 * k + 1] = __fmul_rn(half_value(halves, 1), by_row[i]);
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
  const bool is_quick =
      (by_amax ? amax == 0 || is_ordinary(amax) : amax < fp32_infinity) &
      is_ordinary(t);
  // See set_scale of retiled_columns. 0 iff the column needs the core: codes
  // are then never `open`.
  const float inverse = is_quick ? ptx::rcp_approx(__uint_as_float(t)) : 0;
  if (l.is_first()) {
    columns.factors[l.column()] = {__fmul_rn(inverse, any.plan.low),
                                   __fmul_rn(inverse, any.plan.high)};
    columns.scale[l.column()] = t;
  }
  __syncwarp();  // also: all codes have been read before they are overwritten

  vec8<1>* const vec8s =
      stage.tile.at<vec8<1>>(strip_tile::vec8s(l.h, l.r), strip);
  unsigned open = 0;  // columns that their factors do not decide
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
      open |= 1u << j;
    }
    vec8s[16 * j] = low;
  }
#pragma unroll 1
  for (; open != 0; open &= open - 1) {
    const int at = __ffs(static_cast<int>(open)) - 1;
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
  const strip_place place = stage.place;  // late, as registers were scarce
  __syncwarp();
  if (inverse == 0) t = retile_column<From, To>(job, strip, stage);
  if (l.is_first()) {
    put_kept(any.to_scales, place.col0 + strip_width * strip + l.column(),
             place.row0 / tile_edge, t);
  }
  __syncwarp();
  return place;
}

/// A consumer warp. Faster warps take more of the block's strips.
template <class From, class To>
__device__ void retile_codes(const strip_job& job, unsigned warp,
                             strip_ring& ring) {
  const unsigned count = strips * tiles_of_block(job);
  const bool are_whole = job.cols % tile_edge == 0;
#pragma unroll 1
  for (unsigned n = warp; n < count;) {
    const unsigned strip = n % strips;
    const strip_turn turn(n / strips);
    strip_stage& stage = ring.stages[turn.stage];
    ptx::wait(ring.full[turn.stage], turn.parity);
    unsigned next = 0;
    const auto take = [&] {
      if (threadIdx.x % 32 == 0) next = atomicAdd(&ring.next, 1);
    };
    // A vote makes the branch warp-uniform.
    if (are_whole || __any_sync(0xffffffff, strip < stage.place.count)) {
      const strip_place place =
          retile_strip<From, To>(job, strip, stage, ring.columns[warp]);
      take();
      store_strip(job, place, strip, stage.tile);
    } else {
      take();
    }
    ptx::arrive(ring.empty[turn.stage]);
    n = __shfl_sync(0xffffffff, next, 0);
  }
}

}  // namespace detail

/// One block runs on each multiprocessor.
template <class From, class To>
__global__ void __launch_bounds__(strip_threads, 1)
    retile_strips(const __grid_constant__ strip_job job) {
  extern __shared__ uint4 shared[];
  auto& ring = *reinterpret_cast<detail::strip_ring*>(shared);
  // Broadcast, since the compiler cannot see that it is warp-uniform.
  const unsigned warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp >= strip_workers) {
    detail::prefetch_quarter(job, warp - strip_workers);
  }
  if (threadIdx.x < strip_stages) {
    ptx::initialize(ring.full[threadIdx.x], 32 * (strip_copiers + 1));
    ptx::initialize(ring.empty[threadIdx.x], 32 * strips);
  }
  if (threadIdx.x == 0) ring.next = strip_workers;
  __syncthreads();
  ptx::wait_for_kernels_before();
  if (warp < strip_workers) {
    detail::retile_codes<From, To>(job, warp, ring);
  } else if (warp < strip_workers + strip_copiers) {
    detail::copy_codes(job, warp - strip_workers, ring);
  } else {
    detail::copy_scales(job, warp - strip_workers - strip_copiers, ring);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_RETILE_PIPELINED_CUH_
