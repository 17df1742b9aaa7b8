// Defines variants: what implementations do that neither a definition of the
// library nor a fault of the fuzzer says. Internal.

#ifndef ZEROULP_TOOLS_PARITY_VARIANTS_HPP_
#define ZEROULP_TOOLS_PARITY_VARIANTS_HPP_

#include "tools/parity/problem.hpp"

namespace zeroulp::parity {

/// Of an operator, for outputs that a side has; the likelier first.
std::vector<rule> variants_of(const problem& p, const outputs& made);

/// What a suspect of the fuzzer changes, by its name.
change change_of(const std::string& suspect);

// Of targets of the fuzzer.
void add_norm_variants(std::vector<rule>& all);
void add_gemm_variants(const problem& p, std::vector<rule>& all);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_VARIANTS_HPP_
