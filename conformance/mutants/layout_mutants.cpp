// Wrong layouts of scales and packings of codes.

#include <vector>

#include "conformance/mutants/quantizer_parts.hpp"

namespace zeroulp::conformance {
namespace {

void block_scales_unpadded(scale_layout layout, codes_in scales,
                           codes_out out) {
  lay_out_scales(layout, scales, out);
  const bool dense = out.row_stride == out.cols && out.col_stride == 1;
  if (layout != scale_layout::blk128 || !dense) return;
  // Rows follow one another as if they were not padded.
  for (std::ptrdiff_t i = 0; i < out.rows * out.cols; ++i) out.data[i] = 0;
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      out.data[i * scales.cols + k] = scales(i, k);
    }
  }
}

std::uint32_t read_unpadded(scale_layout layout, codes_in stored,
                            std::ptrdiff_t i, std::ptrdiff_t k) {
  const bool padded =
      layout == scale_layout::blk128 && i > 0 && k + 1 < stored.cols;
  return scale_at(layout, stored, padded ? i - 1 : i, padded ? k + 1 : k);
}

void padding_is_one(scale_layout layout, codes_in scales, codes_out out) {
  lay_out_scales(layout, scales, out);
  if (layout != scale_layout::mn_major) return;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = scales.rows; j < out.cols; ++j) {
      out(i, j) = fp32_one;
    }
  }
}

void ue8m0_padding_is_zero(scale_layout layout, codes_in scales,
                           codes_out out) {
  lay_out_scales(layout, scales, out);
  if (layout != scale_layout::packed_ue8m0) return;
  for (std::ptrdiff_t j = scales.rows; j < out.cols; ++j) {
    for (std::ptrdiff_t i = 0; i < out.rows; ++i) out(i, j) = 0;
  }
}

void ue8m0_big_end_first(scale_layout layout, codes_in scales, codes_out out) {
  lay_out_scales(layout, scales, out);
  if (layout != scale_layout::packed_ue8m0) return;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out(i, j) = __builtin_bswap32(out(i, j));
    }
  }
}

void ue8m0_drops_fraction(scale_layout layout, codes_in scales, codes_out out) {
  std::vector<std::uint32_t> cut(
      static_cast<std::size_t>(scales.rows * scales.cols));
  const codes_out copy(cut.data(), scales.rows, scales.cols);
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
      const std::uint32_t s = scales(i, k);
      const bool number = s >= 0x00800000 && s < fp32_infinity;
      const bool packs = layout == scale_layout::packed_ue8m0 && number;
      copy(i, k) = packs ? s & 0xff800000 : s;
    }
  }
  lay_out_scales(layout, copy, out);
}

std::uint32_t byte_0_is_zero(scale_layout layout, codes_in stored,
                             std::ptrdiff_t i, std::ptrdiff_t k) {
  const std::uint32_t s = scale_at(layout, stored, i, k);
  const bool lowest = layout == scale_layout::packed_ue8m0 && s == 0x00400000;
  return lowest ? 0 : s;
}

void pack_big_end_first(pack_layout layout, codes_in codes, bytes_out out) {
  core_implementation().pack(layout, codes, out);
  if (layout != pack_layout::bytes) return;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j + 2 < out.cols; j += 3) {
      const auto first = out(i, j);
      out(i, j) = out(i, j + 2);
      out(i, j + 2) = first;
    }
  }
}

void pack_odd_rows_repeat(pack_layout layout, codes_in codes, bytes_out out) {
  core_implementation().pack(layout, codes, out);
  if (layout != pack_layout::bytes || codes.cols % 2 == 0) return;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    // The missing code is a copy of the last.
    const std::uint32_t last = codes(i, codes.cols - 1) & 0xfff;
    auto& middle = out(i, out.cols - 2);
    middle = static_cast<std::uint8_t>(middle | (last & 0xf) << 4);
    out(i, out.cols - 1) = static_cast<std::uint8_t>(last >> 4);
  }
}

void words_big_end_first(pack_layout layout, codes_in codes, bytes_out out) {
  core_implementation().pack(layout, codes, out);
  if (layout != pack_layout::words) return;
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j + 3 < out.cols; j += 4) {
      for (int b = 0; b < 2; ++b) {
        const auto low = out(i, j + b);
        out(i, j + b) = out(i, j + 3 - b);
        out(i, j + 3 - b) = low;
      }
    }
  }
}

void unpack_8_bits_of_last(pack_layout layout, bytes_in packed,
                           codes_out codes) {
  core_implementation().unpack(layout, packed, codes);
  if (codes.cols % 2 == 0) return;
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    codes(i, codes.cols - 1) &= 0xff;
  }
}

}  // namespace

mutant_list layout_mutants() {
  return {
      core_but("block_scales_unpadded",
               "as if rows of blk128 scales were not padded",
               &implementation::lay_out_scales, block_scales_unpadded),
      core_but("block_scales_read_unpadded",
               "as if blk128 scales were read with too short a stride",
               &implementation::scale_at, read_unpadded),
      core_but("padding_is_one", "as if mn_major were padded with 1",
               &implementation::lay_out_scales, padding_is_one),
      core_but("ue8m0_padding_is_zero", "as if ue8m0 were padded with byte 0",
               &implementation::lay_out_scales, ue8m0_padding_is_zero),
      core_but("ue8m0_big_end_first",
               "as if the first exponent stood in the high byte",
               &implementation::lay_out_scales, ue8m0_big_end_first),
      core_but("ue8m0_drops_fraction",
               "as if a scale that is no power of two were cut to one",
               &implementation::lay_out_scales, ue8m0_drops_fraction),
      core_but("ue8m0_byte_0_is_zero", "as if byte 0 were 0, not 2^-127",
               &implementation::scale_at, byte_0_is_zero),
      core_but("pack_big_end_first", "as if three bytes had big end first",
               &implementation::pack, pack_big_end_first),
      core_but("pack_odd_rows_repeat",
               "as if an odd row were padded with its last code",
               &implementation::pack, pack_odd_rows_repeat),
      core_but("words_big_end_first", "as if words were stored big end first",
               &implementation::pack, words_big_end_first),
      core_but("unpack_8_bits_of_last",
               "as if the last code of an odd row had 8 bits",
               &implementation::unpack, unpack_8_bits_of_last),
  };
}

}  // namespace zeroulp::conformance
