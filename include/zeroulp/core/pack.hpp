// Defines the two layouts of 12-bit codes (E5M6).
//
//   bytes: two codes in three bytes, little end first; a row starts on a byte
//   and
//          an odd row is padded with code 0
//   words: eight codes in three 32-bit words, from the highest bit of the first
//
// Source: SPEC clauses P1 and P2.

#ifndef ZEROULP_CORE_PACK_HPP_
#define ZEROULP_CORE_PACK_HPP_

#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// Bytes of a packed row of n 12-bit codes.
ZEROULP_HD constexpr std::ptrdiff_t packed_bytes(std::ptrdiff_t n) {
  return ceil_div(n, 2) * 3;
}

/// Packs the rows of an m x n matrix of 12-bit codes; `out` is m x
/// packed_bytes(n).
template <class Code>
ZEROULP_HD constexpr void pack_bytes(matrix_view<const Code> codes,
                                     matrix_view<std::uint8_t> out) {
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; j += 2) {
      const std::uint32_t low = codes(i, j) & 0xfffu;
      const std::uint32_t high =
          j + 1 < codes.cols ? codes(i, j + 1) & 0xfffu : 0;
      const std::uint32_t both = low | high << 12;
      for (int byte = 0; byte < 3; ++byte) {
        out(i, j / 2 * 3 + byte) =
            static_cast<std::uint8_t>(both >> (8 * byte) & 0xff);
      }
    }
  }
}

template <class Code>
ZEROULP_HD constexpr void unpack_bytes(matrix_view<const std::uint8_t> packed,
                                       matrix_view<Code> codes) {
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      std::uint32_t both = 0;
      for (int byte = 0; byte < 3; ++byte) {
        both |= static_cast<std::uint32_t>(packed(i, j / 2 * 3 + byte))
                << (8 * byte);
      }
      codes(i, j) = static_cast<Code>(both >> (j % 2 * 12) & 0xfff);
    }
  }
}

/// Bytes of a row of n codes packed as words: whole groups of eight.
ZEROULP_HD constexpr std::ptrdiff_t packed_word_bytes(std::ptrdiff_t n) {
  return ceil_div(n, 8) * 12;
}

namespace detail {

/// Where bit `bit` of code i stands in its three words: 32 * word + bit of the
/// word. The codes fill the words from the highest bit of word 0.
ZEROULP_HD constexpr int word_bit(int i, int bit) {
  const int from_the_end = 12 * (7 - i) + bit;
  return 32 * (2 - from_the_end / 32) + from_the_end % 32;
}

}  // namespace detail

/// Packs eight codes into three words, stored little end first; `out` is m x
/// packed_word_bytes(n). Missing codes are 0.
template <class Code>
ZEROULP_HD constexpr void pack_words(matrix_view<const Code> codes,
                                     matrix_view<std::uint8_t> out) {
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) out(i, j) = 0;
  }
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      for (int bit = 0; bit < 12; ++bit) {
        const int at = detail::word_bit(static_cast<int>(j % 8), bit);
        auto& byte = out(i, j / 8 * 12 + at / 8);
        byte = static_cast<std::uint8_t>(byte | (codes(i, j) >> bit & 1u)
                                                    << at % 8);
      }
    }
  }
}

template <class Code>
ZEROULP_HD constexpr void unpack_words(matrix_view<const std::uint8_t> packed,
                                       matrix_view<Code> codes) {
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      std::uint32_t code = 0;
      for (int bit = 0; bit < 12; ++bit) {
        const int at = detail::word_bit(static_cast<int>(j % 8), bit);
        code |= (packed(i, j / 8 * 12 + at / 8) >> at % 8 & 1u) << bit;
      }
      codes(i, j) = static_cast<Code>(code);
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_PACK_HPP_
