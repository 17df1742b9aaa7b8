// Defines the kernels of the bench itself: streams, random contents, equality.
// No CUDA in this header.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_KERNELS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_KERNELS_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

struct CUstream_st;

namespace zeroulp::program {

/// A kernel that reads bytes, writes bytes and does nothing else. Which is the
/// fastest depends on how many of each, so all are tried.
struct stream_kernel {
  const char* name;
  int threads;      ///< a block
  int pieces;       ///< of 16 bytes that a thread reads or writes at once
  bool streaming;   ///< loads and stores are marked: used once
  bool persistent;  ///< as many blocks as fit at a time, else one a chunk
  /// Not 0: the copy engine, with stages of so many bytes in shared memory.
  int stage_bytes;
  int resident;           ///< blocks that fit at a time
  bool overlaps = false;  ///< begins while the kernel before it ends
};

/// The kernels that there are. Throws cuda::error.
std::vector<stream_kernel> make_streams(bool overlaps);

/// Reads and writes so many bytes, rounded up to 16; pointers are aligned to
/// 16.
void launch(const stream_kernel& k, const void* in, std::size_t read, void* out,
            std::size_t written, CUstream_st* stream);

/// out[i] = pool[random], elements of 1, 2 or 4 bytes; `pool_count` is a power
/// of two.
void launch_fill(const void* pool, std::uint32_t pool_count, int element_bytes,
                 void* out, std::size_t count, std::uint64_t seed,
                 CUstream_st* stream);

/// Adds the number of 16-byte pieces that differ to *differing.
void launch_compare(const void* a, const void* b, std::size_t bytes,
                    unsigned long long* differing, CUstream_st* stream);

/// Loops of wgmma on codes of e4m3 in shared memory. Sums without an end, of 64
/// x n, by two warp groups; or promoted every 128 elements of K under the
/// scales of Fprop or of Wgrad, which lie in shared memory, 64 x 128 by each of
/// three warp groups; or that, and one more copies the operands that a wave of
/// tiles of 192 x 128 needs: `fed`, from the L2, `streamed`, from memory, each
/// once. Nothing else is copied, nothing stored.
enum class wgmma_loop : std::uint8_t {
  n256,
  n128,
  fprop,
  fprop_fed,
  fprop_streamed,
  wgrad,
  wgrad_fed,
  wgrad_streamed
};

/// About `work` operations (a multiplication and an addition are two); the
/// codes come from `codes`, wgmma_bytes of them, more than the L2 holds.
/// Returns how many operations it is.
inline constexpr std::size_t wgmma_bytes = 192 << 20;
double launch_wgmma(wgmma_loop loop, const void* codes, double work,
                    int multiprocessors, CUstream_st* stream);

/// Throws cuda::error unless the status, a cudaError_t, is success.
void require_cuda(int status);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_KERNELS_HPP_
