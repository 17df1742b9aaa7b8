// A report of parity as text, tables, JSON and a page.

#ifdef ZEROULP_HAVE_CONFORMANCE

#include "tools/zeroulp/parity/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace zeroulp::program {
namespace {

using parity::operator_report;
using parity::parity_report;
using parity::rules_on_rows;
using parity::state;

std::string text_of(const parity::rule& r) {
  if (!r.is_known()) {
    return r.near.empty() ? "unknown" : "unknown, near " + r.near;
  }
  std::string text = r.name;
  if (!r.near.empty()) text += fmt::format(" (near: {})", r.near);
  if (r.same.empty()) return text;
  return fmt::format("{} (the same bits where it was sought: {})", text,
                     fmt::join(r.same, "; "));
}

/// As a cell of a table.
std::string short_of(const parity::rule& r) {
  if (!r.is_known()) return text_of(r);
  return r.near.empty() ? r.name : r.name + " (near)";
}

std::string rows_text(std::uint64_t first, std::uint64_t end) {
  return end - first == 1 ? fmt::format("row {}", first)
                          : fmt::format("rows {} to {}", first, end - 1);
}

/// Elements that differ, of the operator's outputs together.
std::string different_text(const operator_report& o) {
  std::uint64_t different = 0, elements = 0;
  for (const auto& t : o.makes) {
    if (t.by.other_shape) return "other shape";
    different += t.by.different;
    elements += t.by.elements;
  }
  return fmt::format("{} of {}", different, elements);
}

/// 100 % is said of every bit alone.
std::string percent(double share) {
  if (share != 1 && share > 0.999) return "above 99.9 %";
  return fmt::format("{:.1f} %", 100 * share);
}

table operator_table(const parity_report& r) {
  table t{{"operator", "is", "state", "rule of A", "rule of B", "different",
           "share"},
          {}};
  for (const operator_report& o : r.operators) {
    const bool looked = !r.same();
    t.rows.push_back({o.name, o.is, name_of(o.said),
                      looked ? short_of(o.a) : "", looked ? short_of(o.b) : "",
                      different_text(o), o.share ? percent(*o.share) : ""});
  }
  return t;
}

table input_table(const parity_report& r) {
  table t{{"input", "different", "relative"}, {}};
  for (const operator_report& o : r.operators) {
    for (const auto& x : o.reads) {
      if (x.by.same()) continue;
      t.rows.push_back(
          {x.name,
           x.by.other_shape
               ? "other shape"
               : fmt::format("{} of {}", x.by.different, x.by.elements),
           fmt::format("{:.3g}", x.by.relative)});
    }
  }
  return t;
}

/// Calls `see` with each tensor of a report, in the order of the pass.
template <class See>
void for_each_tensor(const parity_report& r, const See& see) {
  for (const operator_report& o : r.operators) {
    for (const auto* list : {&o.reads, &o.makes}) {
      for (const auto& t : *list) see(t);
    }
  }
}

std::string type_text(const parity::tensor_difference& d) {
  return d.type_a == d.type_b
             ? d.type_a
             : fmt::format("{} in A, {} in B", d.type_a, d.type_b);
}

/// What certifies equality: the digest of the bytes that both have.
table digest_table(const parity_report& r) {
  table t{{"tensor", "type", "SHA-256 of its bytes"}, {}};
  for_each_tensor(r, [&](const parity::compared_tensor& x) {
    t.rows.push_back({x.name, type_text(x.by),
                      x.by.digest.empty() ? "equal as numbers" : x.by.digest});
  });
  return t;
}

table type_table(const parity_report& r) {
  table t{{"tensor", "type in A", "type in B"}, {}};
  for_each_tensor(r, [&](const parity::compared_tensor& x) {
    if (x.by.type_a == x.by.type_b) return;
    t.rows.push_back({x.name, x.by.type_a, x.by.type_b});
  });
  return t;
}

std::string side_text(const char* side, const parity::rule& by) {
  std::string text;
  if (!by.what.empty() && by.of != parity::change::nothing) {
    text += fmt::format("  {}: {}\n", side, by.what);
  }
  if (!by.where.empty()) {
    text += fmt::format("  {}: {}\n", side, fmt::join(by.where, "; "));
  }
  return text;
}

/// The rules on the other rows of an operator that has several parts.
std::string parts_text(const operator_report& o) {
  if (o.parts.size() < 2) return "";
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, o.parts.size()); ++i) {
    const rules_on_rows& on = o.parts[i];
    text += fmt::format("  {}: A {}, B {}\n", rows_text(on.first, on.end),
                        text_of(on.a), text_of(on.b));
    for (const auto* by : {&on.a, &on.b}) {
      const bool is_shown = by->where == o.a.where || by->where == o.b.where;
      if (by->where.empty() || is_shown) continue;
      text += fmt::format("    {}\n", fmt::join(by->where, "; "));
    }
  }
  if (o.parts.size() > most) {
    text += fmt::format("  and {} more parts\n", o.parts.size() - most);
  }
  return text;
}

