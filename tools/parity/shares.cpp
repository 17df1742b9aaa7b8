// A's pass again, with rules of B.

#include "tools/parity/shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

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

using rules = std::vector<const rule*>;

/// Computes the pass by a rule for each operator, from A's inputs, into `all`.
/// Operators whose rule is the one they were computed by and whose inputs are
/// as they were keep their outputs. Returns the last tensor.
matrix compute(const std::vector<chain_operator>& chain, const dump& a,
               const rows_of_pass& rows, const rules& by, const rules& before,
               tensors& all) {
  const bool is_first = all.empty();
  const tensor_source from_dump = source_of(a, rows);
  std::set<std::string> moved;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const chain_operator& o = chain[i];
    const bool moves =
        std::any_of(o.reads.begin(), o.reads.end(),
                    [&](const auto& x) { return moved.contains(x.second); });
    if (!is_first && !moves && by[i] == before[i]) continue;
    const outputs made = by[i]->answer(
        problem_of(o, a, source_of(all, a, from_dump), rows.first));
    for (const auto& [output, tensor] : o.makes) {
      for (const matrix& x : made) {
        if (output != x.name) continue;
        all[tensor] = x;
        moved.insert(tensor);
      }
    }
  }
  return all.at(chain.back().makes.back().second);
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

/// A's and B's rules, where each has an answer.
struct rules_of_both {
  rules a, b;
};

bool is_other(const operator_report& o) {
  return o.a.name != o.b.name || o.parts.size() > 1;
}

/// Returns why there are no shares; "": distances were added.
std::string add_window(const std::vector<chain_operator>& chain, const dump& a,
                       const dump& b, const rows_of_pass& rows,
                       const rules_of_both& by, const parity_report& r,
                       distances& sum) {
  const matrix of_a = question_of(chain.back(), a, rows).made.back();
  const matrix of_b = question_of(chain.back(), b, rows).made.back();
  tensors before;
  const matrix last = compute(chain, a, rows, by.a, by.a, before);
  if (!(last == of_a)) {
    return "A's rules on A's inputs do not give A's last tensor";
  }
  sum.whole += squared_distance(of_a, of_b);
  const auto with = [&](const rules& others) {
    tensors all = before;
    return squared_distance(compute(chain, a, rows, others, by.a, all), of_b);
  };
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (!is_other(r.operators[i])) continue;
    rules one = by.a;
    one[i] = by.b[i];
    sum.one[i] += with(one);
  }
  sum.all += with(by.b);
  return "";
}

double share_of(double squared, double whole) {
  return 1 - std::sqrt(squared) / std::sqrt(whole);
}

}  // namespace

void add_shares(const std::vector<chain_operator>& chain, const dump& a,
                const dump& b, const std::vector<rows_of_pass>& windows,
                parity_report& r) {
  rules_of_both by;
  for (const auto& o : r.operators) {
    if (!o.a.answer || !o.b.answer) {
      r.why_no_shares = fmt::format(
          "operator '{}' has a rule that cannot be computed again", o.name);
      return;
    }
    by.a.push_back(&o.a);
    by.b.push_back(&o.b);
  }
  distances sum;
  sum.one.resize(chain.size());
  try {
    for (const rows_of_pass& rows : windows) {
      r.why_no_shares = add_window(chain, a, b, rows, by, r, sum);
      if (!r.why_no_shares.empty()) return;
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
    if (!is_other(r.operators[i])) continue;
    r.operators[i].share = share_of(sum.one[i], sum.whole);
  }
  r.all_rules = share_of(sum.all, sum.whole);
}

}  // namespace zeroulp::parity
