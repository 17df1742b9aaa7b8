// Defines `find_rule`: what an operator of one side does, found from its inputs
// and outputs alone.
//
//   as claimed   the chain's settings give every bit
//   another      a definition, a variant, a misreading or a named fault does,
//                or gives nine of ten of the elements that differ
//   unknown      none does; `near` has the likeliest
//
// Others that give the same bits on this data are named with it. A variant is
// what implementations do that no convention of the library says: an operand
// that went through BF16, a product rounded before the next.

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
  problem p;
  outputs claimed;
  outputs made;
};

/// Where a tensor of the pass comes from: a dump, or what was computed.
using tensor_source = std::function<fuzz::matrix(
    const std::string& tensor, const fuzz::operand_spec& spec)>;

/// The rows of an operand's tensor.
std::uint64_t rows_of_operand(const dump& side, const std::string& tensor,
                              const fuzz::operand_spec& spec);

/// The problem of an operator without operands; settings that are left out
/// follow from the types of `types`. Throws input_error.
problem settings_of(const chain_operator& o, const dump& types);

/// The same with its operands; its row 0 is `first_row` of the pass. Throws
/// input_error.
problem problem_of(const chain_operator& o, const dump& types,
                   const tensor_source& source, std::uint64_t first_row = 0);

/// The operator reads FP32 where `setting` says its operands' type: what the
/// operators before make and do not round (`back`: one, or two), else the same
/// numbers. False, and nothing changes: no operator makes them.
bool read_unrounded(problem& p, const char* setting, int back);

/// Whether `answer` has every bit of what was made.
bool gives(const outputs& answer, const outputs& made);

/// The rule of a side. Of `known`, rules of the operator on other rows, one is
/// near where no rule has every bit and it has most.
rule find_rule(const question& q, const std::vector<rule>& known = {});

/// Makes two rules one where one of them gives the bits of both sides: on the
/// inputs of a side, others may give them, too.
void make_one(rule& a, rule& b, const question& of_a, const question& of_b);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_RULES_HPP_