std::string reads_text(const operator_report& o, const parity_report&) {
  std::string text;
  for (const auto& [side, by] : {std::pair{"A", &o.a}, {"B", &o.b}}) {
    if (by->is_known()) continue;
    text += fmt::format(
        "  {0}: no rule that is known makes {0}'s outputs from {0}'s inputs\n",
        side);
  }
  return text;
}

std::string checked_text(const parity_report& r) {
  std::string text;
  for (const operator_report& o : r.operators) {
    if (o.is_checked()) continue;
    text += fmt::format(
        "operator {}: rules were held against {} of {} rows: nothing is said "
        "of the others\n",
        o.name, o.checked, o.rows);
  }
  return text;
}

std::string equal_text(const parity_report& r) {
  std::uint64_t elements = 0;
  for (const auto& o : r.operators) {
    for (const auto& t : o.makes) elements += t.by.elements;
  }
  return fmt::format("equal: {} operators, {} elements, 0 differences\n",
                     r.operators.size(), elements);
}

std::string first_tensor_text(const parity_report& r) {
  std::string type;
  for_each_tensor(r, [&](const parity::compared_tensor& x) {
    if (x.name == r.first_tensor && x.by.type_a != x.by.type_b) {
      type = fmt::format(" ({})", type_text(x.by));
    }
  });
  return fmt::format(
      "first tensor that differs: {}{}{}\n", r.first_tensor, type,
      r.is_input ? ", which no operator of the chain makes" : "");
}

/// What the user asked, in a few sentences.
std::string verdict_text(const parity_report& r) {
  if (r.same()) return equal_text(r);
  std::string text = first_tensor_text(r);
  for (const operator_report& o : r.operators) {
    const bool is_first = o.name == r.first_rule;
    if (is_first) {
      text += fmt::format("first rule that differs: operator {}: A {}, B {}\n",
                          o.name, text_of(o.a), text_of(o.b));
      text += reads_text(o, r) + side_text("A", o.a) + side_text("B", o.b);
    } else if (o.parts.size() > 1) {
      text += fmt::format("operator {} has not the same rules in all rows\n",
                          o.name);
    }
    text += parts_text(o);
  }
  if (!r.alone.empty()) {
    text += fmt::format("the difference is only {}\n", r.alone);
  }
  if (r.first_rule.empty()) {
    text += r.is_checked()
                ? "every rule is the same: the difference is that of the "
                  "inputs\n"
                : "every rule is the same on the rows that were checked\n";
  }
  return text + checked_text(r);
}

std::string shares_text(const parity_report& r) {
  if (!r.all_rules) return fmt::format("no shares: {}\n", r.why_no_shares);
  std::string where;
  std::uint64_t count = 0;
  for (const auto& [first, end] : r.share_rows) {
    where +=
        fmt::format("{}{}", where.empty() ? "" : ", ", rows_text(first, end));
    count += end - first;
  }
  std::string text = fmt::format(
      "B's rules together make {} of the difference of the last tensor, {}\n",
      percent(*r.all_rules),
      count == r.rows ? fmt::format("all {} rows", count)
                      : fmt::format("in {} of {}", where, r.rows));
  if (!r.no_share.empty()) {
    text += fmt::format(
        "that is without {}: B's rule there cannot be computed again\n",
        fmt::join(r.no_share, ", "));
  }
  const bool has_negative =
      std::any_of(r.operators.begin(), r.operators.end(),
                  [](const auto& o) { return o.share && *o.share < 0; });
  if (has_negative || *r.all_rules < 0) {
    text +=
        "a negative share: with that rule A's last tensor is farther from B's "
        "than without it\n";
  }
  return text;
}

/// Equal, the same rules on other inputs, another rule, or nobody knows.
mark mark_of(state s) {
  constexpr mark marks[] = {mark::good, mark::bad, mark::doubtful, mark::none};
  return marks[static_cast<std::size_t>(s)];
}

/// How many operators are in each state.
std::vector<badge> badges_of(const parity_report& r) {
  std::vector<badge> all;
  for (const state s :
       {state::differs, state::unknown, state::inherited, state::equal}) {
    const auto n = std::count_if(r.operators.begin(), r.operators.end(),
                                 [s](const auto& o) { return o.said == s; });
    if (n > 0) all.push_back({mark_of(s), fmt::format("{} {}", n, name_of(s))});
  }
  return all;
}

