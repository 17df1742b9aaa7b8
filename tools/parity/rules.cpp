// What an operator does: the problem of its tensors, and the rule that gives
// its outputs.

#include "tools/parity/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fuzz/explain/suspects.hpp"
#include "tools/parity/numbers.hpp"
#include "tools/parity/places.hpp"
#include "tools/parity/variants.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

/// The chain's settings after those that follow from types.
std::string settings_text(const chain_operator& o, const dump& types) {
  std::string text;
  for (const followed_setting& f : o.is->follows) {
    const std::string* tensor = o.reads_as(f.tensor_of);
    if (tensor == nullptr) tensor = o.makes_as(f.tensor_of);
    if (tensor == nullptr || !types.has(*tensor)) continue;
    if (const auto held = types.format_of(*tensor)) {
      text += fmt::format("{}={},", f.setting, name_of(*held));
    }
  }
  text += o.with;
  if (text.ends_with(',')) text.pop_back();
  return text;
}

/// A row or a column, whichever way the tensor lies.
void orient(matrix& m, const fuzz::operand_spec& spec) {
  const std::ptrdiff_t count = m.rows * m.cols;
  if (spec.rows.name == 0 && m.rows != 1) {
    m.rows = 1;
    m.cols = count;
  } else if (spec.cols.name == 0 && m.cols != 1) {
    m.rows = count;
    m.cols = 1;
  }
}

/// The share of the differing elements from which on a cause is the rule.
constexpr double most_of_it = 0.9;
constexpr std::uint64_t usual_eps = 0x358637bd;  // 1e-6
/// The elements of an output on which rules are tried first, and those on which
/// suspects are.
constexpr std::ptrdiff_t screened_elements = 1 << 10;
constexpr std::ptrdiff_t explained_elements = 1 << 18;

}  // namespace

std::uint64_t rows_of_operand(const dump& side, const std::string& tensor,
                              const fuzz::operand_spec& spec) {
  return side.extent_of(tensor, spec.cols.name == 0).rows;
}

problem settings_of(const chain_operator& o, const dump& types) {
  problem p;
  p.is = o.is;
  read_settings(p, settings_text(o, types));
  return p;
}

namespace {

/// Operand `i` in FP32, as the operator that makes its tensor has it before it
/// rounds; `back` 2: which reads the one before it so, too.
std::optional<matrix> unrounded(const chain_operator& o, const dump& types,
                                const tensor_source& source,
                                std::uint64_t first_row, std::size_t i,
                                int back) {
  const auto spec = operands_of(settings_of(o, types))[i];
  const std::string* const tensor = o.reads_as(spec.name);
  if (tensor == nullptr || !o.makers.contains(*tensor)) return {};
  const chain_operator& maker = *o.makers.at(*tensor);
  problem p = problem_of(maker, types, source, first_row);
  if (back > 1) {
    bool any = false;
    for (const followed_setting& f : maker.is->follows) {
      any = read_unrounded(p, f.setting, 1) || any;
    }
    if (!any) return {};
  }
  for (const auto& [output, made] : maker.makes) {
    if (made != *tensor || !keep_fp32(p, output)) continue;
    for (matrix& x : claimed_outputs(p)) {
      if (output != x.name) continue;
      x.name = spec.name;
      return std::move(x);
    }
  }
  return {};
}

}  // namespace

problem problem_of(const chain_operator& o, const dump& types,
                   const tensor_source& source, std::uint64_t first_row) {
  problem p = settings_of(o, types);
  p.first_row = first_row;
  const auto specs = operands_of(p);
  for (const auto& spec : specs) {
    const std::string* const tensor = o.reads_as(spec.name);
    if (tensor == nullptr) {
      if (!o.is->of && !spec.optional) {
        throw input_error(fmt::format("{} reads no '{}', which it needs",
                                      o.is->name, spec.name));
      }
      p.in.emplace_back(spec.name, spec.type, 0, 0);
      continue;
    }
    matrix m = source(*tensor, spec);
    orient(m, spec);
    p.in.push_back(std::move(m));
  }
  p.unrounded = [&o, &types, source, first_row](
                    std::size_t i, int back) -> std::optional<matrix> {
    try {
      return unrounded(o, types, source, first_row, i, back);
    } catch (const input_error&) {
      return {};  // the operator before has not these rows
    }
  };
  if (o.is->complete != nullptr) o.is->complete(p, o, types);
  const auto m = length_of(p, 'm');
  const auto n = length_of(p, 'n');
  const auto k = length_of(p, 'k');
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (p.in[i].rows > 0 || specs[i].optional) continue;
    const bool is_eps = specs[i].name == std::string_view("eps");
    p.in[i] = make_operand(specs[i], m, n, k, is_eps ? usual_eps : 0);
  }
  return p;
}

