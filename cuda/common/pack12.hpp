// Defines how eight 12-bit codes convert between 16-bit elements and packed
// words, on host and device: SPEC, P1 and P2. Elements take four words, the
// first code in the low half of the first; packed, they take three.

#ifndef ZEROULP_CUDA_COMMON_PACK12_HPP_
#define ZEROULP_CUDA_COMMON_PACK12_HPP_

#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// Joins a word's two codes in 24 bits, the first one low or high. Bits above a
/// code's are ignored.
ZEROULP_HD constexpr std::uint32_t joined(std::uint32_t codes,
                                          bool is_first_low) {
  return is_first_low ? (codes & 0xfff) | (codes >> 4 & 0xfff000)
                      : (codes & 0xfff) << 12 | (codes >> 16 & 0xfff);
}
ZEROULP_HD constexpr std::uint32_t parted(std::uint32_t pair,
                                          bool is_first_low) {
  return is_first_low ? (pair & 0xfff) | (pair & 0xfff000) << 4
                      : (pair >> 12 & 0xfff) | (pair & 0xfff) << 16;
}

/// Packs eight codes into three words. packing::bytes puts pair i at bit 24 i
/// from the low end, packing::words from the high end.
ZEROULP_HD constexpr void pack_eight(packing how, const std::uint32_t (&x)[4],
                                     std::uint32_t (&packed)[3]) {
  const bool low = how == packing::bytes;
  std::uint32_t pair[4] = {};
  for (int i = 0; i < 4; ++i) pair[i] = joined(x[i], low);
  packed[0] = low ? pair[0] | pair[1] << 24 : pair[0] << 8 | pair[1] >> 16;
  packed[1] = low ? pair[1] >> 8 | pair[2] << 16 : pair[1] << 16 | pair[2] >> 8;
  packed[2] = low ? pair[2] >> 16 | pair[3] << 8 : pair[2] << 24 | pair[3];
}

ZEROULP_HD constexpr void unpack_eight(packing how,
                                       const std::uint32_t (&packed)[3],
                                       std::uint32_t (&x)[4]) {
  const bool low = how == packing::bytes;
  const std::uint32_t a = packed[0], b = packed[1], c = packed[2];
  x[0] = parted(low ? a : a >> 8, low);
  x[1] = parted(low ? a >> 24 | b << 8 : a << 16 | b >> 16, low);
  x[2] = parted(low ? b >> 16 | c << 16 : b << 8 | c >> 24, low);
  x[3] = parted(low ? c >> 8 : c, low);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_PACK12_HPP_
