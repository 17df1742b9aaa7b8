// Defines how a matrix of mn x k scales may lie in a file: in a layout of SPEC
// clause Q11, or in its transpose.
//
// Padding is ignored: kernels may leave anything there.

#ifndef ZEROULP_FUZZ_IDENTIFY_SCALES_HPP_
#define ZEROULP_FUZZ_IDENTIFY_SCALES_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::fuzz {

/// The type of the file's elements.
enum class scale_words : std::uint8_t {
  numbers,    ///< FP32 bits
  exponents,  ///< a code of ue8m0
  packed,     ///< four codes of ue8m0 along K, the first in the low byte
};

/// How scales lie in the file.
struct scale_place {
  scale_words words;
  bool k_in_rows;  ///< rows run along K; else along M or N
  bool padded;
  std::string layout;  ///< its name
};

/// An element of the file, or a byte of it, counted from the low one.
struct scale_position {
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  int byte;  ///< of packed words; else 0
};

/// The shape of a matrix of scales: rows along M or N, columns along K.
struct scale_shape {
  std::ptrdiff_t mn;
  std::ptrdiff_t k;
};

/// Returns the ways in which a file of rows x cols elements can hold scales of
/// this shape; `only` restricts them to one layout.
std::vector<scale_place> places_of(scale_words words, layout_shape file,
                                   scale_shape scales,
                                   std::optional<scale_layout> only = {});

scale_position position_of(const scale_place& place, std::ptrdiff_t i,
                           std::ptrdiff_t k);

/// Returns true iff K runs along the rows: groups are columns, such as 128x1.
constexpr bool has_k_in_rows(group_shape g) {
  return g.cols == 1 && g.rows != 1;
}

/// Returns the FP32 bits, or the ue8m0 code, at a position.
inline std::uint32_t word_at(const oracle::grid& file, const scale_place& place,
                             scale_position at) {
  const std::uint32_t word = file(at.row, at.col);
  return place.words == scale_words::packed ? word >> 8 * at.byte & 0xff : word;
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_SCALES_HPP_
