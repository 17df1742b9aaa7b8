// Defines `look_at`: the rules of an operator on both sides, sought on some
// rows of the pass and checked on the others. Internal.

#ifndef ZEROULP_TOOLS_PARITY_LOOKS_HPP_
#define ZEROULP_TOOLS_PARITY_LOOKS_HPP_

#include <map>
#include <string>
#include <vector>

#include "tools/parity/parity.hpp"
#include "tools/parity/pass.hpp"

namespace zeroulp::parity {

/// Both sides' dumps, and how each tensor of the chain differs.
struct two_sides {
  const dump& a;
  const dump& b;
  std::map<std::string, const tensor_difference*> by;

  /// Whether some element of the tensor differs on these rows of an operator
  /// that has `all`.
  bool differ(const std::string& tensor, const rows_of_pass& rows,
              std::uint64_t all) const;
};

/// Fills the rules, the parts and the state of `one`. A rule that was found on
/// `rows` is checked on the rows of the operator where it could show, up to
/// `most` of them (0: all), and sought again where it fails.
void look_at(const chain_operator& o, const two_sides& sides,
             const rows_of_pass& rows, std::uint64_t most,
             operator_report& one);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_LOOKS_HPP_
