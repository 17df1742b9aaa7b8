// Defines who is held against whom: `opponent`, an implementation that may be
// asked another question than the one in the problem.

#ifndef ZEROULP_FUZZ_ENGINE_OPPONENT_HPP_
#define ZEROULP_FUZZ_ENGINE_OPPONENT_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/contract/call_failure.hpp"
#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

struct opponent {
  std::string name;
  implementation table;
  /// Completes "the result is ...", such as "as if c were added last".
  std::string what;
  pins change;  ///< of the settings, such as another convention; may be empty
  bool may_refuse = false;  ///< and tells request_log what it is asked
};

/// Returns what it makes of the problem; of a call_failure what failure_in
/// reads.
outputs run(const opponent& o, const problem& p);

/// Returns how the call that gave these outputs failed, if it did.
std::optional<conformance::call_failure> failure_in(const outputs& made);

/// The definition.
opponent core_opponent();

/// MPFR, GMP, rational numbers, the host's FP32: code that the core shares
/// nothing with. Approximate quotients are the core's, which are held against
/// an H200 elsewhere.
opponent oracle_opponent();

/// Returns the opponent called `name`: core, oracle, engine, mutant:NAME,
/// convention:NAME, recipe:NAME, path:NAME. Throws input_error, also if it
/// would answer target `t` as the core does.
opponent parse_opponent(std::string_view name, target t);

/// The ways to be wrong that have a name: every mutant, and for a quantizer or
/// GEMM every convention or recipe. Those that cannot matter to `t` are left
/// out.
std::vector<opponent> fingerprints(target t);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_OPPONENT_HPP_
