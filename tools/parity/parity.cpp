// Two dumps of one pass, operator by operator.

#include "tools/parity/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

using fuzz::matrix;
using fuzz::outputs;
using fuzz::problem;

/// The largest group of rows that windows must not cut.
constexpr std::uint64_t whole_groups = 128;

using tensors = std::map<std::string, matrix>;

/// The rows of the pass that rules are sought on.
struct rows_of_pass {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  /// Those of an operand: m's groups are rows of the pass.
  fuzz::range of(char dimension, std::int32_t group, std::uint64_t all) const {
    const auto whole = static_cast<std::ptrdiff_t>(all);
    if (dimension != 'm' || group == 0) return {0, whole};
    const auto g = static_cast<std::uint64_t>(group);
    const std::uint64_t from = std::min(first / g, all);
    const std::uint64_t last = std::min((first + count + g - 1) / g, all);
    return {static_cast<std::ptrdiff_t>(from),
            static_cast<std::ptrdiff_t>(last - from)};
  }
};

tensor_source source_of(const dump& side, const rows_of_pass& rows) {
  return [&](const std::string& tensor, const char* as, format type,
             char dimension, std::int32_t group) {
    return side.read(tensor, as, type,
                     rows.of(dimension, group, side.extent_of(tensor).rows));
  };
}

/// From what was computed, else from the dump.
tensor_source source_of(const tensors& computed, const tensor_source& other) {
  return [&](const std::string& tensor, const char* as, format type,
             char dimension, std::int32_t group) {
    const auto at = computed.find(tensor);
    if (at == computed.end()) return other(tensor, as, type, dimension, group);
    matrix m = at->second;
    m.name = as;
    if (m.type != type) {
      for (auto& word : m.words) word = recode(m.type, word, type);
      m.type = type;
    }
    return m;
  };
}

/// The outputs of an operator as a side has them.
outputs made_by(const chain_operator& o, const dump& side,
                const outputs& claimed, const rows_of_pass& rows) {
  outputs made;
  for (const auto& [output, tensor] : o.makes) {
    const auto at = std::find_if(
        claimed.begin(), claimed.end(),
        [&name = output](const matrix& x) { return name == x.name; });
    if (at == claimed.end()) {
      std::string known;
      for (const matrix& x : claimed) {
        if (x.name == std::string_view("guards")) continue;
        known += (known.empty() ? "" : ", ") + std::string(x.name);
      }
      throw input_error(fmt::format("operator '{}': {} makes no '{}': use {}",
                                    o.name, fuzz::info_of(o.is).name, output,
                                    known));
    }
    const std::uint64_t all = side.extent_of(tensor).rows;
    const auto mine = static_cast<std::uint64_t>(at->rows);
    fuzz::range r{0, static_cast<std::ptrdiff_t>(all)};
    if (mine != all && mine > 0) {
      r = rows.of('m', static_cast<std::int32_t>(rows.count / mine), all);
    }
    matrix m = side.read(tensor, at->name, at->type, r);
    if (m.rows * m.cols == at->rows * at->cols) {  // a column may be a vector
      m.rows = at->rows;
      m.cols = at->cols;
    }
    made.push_back(std::move(m));
  }
  return made;
}

question question_of(const chain_operator& o, const dump& side,
                     const rows_of_pass& rows) {
  try {
    question q{problem_of(o, side, source_of(side, rows)), {}, {}};
    const auto fault = fuzz::refuse_operands(q.p);
    if (!fault.empty()) throw input_error(fault);
    q.claimed = fuzz::claimed_outputs(q.p);
    q.made = made_by(o, side, q.claimed, rows);
    return q;
  } catch (const input_error& e) {
    throw input_error(
        fmt::format("operator '{}', {}: {}", o.name, side.path(), e.what()));
  }
}

/// Computes the pass by a rule for each operator; returns the last tensor.
matrix computed_pass(const std::vector<chain_operator>& chain, const dump& a,
                     const rows_of_pass& rows,
                     const std::vector<const rule*>& rules) {
  tensors computed;
  const tensor_source from_dump = source_of(a, rows);
  matrix last;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const chain_operator& o = chain[i];
    const problem p = problem_of(o, a, source_of(computed, from_dump));
    const outputs all = rules[i]->answer(p);
    for (const auto& [output, tensor] : o.makes) {
      for (const matrix& x : all) {
        if (output != x.name) continue;
        computed[tensor] = x;
        last = x;
      }
    }
  }
  return last;
}

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

/// The share that each rule of B has, and all of them together.
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
  if (!(computed_pass(chain, a, rows, rules) == last_of_a)) {
    r.why_no_shares = "A's rules on A's inputs do not give A's last tensor";
    return;
  }
  const double whole = distance(last_of_a, last_of_b);
  if (whole == 0) {
    r.why_no_shares = "the last tensors are equal on these rows";
    return;
  }
  const auto share_of = [&](const std::vector<const rule*>& by) {
    return 1 - distance(computed_pass(chain, a, rows, by), last_of_b) / whole;
  };
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (r.operators[i].a.name == r.operators[i].b.name) continue;
    auto one = rules;
    one[i] = theirs[i];
    r.operators[i].share = share_of(one);
  }
  r.all_rules = share_of(theirs);
}

