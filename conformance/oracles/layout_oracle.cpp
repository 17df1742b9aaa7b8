#include "conformance/oracles/layout_oracle.hpp"

namespace zeroulp::oracle {
namespace {

using conformance::pack_layout;

std::ptrdiff_t up_to_4(std::ptrdiff_t n) { return (n + 3) / 4 * 4; }

constexpr std::uint32_t no_byte = 0xff;

/// The ue8m0 byte of FP32 bits: the exponent field of a positive power of two;
/// 2^-127, which FP32 keeps as a subnormal, is byte 0.
std::uint32_t ue8m0_byte(std::uint32_t s) {
  if (s == 0x00400000) return 0;
  const bool power_of_two = (s & 0x807fffff) == 0 && s != 0 && s < 0x7f800000;
  return power_of_two ? s >> 23 : no_byte;
}

}  // namespace

grid lay_out_scales(scale_layout layout, const grid& scales) {
  const std::ptrdiff_t mn = scales.rows;
  const std::ptrdiff_t k = scales.cols;
  grid out;
  switch (layout) {
    case scale_layout::row_major:
      return scales;
    case scale_layout::mn_major:
      out = grid(k, up_to_4(mn), 0);
      break;
    case scale_layout::blk128:
      out = grid(mn, up_to_4(k), 0);
      break;
    case scale_layout::packed_ue8m0:
      out = grid(up_to_4(k) / 4, up_to_4(mn), 0x7f7f7f7f);
      break;
  }
  for (std::ptrdiff_t i = 0; i < mn; ++i) {
    for (std::ptrdiff_t j = 0; j < k; ++j) {
      const std::uint32_t s = scales(i, j);
      if (layout == scale_layout::mn_major) out(j, i) = s;
      if (layout == scale_layout::blk128) out(i, j) = s;
      if (layout == scale_layout::packed_ue8m0) {
        const int low = static_cast<int>(j % 4) * 8;
        // The padding byte 0x7f becomes the scale's.
        out(j / 4, i) ^= (0x7fu ^ ue8m0_byte(s)) << low;
      }
    }
  }
  return out;
}

std::uint32_t scale_read_back(scale_layout layout, std::uint32_t s) {
  if (layout != scale_layout::packed_ue8m0) return s;
  return ue8m0_byte(s) == no_byte ? 0x7fffffff : s;
}

bit_place place_of(pack_layout layout, std::ptrdiff_t j, int bit) {
  if (layout == pack_layout::bytes) {
    // P1: two codes are the 24 bits of three bytes, counted from the low end.
    const std::ptrdiff_t at = j % 2 * 12 + bit;
    return {j / 2 * 3 + at / 8, static_cast<int>(at % 8)};
  }
  // P2: eight codes are the 96 bits of three words, counted from the high end
  // of the first; a word's low byte comes first.
  const std::ptrdiff_t from_top = j % 8 * 12 + (11 - bit);
  const std::ptrdiff_t word = from_top / 32;
  const std::ptrdiff_t at = 31 - from_top % 32;
  return {j / 8 * 12 + word * 4 + at / 8, static_cast<int>(at % 8)};
}

std::ptrdiff_t packed_width(pack_layout layout, std::ptrdiff_t n) {
  return layout == pack_layout::bytes ? (n + 1) / 2 * 3 : (n + 7) / 8 * 12;
}

grid pack(pack_layout layout, const grid& codes) {
  grid out(codes.rows, packed_width(layout, codes.cols));
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      for (int bit = 0; bit < 12; ++bit) {
        const bit_place at = place_of(layout, j, bit);
        out(i, at.byte) |= (codes(i, j) >> bit & 1u) << at.bit;
      }
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
