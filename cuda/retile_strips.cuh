// Defines the re-tiling kernel of one-byte codes under FP32 scales, in rows
// that start on 16 bytes. Its blocks stay: one warp copies tiles of 128 x 128
// codes into a ring in shared memory, one the scales of their rows, and eight
// re-tile a strip of 16 columns each, without a barrier between them.
//
//   codes of a strip -> values v = code * s, kept in registers; amax of the
//   columns -> a lane a column: its scale t and factors of 1 / t -> codes of v
//   / t, transposed, where the strip's were -> stores
//
// Values, factors and what is the core's: as in retile.cuh. A lane with a
// special column does that by the core; columns that the factors do not decide
// are divided after all others, from the registers: what a lane would read
// again for them, its block would wait for.
//
// Source: SPEC clauses W1 to W5, W7, Q11.

#ifndef ZEROULP_CUDA_RETILE_STRIPS_CUH_
#define ZEROULP_CUDA_RETILE_STRIPS_CUH_

#include "cuda/ptx.cuh"
#include "cuda/retile_core.cuh"

namespace zeroulp::cuda {

inline constexpr unsigned strip_width = 16;
inline constexpr unsigned strips = tile_edge / strip_width;  ///< of a tile
inline constexpr int strip_threads = 32 * (strips + 2);
inline constexpr int strip_blocks = 2;  ///< of a multiprocessor
/// Of the ring. With more, what all blocks ask for at first comes later.
inline constexpr unsigned strip_stages = 3;

/// A retile_job of less than 2^31 - 256 rows and columns and such strides, all
/// columns in whole strips.
struct strip_job {
  retile_job any;
  unsigned rows, cols;
  unsigned stride, to_stride;
  unsigned tiles;  ///< of the matrix
};

namespace detail {

/// What a lane has of its strip: rows 8 r to 8 r + 7, columns 8 h to 8 h + 7.
/// In a reduction over the rows it ends up with a column, two lanes with each.
struct strip_lane {
  unsigned r = threadIdx.x % 32 / 2;
  unsigned h = threadIdx.x % 2;

  __device__ unsigned column() const { return 8 * h + r / 2; }
  __device__ bool is_first() const { return r % 2 == 0; }
};

/// A tile in shared memory: a strip has 16 times eight places of 16 bytes, 128
/// bytes apart, in banks that change from eight to eight.
struct strip_tile {
  uint4 places[tile_edge][strips];

  /// Place i of the eight is element 8 i.
  __device__ uint4* eight(unsigned index, unsigned strip) {
    return &places[8 * index][(strip ^ index) % 8];
  }
  /// The codes of row i of a lane: element 16 i.
  __device__ const uint2* codes(strip_lane l, unsigned strip) {
    return reinterpret_cast<const uint2*>(eight(l.r, strip)) + l.h;
  }
  /// Transposed, of columns 8 h to 8 h + 7 the codes of rows 16 m to 16 m + 15:
  /// column j is element 8 j. Neither writes nor reads meet in a bank.
  __device__ uint4* sixteen(unsigned h, unsigned m, unsigned strip) {
    return eight(8 * h + (m ^ 4 * h), strip);
  }
  /// The same of rows 8 r to 8 r + 7: column j is element 16 j.
  __device__ octet<1>* octets(unsigned h, unsigned r, unsigned strip) {
    return reinterpret_cast<octet<1>*>(sixteen(h, r / 2, strip)) + r % 2;
  }
};

struct strip_columns {
  alignas(16) column_factors factors[strip_width];
  std::uint32_t scale[strip_width];
};

struct strip_stage {
  strip_tile tile;
  retiled_rows rows;
};

struct strip_ring {
  strip_stage stages[strip_stages];
  strip_columns columns[strips];
  ptx::barrier full[strip_stages], empty[strip_stages];
};

/// Where a tile begins.
struct strip_place {
  unsigned row0, col0;

