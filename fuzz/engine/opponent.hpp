// Defines `opponent`: one side of a comparison, an implementation that may be
// run with other settings than the problem has.

#ifndef ZEROULP_FUZZ_ENGINE_OPPONENT_HPP_
#define ZEROULP_FUZZ_ENGINE_OPPONENT_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/contract/call_failure.hpp"
#include "conformance/mutants/mutant.hpp"
#include "fuzz/cases/problem.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {

struct opponent {
  std::string name;
  implementation table;
  /// Completes "the result is ...", such as "as if c were added last".
  std::string what;
  pins change;  ///< to other settings, such as a convention; may be empty
  bool may_refuse = false;  ///< and tells request_log of each request
};

/// Returns the outputs for the problem; after a call_failure, outputs that
/// failure_in reads.
outputs run(const opponent& o, const problem& p);

/// Returns how the call that gave these outputs failed, if it did.
std::optional<conformance::call_failure> failure_in(const outputs& made);

/// The core: the definition.
opponent core_opponent();

opponent opponent_of(implementation i, std::string what = "");
opponent opponent_of(const conformance::mutant& m);

// The core with another convention, recipe or path: the recipe for the
// problem's operands and scales, the path for operands of the same formats.
opponent by_convention(const named_convention& c);
opponent by_recipe(const named_recipe& r);
opponent by_path(const named_path& p);

/// Returns true iff `o` has nothing of its own for problems of `t`.
bool answers_as_core(const opponent& o, target t);

/// MPFR, GMP, rational numbers, the host's FP32: code that shares nothing with
/// the core. Only approximate quotients are the core's; those are compared with
/// an H200 elsewhere.
opponent oracle_opponent();

/// Returns the opponent called `name`: core, oracle, engine, mutant:NAME,
/// convention:NAME, recipe:NAME, path:NAME. Throws input_error if there is
/// none, or if it would answer target `t` as the core does.
opponent parse_opponent(std::string_view name, target t);

/// The named ways to be wrong: every mutant, and for a quantizer, GEMM or step
/// every convention, recipe or path. Those that cannot matter to `t` are left
/// out.
std::vector<opponent> fingerprints(target t);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_OPPONENT_HPP_
