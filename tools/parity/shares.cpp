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

/// Computes the pass by a rule for each operator, over what was computed
/// before: operators whose inputs and rules are as they were keep their
/// outputs. Returns the last tensor.
class computed_pass {
 public:
  computed_pass(const std::vector<chain_operator>& chain, const dump& a,
                const rows_of_pass& rows, const std::vector<const rule*>& rules)
      : chain_(chain), a_(a), rows_(rows), rules_(rules) {
    last_ = run(rules, before_);
  }
  const matrix& last() const { return last_; }

  matrix with(const std::vector<const rule*>& rules) const {
    tensors all = before_;
    return run(rules, all);
  }

 private:
  matrix run(const std::vector<const rule*>& rules, tensors& all) const {
    const bool is_first = all.empty();
    const tensor_source from_dump = source_of(a_, rows_);
    std::set<std::string> moved;
    matrix last;
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      const chain_operator& o = chain_[i];
      const bool as_before =
          !is_first && rules[i] == rules_[i] &&
          std::none_of(o.reads.begin(), o.reads.end(),
                       [&](const auto& x) { return moved.contains(x.second); });
      const outputs made =
          as_before ? outputs{}
                    : rules[i]->answer(problem_of(
                          o, a_, source_of(all, a_, from_dump), rows_.first));
      for (const auto& [output, tensor] : o.makes) {
        for (const matrix& x : made) {
          if (output != x.name) continue;
          all[tensor] = x;
          moved.insert(tensor);
        }
        last = all.at(tensor);
      }
    }
    return last;
  }

  const std::vector<chain_operator>& chain_;
  const dump& a_;
  const rows_of_pass& rows_;
  const std::vector<const rule*>& rules_;
  tensors before_;
  matrix last_;
};

double distance(const matrix& a, const matrix& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    if (a.words[i] == b.words[i]) continue;
    const double x = to_double(decode(a.type, a.words[i]));
    const double y = to_double(decode(b.type, b.words[i]));
    if (std::isfinite(x) && std::isfinite(y)) sum += (x - y) * (x - y);
  }
  return std::sqrt(sum);
}

}  // namespace

void add_shares(const std::vector<chain_operator>& chain, const dump& a,
                const rows_of_pass& rows, const std::vector<question>& of_a,
                const std::vector<question>& of_b, parity_report& r) {
  std::vector<const rule*> rules, theirs;
  for (const auto& o : r.operators) {
    if (!o.a.answer || !o.b.answer) {
      r.why_no_shares = fmt::format(
          "operator '{}' has a rule that cannot be computed again", o.name);
      return;
    }
    rules.push_back(&o.a);
    theirs.push_back(&o.b);
  }
  const matrix& last_of_a = of_a.back().made.back();
  const matrix& last_of_b = of_b.back().made.back();
  try {
    const computed_pass pass(chain, a, rows, rules);
    if (!(pass.last() == last_of_a)) {
      r.why_no_shares = "A's rules on A's inputs do not give A's last tensor";
      return;
    }
    const double whole = distance(last_of_a, last_of_b);
    if (whole == 0) {
      r.why_no_shares = "the last tensors are equal on these rows";
      return;
    }
    const auto share_of = [&](const std::vector<const rule*>& by) {
      return 1 - distance(pass.with(by), last_of_b) / whole;
    };
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (r.operators[i].a.name == r.operators[i].b.name) continue;
      auto one = rules;
      one[i] = theirs[i];
      r.operators[i].share = share_of(one);
    }
    r.all_rules = share_of(theirs);
  } catch (const input_error& e) {
    r.why_no_shares = e.what();
  }
}

}  // namespace zeroulp::parity