bool read_unrounded(problem& p, const char* setting, int back) {
  if (!p.unrounded) return false;
  problem wide = p;
  set_format(wide, setting, fp32);
  const auto specs = operands_of(wide);
  bool any = false;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    matrix& x = wide.in[i];
    if (!(specs[i].type == fp32) || x.type == fp32) continue;
    std::optional<matrix> made;
    for (int b = back; b > 0 && !made; --b) made = p.unrounded(i, b);
    any = any || made;
    if (made) {
      x = std::move(*made);
      continue;
    }
    for (auto& word : x.words) word = widened(x.type, word, fp32);
    x.type = fp32;
  }
  if (any) p = std::move(wide);
  return any;
}

bool gives(const outputs& answer, const outputs& made) {
  return std::all_of(made.begin(), made.end(), [&](const matrix& x) {
    return std::any_of(answer.begin(), answer.end(), [&](const matrix& y) {
      return std::string_view(x.name) == y.name && x == y;
    });
  });
}

namespace {

/// Whether a rule is one of this problem, and has every bit.
bool answers(const rule& v, const question& q) {
  try {
    return gives(v.answer(q.p), q.made);
  } catch (const input_error&) {
    return false;  // the library has no such recipe for these operands
  }
}

/// What was made, in the order of what is claimed; empty where it was not.
outputs in_order(const question& q) {
  outputs all;
  for (const matrix& x : q.claimed) {
    const auto at = std::find_if(
        q.made.begin(), q.made.end(),
        [&](const matrix& y) { return std::string_view(x.name) == y.name; });
    all.push_back(at != q.made.end() ? *at : matrix(x.name, x.type, 0, 0));
  }
  return all;
}

/// The first window of about so many elements in which a side differs from the
/// claim; all where the operator has no windows.
question window_of(const question& q, std::ptrdiff_t elements) {
  const bool has_windows = q.p.is->operands == nullptr && q.p.is->of &&
                           !fuzz::axes_of_outputs(q.p).empty();
  if (!has_windows) return q;
  const outputs made = in_order(q);
  for (const fuzz::window& w : fuzz::windows_of(q.p, elements)) {
    const outputs here = fuzz::part_of(q.p, made, w);
    const outputs claimed = fuzz::part_of(q.p, q.claimed, w);
    outputs given;
    for (const matrix& x : here) {
      if (!x.words.empty()) given.push_back(x);
    }
    if (gives(claimed, given)) continue;
    question part{q.p, claimed, std::move(given)};
    static_cast<fuzz::problem&>(part.p) = fuzz::part_of(q.p, w);
    return part;
  }
  return q;
}

/// The share of the elements that a side or a rule has otherwise than the claim
/// in which the two agree.
double share_of(const rule& v, const question& q) {
  outputs answer;
  try {
    answer = v.answer(q.p);
  } catch (const input_error&) {
    return 0;
  }
  std::uint64_t agree = 0, all = 0;
  for (const matrix& made : q.made) {
    const auto named = [&](const matrix& x) {
      return std::string_view(x.name) == made.name && x.rows == made.rows &&
             x.cols == made.cols;
    };
    const auto a = std::find_if(answer.begin(), answer.end(), named);
    const auto c = std::find_if(q.claimed.begin(), q.claimed.end(), named);
    if (a == answer.end() || c == q.claimed.end()) return 0;
    for (std::size_t i = 0; i < made.words.size(); ++i) {
      const auto given = made.words[i], claimed = c->words[i];
      if (given == claimed && a->words[i] == claimed) continue;
      ++all;
      agree += given == a->words[i] ? 1 : 0;
    }
  }
  return all == 0 ? 0 : static_cast<double>(agree) / static_cast<double>(all);
}

rule rule_of(fuzz::suspect s) {
  const change of = change_of(s.name);
  return {s.name, s.what, "", std::move(s.answer), of, {}};
}

/// The fuzzer's suspects of an operator.
std::vector<rule> suspects_of(const problem& p) {
  std::vector<rule> all;
  if (!p.is->of) return all;
  for (auto* list : {fuzz::definitions, fuzz::misreadings, fuzz::faults}) {
    for (fuzz::suspect& s : list(p)) all.push_back(rule_of(std::move(s)));
  }
  return all;
}

/// The first of the rules with every bit, and the others that have it, too. A
/// few elements tell most of them apart.
std::optional<rule> exact_rule(std::vector<rule> all, const question& q) {
  constexpr std::size_t most_named = 8;
  const question few = window_of(q, screened_elements);
  const bool is_part = few.p.in[0].words.size() != q.p.in[0].words.size() ||
                       few.claimed[0].words.size() != q.claimed[0].words.size();
  std::optional<rule> found;
  for (rule& v : all) {
    if (!answers(v, few) || (is_part && !answers(v, q))) continue;
    if (!found) {
      found = std::move(v);
    } else {
      found->same.push_back(v.name);
      if (found->same.size() == most_named) break;
    }
  }
  return found;
}

/// By the explanation of the fuzzer, which holds suspects against chance.
rule explained_rule(const question& q) {
  fuzz::explain_options how;
  how.named = 8;
  how.distinguish = false;
  const question part = window_of(q, explained_elements);
  const fuzz::explanation found = fuzz::explain(part.p, part.made, how);
  rule near{"", "", "", {}, {}, {}};
  for (const auto& cause : found.likely) {
    std::vector<std::string> same;
    for (const auto& other : cause.same) same.push_back(other.name);
    // What reads a neighbour's place differs at the edge of a window.
    if (cause.exact() || cause.share() >= most_of_it) {
      for (rule& known : suspects_of(q.p)) {
        if (known.name != cause.name) continue;
        known.same = same;
        return std::move(known);
      }
      return {cause.name, cause.what, "", {}, {}, same};
    }
    if (near.near.empty()) {
      near.near = fmt::format("{} ({:.0f} %)", cause.name, 100 * cause.share());
      near.what = cause.what;
    }
  }
  return near;
}

/// The likeliest of rules of which none has every bit.
rule nearest_rule(const std::vector<rule>& all, const question& q) {
  rule near{"", "", "", {}, {}, {}};
  double most = 0.5;
  for (const rule& v : all) {
    const double share = share_of(v, q);
    if (share < most) continue;
    most = share;
    if (share >= most_of_it) {
      near = v;
      continue;
    }
    near.near = fmt::format("{} ({:.0f} %)", v.name, 100 * share);
    near.what = v.what;
  }
  return near;
}

}  // namespace

