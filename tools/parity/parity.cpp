// Two dumps of one pass, operator by operator.

#include "tools/parity/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/parity/shares.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

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
    operator_report one{o.name, o.is->name, state::equal, {}, {},
                        {},     {},         {},           {}};
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

/// What of sums alone differs; "": more than that, or nothing.
const char* sums_alone(const operator_report& o) {
  if (o.said != state::differs) return "";
  bool is_order = true;
  for (const rule* const side : {&o.a, &o.b}) {
    if (side->of == change::more) return "";
    is_order = is_order && side->of != change::accumulator;
  }
  return is_order ? "the order of sums" : "the accumulator of sums";
}

/// What is alone in every operator whose rules differ; "": it is not one thing.
std::string sums_alone(const std::vector<operator_report>& all) {
  std::string said;
  for (const operator_report& o : all) {
    if (o.said == state::unknown) return "";
    if (o.said != state::differs) continue;
    if (o.alone.empty() || (!said.empty() && said != o.alone)) return "";
    said = o.alone;
  }
  return said;
}

/// The first row in which an output differs; nothing: none does.
std::optional<std::uint64_t> first_row_of(const operator_report& o) {
  for (const auto& t : o.makes) {
    if (!t.by.same() && !t.by.other_shape) return t.by.first_row;
  }
  return {};
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
  const rows_of_pass rows = choose_rows(chain, a, how.rows, r.first_row);
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
    for (const auto* list : {&one.reads, &one.makes}) {
      for (const auto& t : *list) {
        if (!t.by.same()) differing.insert(t.name);
      }
    }
    const bool inputs_equal = std::none_of(
        o.reads.begin(), o.reads.end(),
        [&](const auto& x) { return differing.contains(x.second); });
    const auto look = [&](const rows_of_pass& here, question& x, question& y) {
      x = question_of(o, a, here);
      y = question_of(o, b, here);
      one.a = find_rule(x);
      one.b = find_rule(y);
      make_one(one.a, one.b, x, y);
      one.said = state_of(one, inputs_equal);
    };
    const rows_of_pass here = rows_of(o, a, rows);
    of_a.emplace_back();
    of_b.emplace_back();
    look(here, of_a.back(), of_b.back());
    // Both do as is claimed in these rows; equal inputs have others elsewhere.
    if (one.said == state::unknown && one.a.is_known() && one.b.is_known()) {
      if (const auto row = first_row_of(one)) {
        question x, y;
        look(rows_of(o, a,
                     {*row / whole_groups * whole_groups, here.count, false}),
             x, y);
      }
    }
    one.alone = sums_alone(one);
    const bool is_other =
        one.said == state::differs || one.said == state::unknown;
    if (is_other && r.first_rule.empty()) r.first_rule = o.name;
    if (!rows.is_whole &&
        (here.first != rows.first || here.count != rows.count)) {
      r.why_no_shares = fmt::format(
          "operator '{}' has other rows than the pass: use --rows 0", o.name);
    }
  }
  if (r.why_no_shares.empty()) add_shares(chain, a, rows, of_a, of_b, r);
  r.alone = sums_alone(r.operators);
  return r;
}

}  // namespace zeroulp::parity