  __device__ strip_place(const strip_job& job, unsigned index) {
    const auto at = job.any.codes.tiles.divide(index);
    row0 = tile_edge * at.quotient, col0 = tile_edge * at.rest;
  }
};

/// Calls use(place, stage, parity) for the block's tiles, one after the other;
/// `parity`: what stages have in their first turn.
template <class Use>
__device__ void for_each_tile(const strip_job& job, unsigned parity, Use use) {
  unsigned stage = 0;
#pragma unroll 1
  for (unsigned index = blockIdx.x; index < job.tiles; index += gridDim.x) {
    use(strip_place(job, index), stage, parity);
    if (++stage == strip_stages) stage = 0, parity ^= 1;
  }
}

/// Asks for the codes of a tile, by a warp. Rows beyond the matrix repeat its
/// last one; columns beyond are left as they are.
__device__ inline void copy_tile(const strip_job& job, strip_place place,
                                 strip_tile& to) {
  const unsigned first = threadIdx.x % 32 / 8, strip = threadIdx.x % 8;
  const unsigned col = place.col0 + strip_width * strip;
  if (col >= job.cols) return;
  const char* const codes = job.any.codes.row<1>(0) + col;
  const auto copy = [&](unsigned i, const char* from) {
    ptx::copy_sixteen(to.eight(i / 2, strip) + 8 * (first + i % 2 * 4), from);
  };
  if (place.row0 + tile_edge <= job.rows) {
    const char* from = codes + std::uint64_t{place.row0 + first} * job.stride;
    const std::uint64_t step = std::uint64_t{4} * job.stride;
#pragma unroll 8
    for (unsigned i = 0; i < 32; ++i, from += step) copy(i, from);
  } else {
#pragma unroll 1
    for (unsigned i = 0; i < 32; ++i) {
      const unsigned row = min(place.row0 + first + 4 * i, job.rows - 1);
      copy(i, codes + std::uint64_t{row} * job.stride);
    }
  }
}

__device__ inline void copy_codes(const strip_job& job, strip_ring& ring) {
  for_each_tile(job, 1,
                [&](strip_place place, unsigned stage, unsigned parity) {
                  ptx::wait(ring.empty[stage], parity);
                  copy_tile(job, place, ring.stages[stage].tile);
                  ptx::arrive_after_copies(ring.full[stage]);
                });
}

__device__ inline void copy_scales(const strip_job& job, strip_ring& ring) {
  for_each_tile(
      job, 1, [&](strip_place place, unsigned stage, unsigned parity) {
        const unsigned lane = threadIdx.x % 32;
        std::uint32_t scales[4];
#pragma unroll
        for (unsigned q = 0; q < 4; ++q) {
          const unsigned row = min(place.row0 + 32 * q + lane, job.rows - 1);
          scales[q] = job.any.scales.at(row, place.col0 / tile_edge);
        }
        ptx::wait(ring.empty[stage], parity);
#pragma unroll
        for (unsigned q = 0; q < 4; ++q) {
          ring.stages[stage].rows.put<false>(32 * q + lane, scales[q]);
        }
        ptx::arrive(ring.full[stage]);
      });
}

/// Each lane's amax of its column, of what all lanes have in their own rows:
/// those that differ in this bit keep half of the columns each.
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

/// Does a lane's column by the core; returns its scale.
template <class From, class To>
__device__ __noinline__ std::uint32_t retile_column(const strip_job& job,
                                                    strip_place place,
                                                    unsigned strip,
                                                    strip_stage& stage) {
  const strip_lane l;
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
  // Two lanes have the column: octets in turn.
  for (int i = l.is_first() ? 0 : 8; i < height; i += i % 8 == 7 ? 9 : 1) {
    stage.tile.octets(l.h, i / 8, strip)[16 * (l.column() % 8)].set(
        i % 8, retiled_code(job.any.r, codes[i * from.stride],
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
      *reinterpret_cast<uint4*>(row) =
          tile.sixteen(i / 2, m, strip)[8 * (first + i % 2 * 4)];
    }
    return;
  }
#pragma unroll 1
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned column = lane / 16 + 2 * i, r = lane % 16;
    store<1>(job.any.to.row<1>(col0 + column), place.row0 + 8 * r, job.rows,
             true, tile.octets(column / 8, r, strip)[16 * (column % 8)]);
  }
}

/// Re-tiles a strip, by a warp.
template <class From, class To>
__device__ void retile_strip(const strip_job& job, strip_place place,
                             unsigned strip, strip_stage& stage,
                             strip_columns& columns) {
  const strip_lane l;
  const retile_job& any = job.any;
  const uint2* const codes = stage.tile.codes(l, strip);
  float by_row[8];
  read_eight(by_row, stage.rows.factors + 8 * l.r);
  float v[8][8];  // of row i, column j
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
  // See set_scale of retiled_columns; 0, which makes codes that are not `open`,
  // iff the column is the core's.
  const float inverse = is_quick ? rcp(__uint_as_float(t)) : 0;
  if (l.is_first()) {
    columns.factors[l.column()] = {__fmul_rn(inverse, any.plan.low),
                                   __fmul_rn(inverse, any.plan.high)};
    columns.scale[l.column()] = t;
  }
  __syncwarp();  // all codes are read, too: what follows writes over them

  octet<1>* const octets = stage.tile.octets(l.h, l.r, strip);
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
    octets[16 * j] = low;
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
    octets[16 * at] =
        encode_eight<To>([&](int i) { return divided(any.plan, x[i], s); });
  }
  __syncwarp();
  if (inverse == 0) t = retile_column<From, To>(job, place, strip, stage);
  if (l.is_first()) {
    put_kept(any.to_scales, place.col0 + strip_width * strip + l.column(),
             place.row0 / tile_edge, t);
  }
  __syncwarp();
  store_strip(job, place, strip, stage.tile);
}

template <class From, class To>
__device__ void retile_codes(const strip_job& job, unsigned strip,
                             strip_ring& ring) {
  for_each_tile(
      job, 0, [&](strip_place place, unsigned stage, unsigned parity) {
        ptx::wait(ring.full[stage], parity);
        if (place.col0 + strip_width * strip < job.cols) {
          retile_strip<From, To>(job, place, strip, ring.stages[stage],
                                 ring.columns[strip]);
        }
        ptx::arrive(ring.empty[stage]);
      });
}

}  // namespace detail

/// Each block takes every gridDim.x-th tile.
template <class From, class To>
__global__ void __launch_bounds__(strip_threads, strip_blocks)
    retile_strips(const __grid_constant__ strip_job job) {
  extern __shared__ uint4 shared[];
  auto& ring = *reinterpret_cast<detail::strip_ring*>(shared);
  if (threadIdx.x < strip_stages) {
    ptx::initialize(ring.full[threadIdx.x], 2 * 32);
    ptx::initialize(ring.empty[threadIdx.x], strips * 32);
  }
  __syncthreads();
  ptx::wait_for_kernels_before();
  // Of one value for all lanes, as the compiler cannot see otherwise.
  const unsigned warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp == strips) {
    detail::copy_codes(job, ring);
  } else if (warp > strips) {
    detail::copy_scales(job, ring);
  } else {
    detail::retile_codes<From, To>(job, warp, ring);
  }
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_RETILE_STRIPS_CUH_
