// Defines how half a warp has rows of 128 columns in shared memory, a lane its
// octets of them, and quantizes what kernels make of them there. Loops over
// rows are not unrolled far: instructions that run once come slower than those
// at hand.
//
//   copy the inputs -> a row at a time: numbers, and a key of each lane's -> a
//   lane a group: amax, scale and factors -> a row at a time: codes

#ifndef ZEROULP_CUDA_STAGED_ROWS_CUH_
#define ZEROULP_CUDA_STAGED_ROWS_CUH_

#include <cuda_pipeline_primitives.h>

#include "cuda/quantize_rows.cuh"

namespace zeroulp::cuda {

/// Rows of half a warp.
inline constexpr int staged_rows = 8;

namespace detail {

/// Octets of a block's threads, BF16.
using staged_octets = octet<2>[staged_rows][row_threads];

/// Where a lane's octets lie in matrices of one shape. Rows and octets beyond
/// it repeat the last, which adds nothing to an amax.
struct staged_place {
  half_warp_place at;
  int last;  ///< the last row that there is; < 0: none
  std::ptrdiff_t row, col;

  __device__ explicit staged_place(const device_rows& x) : at(staged_rows, x) {
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
  __device__ void put(const staged_octets& x, const device_rows& to) const {
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

/// What two_largest gives for the lanes, row by row.
struct staged_keys {
  alignas(16) std::uint32_t of[row_threads / 16][staged_rows][16];

  __device__ void put(int i, std::uint32_t key) {
    of[threadIdx.x / 16][i][threadIdx.x % 16] = key;
  }
  /// The largest of row lane % staged_rows, once the warp has put all.
  __device__ std::uint32_t largest() const {
    static_assert(staged_rows == 8);  // two lanes a row, two times 16 bytes
    const unsigned lane = threadIdx.x % 16, i = lane % staged_rows;
    const auto* const fours =
        reinterpret_cast<const uint4*>(of[threadIdx.x / 16][i]);
    // Lanes of other rows read other banks.
    const unsigned first = (lane / staged_rows * 2) ^ (i / 2);
    std::uint32_t most = 0;
#pragma unroll
    for (unsigned k = 0; k < staged_rows / 4; ++k) {
      const uint4 four = fours[first ^ k];
      most = __vmaxu2(__vmaxu2(most, __vmaxu2(four.x, four.y)),
                      __vmaxu2(four.z, four.w));
    }
    __syncwarp();  // they may be put again
#pragma unroll
    for (int lanes = staged_rows; lanes < 16; lanes *= 2) {
      most = __vmaxu2(most, __shfl_xor_sync(all_lanes, most, lanes));
    }
    return most;
  }
};

/// Quantizes the octets of the first target, and of a second if there is one,
/// whose largest magnitudes are in `largest`: all of them, or none, which are
/// the core's.
template <class Out, class Octets>
__device__ __forceinline__ unfinished_octets quantize_staged(
    const quantizer_plan& plan, const Octets& octets, std::uint32_t largest,
    const staged_octets& x, const staged_octets* second) {
  const bool of_second = threadIdx.x % Octets::count >= staged_rows;
  largest = of_second ? largest & 0xffff0000 : largest << 16;
  group_factors mine;
  if (!find_groups(plan, {}, octets, largest, mine)) return {true};
  const bool done = by_factors<Out>(plan, mine, largest, [&](auto codes_of) {
    const auto put_codes = [&](int first_group, const staged_octets& of) {
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
