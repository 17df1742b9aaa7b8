// Two dumps of one pass, operator by operator.

#include "tools/parity/parity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/parity/looks.hpp"
#include "tools/parity/shares.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

/// The vectors of an operator that have an element for each of its rows.
void add_columns(const chain_operator& o, const dump& a,
                 std::set<std::string>& columns) {
  for (const auto& spec : operands_of(settings_of(o, a))) {
    const std::string* const tensor = o.reads_as(spec.name);
    if (tensor != nullptr && spec.cols.name == 0) columns.insert(*tensor);
  }
  const auto rows = all_rows_of(o, a);
  for (const auto& [output, tensor] : o.makes) {
    if (rows && a.find(tensor).count() == *rows) columns.insert(tensor);
  }
}

/// All tensors compared; the first that differs, in the order of the pass.
void compare_tensors(const std::vector<chain_operator>& chain, const dump& a,
                     const dump& b, const parity_options& how,
                     parity_report& r) {
  std::set<std::string> made, columns;
  const auto is_column = [&](const std::string& tensor) {
    return a.find(tensor).shape.size() == 1 && columns.contains(tensor);
  };
  const auto see = [&](const std::string& tensor, bool is_input) {
    compared_tensor t{tensor, compare(a, b, tensor, is_column(tensor))};
    if (!t.by.same() && r.first_tensor.empty()) {
      r.first_tensor = tensor;
      r.is_input = is_input;
      r.first_row = is_input ? 0 : t.by.first_row;
    }
    return t;
  };
  double done = 0;
  for (const chain_operator& o : chain) {
    operator_report one;
    one.name = o.name;
    one.is = o.is->name;
    add_columns(o, a, columns);
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

/// Equality of nothing is none.
void refuse_nothing(const parity_report& r) {
  std::uint64_t elements = 0;
  for (const operator_report& o : r.operators) {
    for (const auto& t : o.makes) elements += t.by.elements;
  }
  if (elements == 0) {
    throw input_error(
        "the outputs of the chain have 0 elements: nothing was "
        "compared");
  }
}

/// The rules of every operator.
void look_at_all(const std::vector<chain_operator>& chain, const dump& a,
                 const dump& b, const rows_of_pass& rows,
                 const parity_options& how, parity_report& r) {
  two_sides sides{a, b, {}};
  for (const operator_report& one : r.operators) {
    for (const auto* list : {&one.reads, &one.makes}) {
      for (const auto& t : *list) sides.by.emplace(t.name, &t.by);
    }
  }
  auto done = static_cast<double>(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const chain_operator& o = chain[i];
    operator_report& one = r.operators[i];
    if (how.progress) {
      how.progress(done++, 2.0 * static_cast<double>(chain.size()),
                   "rules of " + o.name);
    }
    const rows_of_pass here = rows_of(o, a, rows);
    look_at(o, sides, here, how.checked, one);
    r.rows = std::max(r.rows, one.rows);
    one.alone = sums_alone(one);
    const bool is_other =
        one.said == state::differs || one.said == state::unknown;
    if (is_other && r.first_rule.empty()) r.first_rule = o.name;
    const bool is_shorter =
        here.first != rows.first || here.count != rows.count;
    if (!rows.is_whole && is_shorter) {
      r.why_no_shares = fmt::format(
          "operator '{}' has other rows than the pass: use --rows 0", o.name);
    }
  }
}

/// The rows on which rules were sought first, and those on which others were.
std::vector<rows_of_pass> windows_of(const parity_report& r,
                                     const rows_of_pass& rows) {
  if (rows.is_whole) return {rows};
  std::map<std::uint64_t, rows_of_pass> all{{rows.first, rows}};
  for (const operator_report& one : r.operators) {
    for (const rules_on_rows& on : one.parts) {
      if (!on.is_sought) continue;
      all.try_emplace(
          on.first,
          rows_of_pass{on.first, std::min(rows.step(), one.rows - on.first),
                       false, rows.step()});
    }
  }
  std::vector<rows_of_pass> windows;
  for (const auto& [first, window] : all) windows.push_back(window);
  return windows;
}

}  // namespace

const char* name_of(state s) {
  constexpr const char* names[] = {"equal", "differs", "inherited", "unknown"};
  return names[static_cast<std::size_t>(s)];
}

bool parity_report::is_checked() const {
  return std::all_of(operators.begin(), operators.end(),
                     [](const auto& o) { return o.is_checked(); });
}

parity_report compare(const std::vector<chain_operator>& chain, const dump& a,
                      const dump& b, const parity_options& how) {
  parity_report r;
  compare_tensors(chain, a, b, how, r);
  if (r.same()) {
    refuse_nothing(r);
    return r;
  }
  const rows_of_pass rows = choose_rows(chain, a, how.rows, r.first_row);
  look_at_all(chain, a, b, rows, how, r);
  if (r.why_no_shares.empty()) {
    add_shares(chain, a, b, windows_of(r, rows), r);
  }
  r.alone = sums_alone(r.operators);
  return r;
}

}  // namespace zeroulp::parity
