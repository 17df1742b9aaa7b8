// Defines `identify_quantizer`: which definition of the grid of conventions
// turns these inputs into these codes and scales.
//
//   (X, CODES, SCALES) -> the class that gives every bit, or the nearest
//
// The grid: formats x groups x readings of SCALES x kinds of scale x fields of
// a convention. Fields take every combination of the values that named ones
// have. Scales are judged first: they depend neither on the element rule nor on
// the policy. The nearest is the one with the fewest wrong scales and, among
// those, the fewest wrong codes. It counts only if its codes are far above
// chance and its scales above it (chance.hpp). Chance is what the same scales
// would get right in another order, and the same codes under other scales.
// Source: SPEC clauses Q1 to Q13.

#ifndef ZEROULP_FUZZ_IDENTIFY_QUANTIZER_HPP_
#define ZEROULP_FUZZ_IDENTIFY_QUANTIZER_HPP_

#include <optional>
#include <string>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "fuzz/identify/chance.hpp"
#include "fuzz/identify/class.hpp"
#include "fuzz/identify/scales.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::fuzz {

/// The inputs and results of an unknown quantizer.
struct quantizer_evidence {
  oracle::grid x;  ///< codes of `from`
  format from = fp32;
  oracle::grid codes;
  int code_bits = 8;  ///< of the type that stores them
  oracle::grid scales;
  scale_words words = scale_words::numbers;  ///< of the scales
  std::optional<format> to;            ///< empty: any one that fits the codes
  std::optional<group_shape> group;    ///< empty: any one that fits the shapes
  std::optional<scale_layout> layout;  ///< of the scales; empty: likewise
  std::string x_name = "X";            ///< name in errors: a file
  std::string codes_name = "CODES";
  std::string scales_name = "SCALES";
};

/// The contents of the matrix of scales.
enum class scale_storage : std::uint8_t {
  scale,       ///< s
  reciprocal,  ///< fl(1 / s)
  inverse,     ///< q = fl(max / amax)
  exponent,    ///< the code of ue8m0 (scale_layout::packed_ue8m0)
};

struct scale_reading {
  group_shape group;
  scale_place place;
  scale_storage holds;

  /// The position of the scale of group (i, j).
  scale_position position(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return has_k_in_rows(group) ? position_of(place, j, i)
                                : position_of(place, i, j);
  }
};

/// A word that differs, and its input.
struct wrong_scale {
  wrong_word at;       ///< row and column of SCALES
  int byte;            ///< of a packed word
  std::uint32_t amax;  ///< FP32 bits, before the floor
};
struct wrong_code {
  wrong_word at;
  std::uint32_t x;  ///< FP32 bits
};

struct quantizer_answer {
  bool exact = false;        ///< every bit
  bool scales_tell = false;  ///< they are far above chance
  bool codes_tell = false;
  bool is_near = false;  ///< exact, or both are: else none is found
  bool tells() const { return scales_tell || codes_tell; }
  std::uint64_t tried = 0;
  std::vector<fitting_field> grid;  ///< every field with all values tried
  agreement scales;                 ///< of the nearest
  agreement codes;
  agreement chance_of_scales;
  agreement chance_of_codes;  ///< over some of the codes
  double seconds = 0;         ///< of the search
  // The rest is set if `is_near`.
  definition_class found;
  quantizer how{};  ///< one of the class; from FP32
  scale_reading reading{};
  std::optional<wrong_scale> first_scale;
  std::optional<wrong_code> first_code;
};

/// Throws input_error if shapes or codes do not fit each other, or there are no
/// elements.
quantizer_answer identify_quantizer(const quantizer_evidence& e);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_QUANTIZER_HPP_
