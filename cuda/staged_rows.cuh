// Defines how half a warp has rows of 128 columns in shared memory, a lane its
// octets of them, and quantizes what kernels make of them there. Loops over
// rows are not unrolled far: instructions that run once come slower than those
// at hand.
//
//   copy the inputs -> a row at a time: numbers, and a key of two lanes' -> a
//   lane a group: amax, scale and factors -> a row at a time: codes

#ifndef ZEROULP_CUDA_STAGED_ROWS_CUH_
#define ZEROULP_CUDA_STAGED_ROWS_CUH_

#include <cuda_pipeline_primitives.h>

#include <type_traits>

#include "cuda/quantize_rows.cuh"

namespace zeroulp::cuda {

/// Rows of half a warp.
inline constexpr int staged_rows = 8;

namespace detail {

/// Octets of a block's threads, BF16.
template <unsigned Threads>
using staged_octets = octet<2>[staged_rows][Threads];

/// Where a lane's octets lie in matrices of one shape. Rows and octets beyond
/// it repeat the last, which adds nothing to an amax.
struct staged_place {
  half_warp_place at;
  int last;  ///< the last row that there is; < 0: none
  std::ptrdiff_t row, col;

  __device__ staged_place(const device_rows& x, unsigned threads)
      : at(staged_rows, x, threadIdx.x, threads) {
    const std::ptrdiff_t rows = x.rows - at.row0;
    last = static_cast<int>(min(rows, std::ptrdiff_t{staged_rows})) - 1;
    row = last < 0 ? x.rows - 1 : at.row0;
    col = min(column_of_octet(at.group), x.cols - 8);
  }
  /// How far row i lies below the first.
  __device__ unsigned below(int i) const {
    return static_cast<unsigned>(min(i, max(last, 0)));
  }
  /// Writes the octets that there are, if they are wanted.
  template <unsigned Threads>
  __device__ void put(const octet<2> (&x)[staged_rows][Threads],
                      const device_rows& to) const {
    if (to.data == nullptr) return;
    octet_writer<2> writer(to, at.row0, column_of_octet(at.group));
#pragma unroll 1
    for (int i = 0; i < staged_rows; ++i) writer.put(i, x[i][threadIdx.x]);
  }
};

/// A lane's octets of a matrix: strides of a row below 4 GB.
template <int Bytes>
class staged_source {
 public:
  __device__ staged_source(const device_rows& x, const staged_place& place)
      : first_(x.row<Bytes>(place.row) + place.col * Bytes),
        stride_(static_cast<std::uint32_t>(x.stride * Bytes)) {
    // So that a row's address is one instruction, not a sum of all parts.
    asm("" : "+l"(first_));
  }
  /// Asks for the octet of a row, from word `at` of its place.
  __device__ void copy(unsigned below, octet<2>& to, int at) const {
    __pipeline_memcpy_async(&to.words[at],
                            first_ + std::uint64_t{below} * stride_, 8 * Bytes);
  }

 private:
  const char* first_;
  std::uint32_t stride_;
};

/// The larger of what two_largest gives for two neighbouring lanes, row by row.
/// By the whole warp.
template <unsigned Threads>
struct staged_keys {
  alignas(16) std::uint32_t of[Threads / 16][staged_rows][8];

  __device__ void put(int i, std::uint32_t key) {
    place(i) = __vmaxu2(key, __shfl_xor_sync(all_lanes, key, 1));
  }
  /// Of rows i and i + 1: of the first by even lanes.
  __device__ void put(int i, std::uint32_t first, std::uint32_t second) {
    const bool is_odd = threadIdx.x % 2 != 0;
    const std::uint32_t sent = is_odd ? first : second;
    place(is_odd ? i + 1 : i) =
        __vmaxu2(is_odd ? second : first, __shfl_xor_sync(all_lanes, sent, 1));
  }
  /// The largest of row lane % staged_rows, once the warp has put all.
  __device__ std::uint32_t largest() const {
    static_assert(staged_rows == 8);  // two lanes a row, 16 bytes each
    const unsigned lane = threadIdx.x % 16;
    const uint4 four = reinterpret_cast<const uint4*>(
        of[threadIdx.x / 16][lane % staged_rows])[lane / staged_rows];
    std::uint32_t most =
        __vmaxu2(__vmaxu2(four.x, four.y), __vmaxu2(four.z, four.w));
    __syncwarp();  // they may be put again
#pragma unroll
    for (int lanes = staged_rows; lanes < 16; lanes *= 2) {
      most = __vmaxu2(most, __shfl_xor_sync(all_lanes, most, lanes));
    }
    return most;
  }

 private:
  __device__ std::uint32_t& place(int i) {
    return of[threadIdx.x / 16][i][threadIdx.x % 16 / 2];
  }
};

/// Quantizes the octets of the first target, and of a second if there is one,
/// whose largest magnitudes are in `largest`: all of them, or none, which are
/// the core's.
template <class Out, class Octets, unsigned Threads>
__device__ __forceinline__ unfinished_octets quantize_staged(
    const quantizer_plan& plan, const Octets& octets, std::uint32_t largest,
    const octet<2> (&x)[staged_rows][Threads],
    const std::type_identity_t<staged_octets<Threads>>* second) {
  const bool of_second = threadIdx.x % Octets::count >= staged_rows;
  largest = of_second ? largest & 0xffff0000 : largest << 16;
  group_factors mine;
  if (!find_groups(plan, {}, octets, largest, mine)) return {true};
  const bool done = by_factors<Out>(plan, mine, largest, [&](auto codes_of) {
    const auto put_codes = [&](int first_group, const auto& of) {
      auto to = writer_of<Out>(octets, first_group);
#pragma unroll 4
      for (int i = 0; i < staged_rows; ++i) {
        to.put(i, codes_of(first_group + i, of[i][threadIdx.x]));
      }
    };
    put_codes(0, x);
    if constexpr (Octets::count > staged_rows) put_codes(staged_rows, *second);
  });
  return {!done};
}

}  // namespace detail
}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_STAGED_ROWS_CUH_
