// Defines how a tensor-core path is known to be what the silicon does. It is no
// part of the core: a measurement adds to it, and must not make stale the
// records that it comes from.

#ifndef ZEROULP_EVIDENCE_HPP_
#define ZEROULP_EVIDENCE_HPP_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace zeroulp {

/// In the order of their strength. A new one comes last.
enum class evidence_kind : std::uint8_t {
  measured,        ///< outputs of the instruction, in conformance/records
  public_vectors,  ///< steps that others recorded and published
  two_models,      ///< directed steps on which a model of others agrees
  published,       ///< what others report
  refuted,         ///< outputs of the instruction contradict it
  definition,      ///< no GPU has it: a clause of the SPEC
  inferred,        ///< nobody looked: other rows of this GPU suggest it
};

struct evidence {
  evidence_kind kind;
  /// Outputs, records or steps without a difference; 0 where nobody counted.
  std::uint64_t cases;
  std::string_view of;  ///< the GPUs, the model, the report or the clause
};

/// The evidence of a path by its name, the strongest first; nothing if there is
/// none.
std::vector<evidence> evidence_of(std::string_view path);

std::string_view name_of(evidence_kind k);
/// Such as "measured: 1e+10 outputs (H100)".
std::string text_of(const evidence& e);

}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_EVIDENCE_HPP_
