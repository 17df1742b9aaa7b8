// A's pass again, with rules of B.

#include "tools/parity/shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/parity/numbers.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

using tensors = std::map<std::string, matrix>;

/// From what was computed, else from the dump.
tensor_source source_of(const tensors& computed, const dump& a,
                        const tensor_source& other) {
  return [&](const std::string& tensor, const fuzz::operand_spec& spec) {
    const auto at = computed.find(tensor);
    if (at == computed.end()) return other(tensor, spec);
    matrix m = at->second;
    const bool is_part = m.words.size() < a.find(tensor).count();
    if (spec.rows.name != 'm' && is_part) {
      throw input_error(fmt::format(
          "all rows of tensor '{}' are read: use --rows 0", tensor));
    }
    m.name = spec.name;
    if (m.type != spec.type) {
      for (auto& word : m.words) word = widened(m.type, word, spec.type);
      m.type = spec.type;
    }
    return m;
  };
}

/// By operator, whether it is B's rule that computes it.
using choice = std::vector<bool>;

/// Whether A's rule gives A's bits in all rows.
bool is_exact(const operator_report& o) {
  return o.a.is_exact() &&
         std::all_of(o.parts.begin(), o.parts.end(),
                     [](const auto& on) { return on.a.is_exact(); });
}

/// What computes an operator again. Throws input_error.
const rule& repeated(const operator_report& o, bool is_b) {
  const rule& by = is_b ? o.b : o.a;
  if (by.answer && (is_b || is_exact(o))) return by;
  throw input_error(fmt::format(
      "operator '{}' has a rule that cannot be computed again", o.name));
}

/// The last tensor of A's pass with B's rules in some operators. What they do
/// not change is A's own.
matrix last_by(const std::vector<chain_operator>& chain, const dump& a,
               const rows_of_pass& rows, const parity_report& r,
               const choice& is_b, const matrix& last_of_a) {
  const tensor_source from_dump = source_of(a, rows);
  tensors moved;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const chain_operator& o = chain[i];
    const bool moves = is_b[i] || std::any_of(o.reads.begin(), o.reads.end(),
                                              [&](const auto& x) {
                                                return moved.contains(x.second);
                                              });
    if (!moves) continue;
    const outputs made =
        repeated(r.operators[i], is_b[i])
            .answer(
                problem_of(o, a, source_of(moved, a, from_dump), rows.first));
    for (const auto& [output, tensor] : o.makes) {
      for (const matrix& x : made) {
        if (output == x.name) moved[tensor] = x;
      }
    }
  }
  const auto last = moved.find(chain.back().makes.back().second);
  return last == moved.end() ? last_of_a : last->second;
}

/// |a - b|^2, of numbers alone.
double squared_distance(const matrix& a, const matrix& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    if (a.type == b.type && a.words[i] == b.words[i]) continue;
    const double x = to_double(decode(a.type, a.words[i]));
    const double y = to_double(decode(b.type, b.words[i]));
    if (std::isfinite(x) && std::isfinite(y)) sum += (x - y) * (x - y);
  }
  return sum;
}

/// Squared distances of the last tensor from B's, summed over windows.
struct distances {
  double whole = 0;         ///< of A's
  std::vector<double> one;  ///< of A's pass with one rule of B
  double all = 0;           ///< with all of them
};

bool is_other(const operator_report& o) {
  return o.a.name != o.b.name || o.parts.size() > 1;
}

/// Whether the operator has a share: B's rule is another, and is computed.
bool is_shared(const operator_report& o) { return is_other(o) && o.b.answer; }

void add_window(const std::vector<chain_operator>& chain, const dump& a,
                const dump& b, const rows_of_pass& rows, const parity_report& r,
                distances& sum) {
  const matrix of_a = question_of(chain.back(), a, rows).made.back();
  const matrix of_b = question_of(chain.back(), b, rows).made.back();
  sum.whole += squared_distance(of_a, of_b);
  const auto with = [&](const choice& is_b) {
    return squared_distance(last_by(chain, a, rows, r, is_b, of_a), of_b);
  };
  choice all(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!is_shared(r.operators[i])) continue;
    choice one(chain.size());
    one[i] = all[i] = true;
    sum.one[i] += with(one);
  }
  sum.all += with(all);
}

double share_of(double squared, double whole) {
  return 1 - std::sqrt(squared) / std::sqrt(whole);
}

}  // namespace

void add_shares(const std::vector<chain_operator>& chain, const dump& a,
                const dump& b, const std::vector<rows_of_pass>& windows,
                parity_report& r) {
  for (const auto& o : r.operators) {
    if (is_other(o) && !o.b.answer) r.no_share.push_back(o.name);
  }
  distances sum;
  sum.one.resize(chain.size());
  try {
    for (const rows_of_pass& rows : windows) {
      add_window(chain, a, b, rows, r, sum);
      r.share_rows.emplace_back(rows.first, rows.end());
    }
  } catch (const input_error& e) {
    r.why_no_shares = e.what();
    return;
  }
  if (sum.whole == 0) {
    r.why_no_shares = "the last tensors are equal on these rows";
    return;
  }
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!is_shared(r.operators[i])) continue;
    r.operators[i].share = share_of(sum.one[i], sum.whole);
  }
  r.all_rules = share_of(sum.all, sum.whole);
}

}  // namespace zeroulp::parity