state state_of(const operator_report& o, bool inputs_equal) {
  const bool same = std::all_of(o.makes.begin(), o.makes.end(),
                                [](const auto& t) { return t.by.same(); });
  if (o.a.is_known() && o.b.is_known() && o.a.name != o.b.name) {
    return state::differs;
  }
  if (same) return state::equal;
  if (!o.a.is_known() || !o.b.is_known()) return state::unknown;
  return inputs_equal ? state::unknown : state::inherited;
}

/// All tensors compared; the first that differs, in the order of the pass.
void compare_tensors(const std::vector<chain_operator>& chain, const dump& a,
                     const dump& b, const parity_options& how,
                     parity_report& r) {
  std::set<std::string> made;
  const auto see = [&](const std::string& tensor, bool is_input) {
    compared_tensor t{tensor, compare(a, b, tensor)};
    if (!t.by.same() && r.first_tensor.empty()) {
      r.first_tensor = tensor;
      r.is_input = is_input;
      r.first_row = is_input ? 0 : t.by.first_row;
    }
    return t;
  };
  double done = 0;
  for (const chain_operator& o : chain) {
    operator_report one{
        o.name, fuzz::info_of(o.is).name, state::equal, {}, {}, {}, {}, {}};
    if (how.progress) {
      how.progress(done++, 2.0 * static_cast<double>(chain.size()),
                   "comparing " + o.name);
    }
    for (const auto& [operand, tensor] : o.reads) {
      if (made.insert(tensor).second) one.reads.push_back(see(tensor, true));
    }
    for (const auto& [output, tensor] : o.makes) {
      made.insert(tensor);
      one.makes.push_back(see(tensor, false));
    }
    r.operators.push_back(std::move(one));
  }
}

/// The rows from the first that differs on; all where a group covers them.
rows_of_pass choose_rows(const std::vector<chain_operator>& chain,
                         const dump& a, const parity_options& how,
                         std::uint64_t first) {
  std::uint64_t all = 0;
  bool needs_all = how.rows == 0;
  for (const chain_operator& o : chain) {
    const problem p =
        problem_of(o, a,
                   [&](const std::string&, const char* as, format type, char,
                       std::int32_t) { return matrix(as, type, 1, 1); });
    for (const auto& spec : fuzz::info_of(o.is).operands(p.with)) {
      const std::string* const tensor = o.reads_as(spec.name);
      if (tensor == nullptr || spec.rows.name != 'm') continue;
      if (spec.rows.group == 1) {
        all = std::max(all, a.extent_of(*tensor).rows);
      }
      needs_all = needs_all || spec.rows.group == 0;
    }
    needs_all = needs_all || p.with.group.rows == 0;
  }
  if (needs_all || all <= how.rows) return {0, all};
  const std::uint64_t last = all - std::min(all, how.rows);
  const std::uint64_t from = std::min(first, last);
  return {from / whole_groups * whole_groups, how.rows};
}

}  // namespace

const char* name_of(state s) {
  constexpr const char* names[] = {"equal", "differs", "inherited", "unknown"};
  return names[static_cast<std::size_t>(s)];
}

parity_report compare(const std::vector<chain_operator>& chain, const dump& a,
                      const dump& b, const parity_options& how) {
  parity_report r;
  compare_tensors(chain, a, b, how, r);
  if (r.same()) return r;
  const rows_of_pass rows = choose_rows(chain, a, how, r.first_row);
  r.rows = rows.count;
  std::vector<question> of_a, of_b;
  std::set<std::string> differing;
  auto done = static_cast<double>(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const chain_operator& o = chain[i];
    operator_report& one = r.operators[i];
    if (how.progress) {
      how.progress(done++, 2.0 * static_cast<double>(chain.size()),
                   "rules of " + o.name);
    }
    of_a.push_back(question_of(o, a, rows));
    of_b.push_back(question_of(o, b, rows));
    one.a = find_rule(of_a.back());
    one.b = find_rule(of_b.back());
    for (const auto* list : {&one.reads, &one.makes}) {
      for (const auto& t : *list) {
        if (!t.by.same()) differing.insert(t.name);
      }
    }
    const bool inputs_equal = std::none_of(
        o.reads.begin(), o.reads.end(),
        [&](const auto& x) { return differing.contains(x.second); });
    one.said = state_of(one, inputs_equal);
    const bool is_other =
        one.said == state::differs || one.said == state::unknown;
    if (is_other && r.first_rule.empty()) r.first_rule = o.name;
  }
  add_shares(chain, a, rows, of_a, of_b, r);
  return r;
}

}  // namespace zeroulp::parity
