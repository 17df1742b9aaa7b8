// Defines how operands of a step are read: raw bits in hexadecimal, k
// ascending, no separators. Shared by `step` and by vector files.

#ifndef ZEROULP_TOOLS_ZEROULP_OPERANDS_HPP_
#define ZEROULP_TOOLS_ZEROULP_OPERANDS_HPP_

#include <cstdint>
#include <string_view>
#include <vector>

#include "zeroulp/core/path.hpp"

namespace zeroulp::program {

/// The operands of one step of `p`; where it takes any number, the limit.
std::size_t most_operands(const path& p);

/// Returns the codes of `f` in `text`; `what` names it in errors. TF32 operands
/// are FP32 bits (8 digits) whose low 13 bits are ignored. Throws input_error.
std::vector<std::uint64_t> parse_operands(std::string_view text, format f,
                                          std::string_view what);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_OPERANDS_HPP_
