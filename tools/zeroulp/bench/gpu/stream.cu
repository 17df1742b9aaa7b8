// Streams: so many bytes read, so many written, 16 at a time. Both ranges are
// cut into as many chunks, a block's thread reads all its pieces of a chunk
// before it writes any, and each piece written depends on all pieces read.
//
// copy_pieces moves through registers. copy_bulk lets the copy engine move
// chunks through a ring of stages in shared memory: one thread waits for a
// chunk, has it written, and has the stage before it filled again.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp.cuh"
#include "tools/zeroulp/bench/gpu/kernels.hpp"

namespace zeroulp::program {
namespace {

namespace ptx = cuda::ptx;

constexpr int stages = 4;
constexpr int line = 32;  // pieces: chunks start at multiples of 512 bytes

/// In pieces of 16 bytes.
struct chunks {
  std::int64_t count;
  std::int64_t all_read, all_written;
  int read, written;  ///< of a chunk; the last ones may have less

  __device__ int read_of(std::int64_t k) const {
    return cut(all_read, read, k);
  }
  __device__ int written_of(std::int64_t k) const {
    return cut(all_written, written, k);
  }

 private:
  __device__ static int cut(std::int64_t all, int each, std::int64_t k) {
    const std::int64_t left = all - k * each;
    return left <= 0 ? 0 : left < each ? static_cast<int>(left) : each;
  }
};

chunks cut_into_chunks(std::size_t read, std::size_t written, int most) {
  chunks c{};
  c.all_read = static_cast<std::int64_t>((read + 15) / 16);
  c.all_written = static_cast<std::int64_t>((written + 15) / 16);
  c.count = std::max<std::int64_t>(
      (std::max(c.all_read, c.all_written) + most - 1) / most, 1);
  const auto part = [&c](std::int64_t all) {
    const auto each = (all + c.count - 1) / c.count;
    return static_cast<int>((each + line - 1) / line * line);
  };
  c.read = part(c.all_read);
  c.written = part(c.all_written);
  return c;
}

__device__ uint4 operator^(const uint4& a, const uint4& b) {
  return {a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w};
}

template <int Pieces, bool Streaming>
__global__ void copy_pieces(const uint4* in, uint4* out, chunks c) {
  ptx::wait_for_kernels_before();
  const int first = static_cast<int>(threadIdx.x);
  const int step = static_cast<int>(blockDim.x);
  for (std::int64_t k = blockIdx.x; k < c.count; k += gridDim.x) {
    const uint4* from = in + k * c.read;
    uint4* to = out + k * c.written;
    const int read = c.read_of(k);
    const int written = c.written_of(k);
    uint4 piece[Pieces];
#pragma unroll
    for (int i = 0; i < Pieces; ++i) {
      const int at = first + i * step;
      piece[i] = {};
      if (at < read) {
        piece[i] = Streaming ? __ldcs(from + at) : from[at];
      }
    }
    uint4 all{};
#pragma unroll
    for (int i = 0; i < Pieces; ++i) all = all ^ piece[i];
#pragma unroll
    for (int i = 0; i < Pieces; ++i) {
      const int at = first + i * step;
      if (at >= written) continue;
      const uint4 value = all ^ piece[i];
      if (Streaming) {
        __stcs(to + at, value);
      } else {
        to[at] = value;
      }
    }
  }
}

__global__ void __launch_bounds__(32)
    copy_bulk(const uint4* in, uint4* out, chunks c, int stage_bytes) {
  ptx::wait_for_kernels_before();
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ ptx::barrier full[stages];
  if (threadIdx.x != 0) return;
  for (auto& barrier : full) ptx::initialize(barrier, 1);
  ptx::fence_barrier_init();

  const auto stage = [&](int n) { return memory + n % stages * stage_bytes; };
  const auto fill = [&](int n) {
    const std::int64_t k = blockIdx.x + std::int64_t{n} * gridDim.x;
    if (k >= c.count) return;
    const int bytes = c.read_of(k) * 16;
    auto& barrier = full[n % stages];
    ptx::arrive_expect_tx(barrier, static_cast<unsigned>(bytes));
    if (bytes > 0)
      ptx::tma_load_bytes(stage(n), in + k * c.read, bytes, barrier);
  };
  for (int n = 0; n < stages; ++n) fill(n);
  std::int64_t k = blockIdx.x;
  for (int n = 0; k < c.count; ++n, k += gridDim.x) {
    ptx::wait(full[n % stages], static_cast<unsigned>(n / stages % 2));
    const int written = c.written_of(k);
    for (int at = 0; at < written; at += c.read) {
      ptx::tma_store_bytes(out + k * c.written + at, stage(n),
                           min(c.read, written - at) * 16);
    }
    ptx::tma_store_commit();
    // All but the newest have left their stages.
    ptx::tma_store_wait<1>();
    if (n > 0) fill(n - 1 + stages);
  }
  ptx::tma_store_wait_written();
}

using piece_kernel = void (*)(const uint4*, uint4*, chunks);

piece_kernel kernel_of(const stream_kernel& k) {
  switch (k.pieces) {
    case 2:
      return k.streaming ? copy_pieces<2, true> : copy_pieces<2, false>;
    case 4:
      return k.streaming ? copy_pieces<4, true> : copy_pieces<4, false>;
    default:
      return k.streaming ? copy_pieces<8, true> : copy_pieces<8, false>;
  }
}

constexpr stream_kernel kernels[] = {
    {"256 x 4", 256, 4, false, false, 0, 0},
    {"256 x 4, used once", 256, 4, true, false, 0, 0},
    {"256 x 8", 256, 8, false, false, 0, 0},
    {"256 x 8, used once", 256, 8, true, false, 0, 0},
    {"512 x 2", 512, 2, false, false, 0, 0},
    {"512 x 4", 512, 4, false, false, 0, 0},
    {"512 x 4, used once", 512, 4, true, false, 0, 0},
    {"256 x 8, persistent", 256, 8, false, true, 0, 0},
    {"512 x 4, persistent", 512, 4, false, true, 0, 0},
    {"512 x 4, used once, persistent", 512, 4, true, true, 0, 0},
    {"bulk, 8 KiB", 32, 0, false, true, 8 << 10, 0},
    {"bulk, 16 KiB", 32, 0, false, true, 16 << 10, 0},
};

}  // namespace

std::vector<stream_kernel> make_streams(bool overlaps) {
  int device = 0, multiprocessors = 0;
  require_cuda(cudaGetDevice(&device));
  require_cuda(cudaDeviceGetAttribute(&multiprocessors,
                                      cudaDevAttrMultiProcessorCount, device));
  std::vector<stream_kernel> all(std::begin(kernels), std::end(kernels));
  for (auto& k : all) {
    int blocks = 0;
    if (k.stage_bytes == 0) {
      require_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, kernel_of(k), k.threads, 0));
    } else {
      require_cuda(cudaFuncSetAttribute(
          copy_bulk, cudaFuncAttributeMaxDynamicSharedMemorySize,
          stages * k.stage_bytes));
      require_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, copy_bulk, k.threads,
          static_cast<std::size_t>(stages * k.stage_bytes)));
    }
    k.resident = blocks * multiprocessors;
    k.overlaps = overlaps;
  }
  return all;
}

void launch(const stream_kernel& k, const void* in, std::size_t read, void* out,
            std::size_t written, CUstream_st* stream) {
  const int most =
      k.stage_bytes > 0 ? k.stage_bytes / 16 : k.threads * k.pieces;
  const chunks c = cut_into_chunks(read, written, most);
  const auto blocks = static_cast<unsigned>(
      k.persistent ? std::min<std::int64_t>(c.count, k.resident) : c.count);
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(blocks);
  how.blockDim = dim3(static_cast<unsigned>(k.threads));
  how.stream = stream;
  how.attrs = &overlaps, how.numAttrs = k.overlaps ? 1 : 0;
  const auto* from = static_cast<const uint4*>(in);
  auto* to = static_cast<uint4*>(out);
  if (k.stage_bytes > 0) {
    how.dynamicSmemBytes = static_cast<std::size_t>(stages * k.stage_bytes);
    require_cuda(
        cudaLaunchKernelEx(&how, copy_bulk, from, to, c, k.stage_bytes));
  } else {
    require_cuda(cudaLaunchKernelEx(&how, kernel_of(k), from, to, c));
  }
}

}  // namespace zeroulp::program
