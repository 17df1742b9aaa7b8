// Defines `explain`: how a result differs from the one that is claimed for it,
// and what may have made it so.
//
//   claimed: the library's outputs for the problem
//   where:   places, patterns, distances, of all elements
//   likely:  suspects that give the given bits where they differ (suspects.hpp)
//
// A suspect is measured on elements in which at least two of claimed, given and
// its own result differ. `explained` of them it gets right: it differs from the
// claim as the given result does. It is likely if it explains at least half of
// them, and far more than by chance: how often a result that differs as the
// given one does, but in other places, would agree with the suspect's.

#ifndef ZEROULP_FUZZ_EXPLAIN_EXPLAIN_HPP_
#define ZEROULP_FUZZ_EXPLAIN_EXPLAIN_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/engine/difference.hpp"
#include "fuzz/explain/suspects.hpp"
#include "zeroulp/metrics.hpp"

namespace zeroulp::fuzz {

/// How one output differs.
struct output_difference {
  std::string name;
  format type = integer;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  ulp_histogram ulps;
  by_kind<std::uint64_t> kinds{};
  error_metrics error;  ///< of given numbers against claimed ones
  std::ptrdiff_t rows_hit = 0;
  std::ptrdiff_t cols_hit = 0;
  std::vector<std::string> patterns;  ///< such as "only in rows 128 and up"
  std::optional<difference> first;    ///< left is claimed, right is given

  std::uint64_t different() const { return ulps.different; }
};

/// One that nobody can tell from another by this data: all give the same bits.
struct tied_cause {
  suspicion of = suspicion::fault;
  std::string name;
  std::string what;
};

struct likely_cause {
  suspicion of = suspicion::fault;
  std::string name;
  std::string what;
  std::uint64_t explained = 0;   ///< differing elements with the given bits
  std::uint64_t left = 0;        ///< differing elements with other bits
  std::uint64_t added = 0;       ///< elements that it alone makes different
  std::vector<tied_cause> same;  ///< others with the same result here

  bool has(std::string_view cause) const;  ///< itself or one of `same`

  bool exact() const { return left == 0 && added == 0; }
  double share() const {
    const auto all = static_cast<double>(explained + left + added);
    return all == 0 ? 0 : static_cast<double>(explained) / all;
  }
};

/// A case in which causes that are tied give different results: whoever runs
/// a kernel on it, too, can tell more of them apart.
struct distinguishing_case {
  std::string token;
  std::size_t results = 0;  ///< how many different ones
};

struct explanation {
  std::vector<output_difference> outputs;  ///< of those that were given
  std::vector<likely_cause> likely;        ///< the likeliest first
  std::optional<distinguishing_case>
      distinguishing;       ///< of the first cause and its ties
  std::uint64_t tried = 0;  ///< suspects
  /// The elements on which suspects ran; fewer than all of a large result.
  std::uint64_t looked_at = 0;
  /// Of a quantizer: codes that differ from those that the claimed rule makes
  /// by the given scales; empty if the scales are the claimed ones.
  std::optional<std::uint64_t> wrong_by_given_scales;
  /// Of a quantizer: the first code that differs, its input and its scale.
  std::string element;

  bool same() const;
};

struct explain_options {
  kind_set ignored;         ///< kinds of differences that do not count
  bool causes = true;       ///< look for them
  bool distinguish = true;  ///< look for a case that tells ties apart
  std::size_t named = 3;    ///< causes that are returned
};

/// Explains `given`, some of the target's outputs, by name. Throws input_error
/// if the problem's operands, or the name or shape of one, do not fit.
explanation explain(const problem& p, const outputs& given,
                    const explain_options& how = {});

/// Returns the outputs that the library claims for the problem.
outputs claimed_outputs(const problem& p);

/// Returns the codes that the library makes of a quantizer's problem by these
/// scales.
matrix codes_by_scales(const problem& p, const matrix& scales);

matrix transposed(const matrix& x);

/// Returns "1.5 (0|0111|100)": the shortest decimal, and sign, exponent and
/// fraction; of an integer, hexadecimal digits.
std::string value_text(format f, std::uint64_t code);

/// Returns what the places of the elements have in common; `hit` says which of
/// the rows x cols they are.
std::vector<std::string> patterns_of(const std::vector<bool>& hit,
                                     std::ptrdiff_t rows, std::ptrdiff_t cols);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_EXPLAIN_HPP_
