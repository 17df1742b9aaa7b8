// Defines `rule`: what an operator of one side does, found from its inputs and
// outputs alone.
//
//   as claimed   the chain's settings give every bit
//   another      a definition, a variant, a misreading or a named fault does,
//                or gives nine of ten of the elements that differ
//   unknown      none does; `near` has the likeliest
//
// A variant is what implementations do that no convention of the library says:
// an operand that went through BF16, a product rounded before the next.

#ifndef ZEROULP_TOOLS_PARITY_RULES_HPP_
#define ZEROULP_TOOLS_PARITY_RULES_HPP_

#include <functional>
#include <string>
#include <vector>

#include "fuzz/explain/explain.hpp"
#include "tools/parity/chain.hpp"
#include "tools/parity/dump.hpp"

namespace zeroulp::parity {

/// The problem of an operator; its outputs as the chain claims them, and as the
/// side has them.
struct question {
  fuzz::problem p;
  fuzz::outputs claimed;
  fuzz::outputs made;
};

/// Where a tensor of the pass comes from: a dump, or what was computed.
using tensor_source =
    std::function<fuzz::matrix(const std::string& tensor, const char* as,
                               format type, char rows, std::int32_t group)>;

/// The problem of an operator with the settings that follow from the types of
/// `types`. Throws input_error.
fuzz::problem problem_of(const chain_operator& o, const dump& types,
                         const tensor_source& source);

struct rule {
  std::string name;  ///< "as claimed", "vllm", ...; empty: unknown
  std::string what;
  std::string near;  ///< of an unknown one: the likeliest, with its share
  std::function<fuzz::outputs(const fuzz::problem&)> answer;

  bool is_known() const { return !name.empty(); }
};

rule find_rule(const question& q);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_RULES_HPP_
