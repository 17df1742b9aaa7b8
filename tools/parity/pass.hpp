// Defines `rows_of_pass`: the part of a pass on which rules are sought, and an
// operator of a side on it. Internal.

#ifndef ZEROULP_TOOLS_PARITY_PASS_HPP_
#define ZEROULP_TOOLS_PARITY_PASS_HPP_

#include <optional>
#include <vector>

#include "tools/parity/rules.hpp"

namespace zeroulp::parity {

/// Rows of the pass: those of a grid that begins at row 0, in steps of `count`.
struct rows_of_pass {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool is_whole = false;   ///< there are no others
  std::uint64_t grid = 0;  ///< the step; 0: count
  bool may_cut = false;    ///< whole, but no row depends on others

  std::uint64_t end() const { return first + count; }
  std::uint64_t step() const { return grid > 0 ? grid : count; }

  /// Those of an operand: m's groups are rows of the pass.
  fuzz::range of(char dimension, std::int32_t group, std::uint64_t all) const {
    const auto whole = static_cast<std::ptrdiff_t>(all);
    if (dimension != 'm' || group == 0) return {0, whole};
    const auto g = static_cast<std::uint64_t>(group);
    const std::uint64_t from = std::min(first / g, all);
    const std::uint64_t last = std::min((first + count + g - 1) / g, all);
    return {static_cast<std::ptrdiff_t>(from),
            static_cast<std::ptrdiff_t>(last - from)};
  }
};

/// The rows of an operator that are one of an output's `mine`.
std::int32_t group_of(std::uint64_t rows, std::uint64_t mine);

/// Up to `count` rows that hold the first that differs; all where count is 0 or
/// a row depends on all.
rows_of_pass choose_rows(const std::vector<chain_operator>& chain,
                         const dump& a, std::uint64_t count,
                         std::uint64_t first);

/// The rows of the grid's step that holds a row of `all`.
rows_of_pass in_grid(std::uint64_t row, std::uint64_t step, std::uint64_t all);

/// The rows of an operator; nothing: it has none that are those of the pass.
std::optional<std::uint64_t> all_rows_of(const chain_operator& o,
                                         const dump& a);

/// Those of an operator: it may have fewer rows than the pass.
rows_of_pass rows_of(const chain_operator& o, const dump& a,
                     const rows_of_pass& pass);

/// Whether a rule gives every bit of a side's outputs on these rows.
bool gives(const rule& by, const chain_operator& o, const dump& side,
           const rows_of_pass& rows);

/// The rows of a side's tensors.
tensor_source source_of(const dump& side, const rows_of_pass& rows);

/// Throws input_error that names operator and dump.
question question_of(const chain_operator& o, const dump& side,
                     const rows_of_pass& rows);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_PASS_HPP_
