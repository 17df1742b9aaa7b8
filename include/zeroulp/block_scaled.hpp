// Defines the names of paths with block scales, and their product on all cores.
//
//   const auto p = parse_block_scaled_path(
//       "blackwell.tcgen05.mxf8f6f4.e4m3.e4m3.f32");
//   engine::multiply(p.value, a, scales_a, b, scales_b, c, d);

#ifndef ZEROULP_BLOCK_SCALED_HPP_
#define ZEROULP_BLOCK_SCALED_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/core/block_scaled.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/evidence.hpp"

#pragma GCC visibility push(default)
namespace zeroulp {

/// A path with block scales and its name: family . A . B . D.
struct named_block_scaled_path {
  std::string name;
  block_scaled_path value;
  std::vector<evidence> known_by;  ///< the strongest first
};

/// Every such path of a GPU: each family with each pair of formats.
const std::vector<named_block_scaled_path>& all_block_scaled_paths();

/// A name of all_block_scaled_paths(), or whatif.block_scaled_fN.A.B.f32 with
/// 8 <= N <= 34. Throws input_error.
named_block_scaled_path parse_block_scaled_path(std::string_view text);

namespace engine {

/// D = the chain of steps of `p` over K, starting from C. Scales are codes of
/// p.scale, one for each row and p.block elements of K, the last block in part.
/// C and D are m x n codes of p.unscaled.acc.stored; C may have null data (+0).
/// Throws input_error if `p` is not valid, or shapes or formats do not fit.
/// Speed: every product goes through the core.
void multiply(const block_scaled_path& p, const prepared_operand& a,
              matrix_view<const std::uint8_t> scales_a,
              const prepared_operand& b,
              matrix_view<const std::uint8_t> scales_b,
              matrix_view<const std::uint32_t> c, matrix_view<std::uint32_t> d);

}  // namespace engine
}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_BLOCK_SCALED_HPP_
