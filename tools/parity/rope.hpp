// Defines what the rope's rules share: its operands, the columns that turn, the
// angle of a position. Internal.

#ifndef ZEROULP_TOOLS_PARITY_ROPE_HPP_
#define ZEROULP_TOOLS_PARITY_ROPE_HPP_

#include <map>
#include <memory>
#include <vector>

#include "tools/parity/problem.hpp"

namespace zeroulp::parity {

enum rope_operand : std::size_t { x_of, positions_of, cosines_of, sines_of };

/// The columns of a head, and those that turn.
struct head_shape {
  std::ptrdiff_t count, width, first, half;

  /// Throws input_error where the columns are no such heads.
  explicit head_shape(const problem& p);
  /// The columns of pair k of a head, and how far they are apart.
  std::ptrdiff_t column(const rope_settings& s, std::ptrdiff_t head,
                        std::ptrdiff_t k) const {
    return head * width + first + (s.halves ? k : 2 * k);
  }
  std::ptrdiff_t apart(const rope_settings& s) const {
    return s.halves ? half : 1;
  }
};

/// The position of each row. Throws input_error.
std::vector<std::ptrdiff_t> positions(const problem& p);

/// base^(-2i/n), as the settings say.
double frequency(const rope_settings& s, std::ptrdiff_t n, std::ptrdiff_t i);

/// x c + y s, and which product the fused multiply-add has.
float turned(rope_products how, float x, float c, float y, float s);

/// cos and sin of fl(position f), both FP32.
struct cosine_and_sine {
  std::uint32_t cosine, sine;
};
cosine_and_sine of_fp32_angle(std::ptrdiff_t position, float f);

outputs run_rope(const problem& p);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_ROPE_HPP_
