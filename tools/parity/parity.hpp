// Defines `parity`: the first tensor and the first rule in which two dumps of
// one pass differ, and how much of the final difference each rule makes.
//
//   differs    a rule of B is another than A's
//   inherited  the same rule on inputs that differ
//   unknown    outputs differ, and a rule was not found
//
// All elements are compared. Rules are sought on some rows of the pass, those
// that hold the first that differs; products and norms of a row depend on it
// alone. Each rule is then checked on all other rows on which it could show,
// and sought again where it has not every bit. The share of a rule: A's pass is
// computed again with B's rule in one operator, on the rows on which rules were
// sought; 1 - |that - B| / |A - B| of the last tensor.

#ifndef ZEROULP_TOOLS_PARITY_PARITY_HPP_
#define ZEROULP_TOOLS_PARITY_PARITY_HPP_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/parity/rules.hpp"

namespace zeroulp::parity {

enum class state { equal, differs, inherited, unknown };
/// "equal", "differs", "inherited", "unknown".
const char* name_of(state s);

struct compared_tensor {
  std::string name;
  tensor_difference by;
};

/// Rows of an operator on which both sides keep their rules.
struct rules_on_rows {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  rule a;
  rule b;
  state said = state::equal;
  bool is_sought = false;  ///< here, not known from other rows
};

struct operator_report {
  std::string name;
  std::string is;
  state said = state::equal;
  rule a;  ///< of the first part that has the state
  rule b;
  std::vector<compared_tensor> reads;  ///< those that no operator makes
  std::vector<compared_tensor> makes;
  std::optional<double> share;  ///< of the final difference; none: not computed
  /// "the order of sums", "the accumulator of sums", where rules differ in that
  /// alone.
  std::string alone;
  std::uint64_t rows = 0;     ///< of the operator
  std::uint64_t checked = 0;  ///< those of them that rules were held against
  std::vector<rules_on_rows> parts;

  bool is_checked() const { return checked >= rows; }
};

struct parity_report {
  std::vector<operator_report> operators;
  std::string first_tensor;  ///< that differs; empty: all are equal
  std::string first_rule;    ///< the operator whose rules differ first
  bool is_input = false;     ///< no operator makes the first tensor
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;  ///< of the pass
  /// On which shares were computed: [first, end).
  std::vector<std::pair<std::uint64_t, std::uint64_t>> share_rows;
  std::optional<double> all_rules;  ///< share of all rules of B together
  /// Operators whose rules of B are not among them: none computes them again.
  std::vector<std::string> no_share;
  std::string why_no_shares;
  /// What `alone` says of every operator whose rules differ; "": more.
  std::string alone;

  bool same() const { return first_tensor.empty(); }
  /// Whether every rule was held against all rows on which it could show.
  bool is_checked() const;
};

struct parity_options {
  std::uint64_t rows = 128;   ///< on which rules are sought; 0: all
  std::uint64_t checked = 0;  ///< on which they are checked; 0: all
  std::function<void(double done, double total, const std::string& what)>
      progress;
};

/// Throws input_error if a tensor is missing, or cannot be what the chain says.
parity_report compare(const std::vector<chain_operator>& chain, const dump& a,
                      const dump& b, const parity_options& how);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_PARITY_PARITY_HPP_