/// A row an operator, in the order of the pass.
std::vector<shown_verdict> verdicts_of(const parity_report& r) {
  std::vector<shown_verdict> all;
  for (const operator_report& o : r.operators) {
    std::string text = different_text(o) + " elements";
    if (!r.same()) {
      const auto a = short_of(o.a), b = short_of(o.b);
      text += a == b ? "; " + a : fmt::format("; A {}, B {}", a, b);
    }
    if (o.share)
      text += fmt::format("; {} of the difference", percent(*o.share));
    all.push_back(
        {{mark_of(o.said), name_of(o.said)},
         o.name == o.is ? o.name : fmt::format("{} ({})", o.name, o.is),
         "",
         std::move(text)});
  }
  return all;
}

json to_json(const parity::compared_tensor& t) {
  json one{{"tensor", t.name}, {"elements", t.by.elements}};
  one["types"] = {t.by.type_a, t.by.type_b};
  if (t.by.other_shape) {
    one["other_shape"] = true;
  } else if (t.by.same()) {
    if (!t.by.digest.empty()) one["sha256"] = t.by.digest;
  } else {
    one["different"] = t.by.different;
    one["relative"] = t.by.relative;
    one["first"] = {t.by.first_row, t.by.first_col};
  }
  return one;
}

json to_json(const parity::rule& r) {
  json one{{"name", r.name}, {"what", r.what}, {"exact", r.is_exact()}};
  if (!r.near.empty()) one["near"] = r.near;
  if (!r.same.empty()) one["same"] = r.same;
  if (!r.where.empty()) one["where"] = r.where;
  return one;
}

json to_json(const operator_report& o, bool looked) {
  json one{{"name", o.name}, {"is", o.is}, {"state", name_of(o.said)}};
  if (looked) {
    one["a"] = to_json(o.a);
    one["b"] = to_json(o.b);
    one["rows"] = o.rows;
    one["checked_rows"] = o.checked;
  }
  if (o.parts.size() > 1) {
    one["parts"] = json::array();
    for (const rules_on_rows& on : o.parts) {
      one["parts"].push_back({{"rows", {on.first, on.end}},
                              {"state", name_of(on.said)},
                              {"a", to_json(on.a)},
                              {"b", to_json(on.b)}});
    }
  }
  for (const auto& [field, list] :
       {std::pair{"reads", &o.reads}, {"makes", &o.makes}}) {
    one[field] = json::array();
    for (const auto& t : *list) one[field].push_back(to_json(t));
  }
  if (o.share) one["share"] = *o.share;
  if (!o.alone.empty()) one["alone"] = o.alone;
  return one;
}

}  // namespace

json to_json(const parity_report& r) {
  json all{{"same", r.same()},
           {"first_tensor", r.first_tensor},
           {"first_tensor_is_input", r.is_input},
           {"first_rule", r.first_rule},
           {"alone", r.alone},
           {"rows", r.rows}};
  if (!r.same()) all["checked"] = r.is_checked();
  if (r.all_rules) {
    all["share_of_all_rules"] = *r.all_rules;
    all["share_rows"] = r.share_rows;
    all["no_share"] = r.no_share;
  } else if (!r.same()) {
    all["why_no_shares"] = r.why_no_shares;
  }
  all["operators"] = json::array();
  for (const operator_report& o : r.operators) {
    all["operators"].push_back(to_json(o, !r.same()));
  }
  return all;
}

std::string text_of(const parity_report& r, std::size_t width) {
  std::string text = zeroulp::to_text(operator_table(r), width) + "\n";
  for (const table& t : {input_table(r), type_table(r)}) {
    if (!t.rows.empty()) text += zeroulp::to_text(t, width) + "\n";
  }
  if (r.same()) text += zeroulp::to_text(digest_table(r), width) + "\n";
  text += verdict_text(r);
  return r.same() ? text : text + shares_text(r);
}

std::string page_of(const std::string& a, const std::string& b,
                    const parity_report& r) {
  html_page page("Whose bits differ first");
  page.add_badges(badges_of(r));
  page.add_paragraph(fmt::format("A is {}, B is {}.", a, b));
  page.add_verdicts(verdicts_of(r));
  page.add_lines(verdict_text(r) + (r.same() ? "" : shares_text(r)));
  page.add_heading("Operators");
  page.add_table(operator_table(r),
                 "In the order of the pass. The share is that of the rule in "
                 "the difference of the last tensor.");
  const std::pair<const char*, table> more[] = {
      {"Inputs that differ", input_table(r)},
      {"Tensors of two types", type_table(r)},
      {"Digests", r.same() ? digest_table(r) : table{}}};
  for (const auto& [heading, t] : more) {
    if (t.rows.empty()) continue;
    page.add_heading(heading);
    page.add_table(t);
  }
  return page.str();
}

}  // namespace zeroulp::program

#endif
