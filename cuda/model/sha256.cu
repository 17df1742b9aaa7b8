// SHA-256 (FIPS 180-4) of many ranges of bytes: a thread has a range, a block a
// warp, so that the ranges of a state spread over all multiprocessors.

#include "cuda/common/argument_checks.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

constexpr int threads = 32;
constexpr int block_bytes = 64;

/// The first 32 fraction bits of the cube roots of the first 64 primes.
__constant__ const std::uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ std::uint32_t rotated(std::uint32_t x, int by) {
  return __funnelshift_r(x, x, by);
}
/// The bytes of a word in the other order.
__device__ std::uint32_t swapped(std::uint32_t x) {
  return __byte_perm(x, 0, 0x0123);
}

__device__ void take_block(std::uint32_t (&h)[8], std::uint32_t (&w)[16]) {
  std::uint32_t a = h[0], b = h[1], c = h[2], d = h[3];
  std::uint32_t e = h[4], f = h[5], g = h[6], last = h[7];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    if (i >= 16) {
      const std::uint32_t x = w[(i + 1) % 16], y = w[(i + 14) % 16];
      w[i % 16] += w[(i + 9) % 16] + (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) +
                   (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
    }
    const std::uint32_t t1 =
        last + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
        ((e & f) ^ (~e & g)) + round_constants[i] + w[i % 16];
    const std::uint32_t t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) +
                             ((a & b) ^ (a & c) ^ (b & c));
    last = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  h[0] += a, h[1] += b, h[2] += c, h[3] += d;
  h[4] += e, h[5] += f, h[6] += g, h[7] += last;
}

/// Word i of the last blocks: what is left of the bytes, a one, their number.
__device__ std::uint32_t last_word(const unsigned char* rest, int left, int i,
                                   bool is_last, std::uint64_t bits) {
  if (is_last && i >= 14) {
    return static_cast<std::uint32_t>(i == 14 ? bits >> 32 : bits);
  }
  std::uint32_t word = 0;
  for (int k = 4 * i; k < 4 * i + 4; ++k) {
    word = word << 8 | (k < left ? rest[k] : k == left ? 0x80u : 0u);
  }
  return word;
}

__global__ void digest_ranges(const byte_range* ranges, std::ptrdiff_t count,
                              std::uint32_t* digests) {
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= count) return;
  const auto* data = static_cast<const unsigned char*>(ranges[at].data);
  const std::size_t bytes = ranges[at].count;
  std::uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::uint32_t w[16];
  for (std::size_t i = 0; i < bytes / block_bytes; ++i) {
#pragma unroll
    for (int k = 0; k < 16; k += 4) {
      const uint4 x = *reinterpret_cast<const uint4*>(data + 4 * k);
      w[k] = swapped(x.x), w[k + 1] = swapped(x.y);
      w[k + 2] = swapped(x.z), w[k + 3] = swapped(x.w);
    }
    take_block(h, w);
    data += block_bytes;
  }
  int left = static_cast<int>(bytes % block_bytes);
  const bool two = left >= block_bytes - 8;
  for (int n = 0; n <= (two ? 1 : 0); ++n) {
    for (int i = 0; i < 16; ++i) {
      w[i] = last_word(data, left, i, n == (two ? 1 : 0),
                       std::uint64_t{8} * bytes);
    }
    take_block(h, w);
    left -= block_bytes;  // the second block has none of the bytes
  }
  for (int i = 0; i < 8; ++i) digests[8 * at + i] = h[i];
}

}  // namespace

void sha256(const byte_range* ranges, std::ptrdiff_t count,
            std::uint32_t* digests, CUstream_st* stream) {
  const argument_checks r("cuda::sha256");
  r.need(count >= 0, "the number of ranges is negative");
  if (count == 0) return;
  r.need_gpu();
  digest_ranges<<<r.blocks(ceil_div(count, threads)), threads, 0, stream>>>(
      ranges, count, digests);
  r.launched();
}

}  // namespace zeroulp::cuda