namespace {

/// What a rule that has not every bit has: elements, and whole rows.
std::string agreement_text(const rule& by, const question& q) {
  const outputs answer = by.answer(q.p);
  std::ptrdiff_t rows = 0, same = 0;
  for (const matrix& made : q.made) {
    for (const matrix& x : answer) {
      if (std::string_view(x.name) != made.name || made.rows <= rows) continue;
      rows = made.rows;
      same = 0;
      for (std::ptrdiff_t i = 0; i < rows; ++i) {
        const auto from = i * made.cols;
        same += std::equal(made.words.begin() + from,
                           made.words.begin() + from + made.cols,
                           x.words.begin() + from)
                    ? 1
                    : 0;
      }
    }
  }
  // Not every bit is not 100 %.
  return fmt::format("{:.1f} % of what differs, {} of {} rows",
                     std::min(99.9, 100 * share_of(by, q)), same, rows);
}

/// A rule that may have not every bit says so.
rule checked_rule(rule by, const question& q) {
  if (by.is_known() && by.answer && !answers(by, q)) {
    by.near = agreement_text(by, q);
  } else if (by.is_known() && !by.answer) {
    by.near = "not computed again";
  }
  if (by.is_exact()) return by;
  // Of a rule that is near, where it fails.
  const bool is_near = by.is_known() && by.answer;
  by.where = is_near ? places_of(q.made, by.answer(q.p), q.p, "by the rule")
                     : places_of(q.made, q.claimed, q.p, "claimed");
  return by;
}

}  // namespace

rule find_rule(const question& q, const std::vector<rule>& known) {
  if (gives(q.claimed, q.made)) {
    return {"as claimed",    "the chain's settings", "",
            claimed_outputs, change::nothing,        {}};
  }
  for (rule& v : rules_of_one_value(q)) {
    if (answers(v, q)) return std::move(v);
  }
  // The fuzzer explains what has the shapes of its cases.
  const bool is_explained = q.p.is->of && q.p.is->operands == nullptr;
  std::vector<rule> all = variants_of(q.p, q.made);
  if (!is_explained) {
    for (rule& s : suspects_of(q.p)) all.push_back(std::move(s));
  }
  if (auto found = exact_rule(all, q)) return std::move(*found);
  std::vector<rule> more = known;
  for (auto* const list :
       {rules_of_unrounded, rules_of_lost_scales, rules_of_read_tables}) {
    for (rule& v : list(q)) {
      if (answers(v, q)) return std::move(v);
      more.push_back(std::move(v));
    }
  }
  rule near = is_explained ? explained_rule(q) : nearest_rule(all, q);
  if (!near.is_known()) {
    rule other = nearest_rule(more, q);
    if (other.is_known() || near.near.empty()) near = std::move(other);
  }
  return checked_rule(std::move(near), q);
}

void make_one(rule& a, rule& b, const question& of_a, const question& of_b) {
  const bool is_one = a.name == b.name && !a.read_more;
  if (is_one || !a.answer || !b.answer) return;
  const auto covers = [](const rule& by, const question& q) {
    return answers(by, q) || (by.read_more && by.read_more(q.p, q.made));
  };
  if (covers(a, of_b)) {
    b = a;
  } else if (covers(b, of_a)) {
    a = b;
  } else if (a.name == b.name) {
    b.name += ", not A's";
  }
}

}  // namespace zeroulp::parity
