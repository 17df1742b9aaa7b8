// Defines the shares of rules: how much of the final difference each makes.
// Internal.

#ifndef ZEROULP_TOOLS_PARITY_SHARES_HPP_
#define ZEROULP_TOOLS_PARITY_SHARES_HPP_

#include <vector>

#include "tools/parity/parity.hpp"
#include "tools/parity/pass.hpp"

namespace zeroulp::parity {

/// The share that each rule of B has, and all of them together, on these rows.
void add_shares(const std::vector<chain_operator>& chain, const dump& a,
                const dump& b, const std::vector<rows_of_pass>& windows,
                parity_report& r);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_SHARES_HPP_
