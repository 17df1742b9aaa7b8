// The rules of an operator on both sides, on all rows.

#include "tools/parity/looks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

/// Searches are long; a rule that changes more often than this is none.
constexpr int most_searches = 4;

bool outputs_differ(const chain_operator& o, const two_sides& sides,
                    const rows_of_pass& rows, std::uint64_t all) {
  return std::any_of(o.makes.begin(), o.makes.end(), [&](const auto& x) {
    return sides.differ(x.second, rows, all);
  });
}

/// An operand that is not of the operator's rows, a weight, is read by all.
bool inputs_differ(const chain_operator& o, const two_sides& sides,
                   const rows_of_pass& rows, std::uint64_t all) {
  const auto specs = operands_of(settings_of(o, sides.a));
  return std::any_of(specs.begin(), specs.end(), [&](const auto& spec) {
    const std::string* const tensor = o.reads_as(spec.name);
    if (tensor == nullptr) return false;
    const bool is_of_rows = spec.rows.name == 'm' && spec.rows.group == 1;
    return is_of_rows ? sides.differ(*tensor, rows, all)
                      : !sides.by.at(*tensor)->same();
  });
}

/// The first group of rows in which an output differs.
std::uint64_t first_row_that_differs(const chain_operator& o,
                                     const two_sides& sides,
                                     std::uint64_t all) {
  for (std::uint64_t row = 0; row < all; row += whole_groups) {
    if (outputs_differ(o, sides, in_grid(row, whole_groups, all), all)) {
      return row;
    }
  }
  return 0;
}

/// What an operator is said to be on some rows.
state state_of(const rules_on_rows& on, bool inputs, bool outputs) {
  const bool known = on.a.is_known() && on.b.is_known();
  if (known && on.a.name != on.b.name) return state::differs;
  if (!outputs) return state::equal;
  const bool exact = on.a.is_exact() && on.b.is_exact();
  return exact && inputs ? state::inherited : state::unknown;
}

/// A side whose outputs do not follow from what it dumped, but from an operand
/// of the other side.
void by_others_operand(rule& mine, const rule& other, const question& q,
                       const question& of_other) {
  if (mine.is_exact() || !other.is_exact()) return;
  for (std::size_t i = 0; i < q.p.in.size(); ++i) {
    const matrix& theirs = of_other.p.in[i];
    if (q.p.in[i] == theirs || q.p.in[i].type != theirs.type) continue;
    problem p = q.p;
    p.in[i] = theirs;
    if (!gives(other.answer(p), q.made)) continue;
    mine.name = fmt::format("{} of the other side", theirs.name);
    mine.what = fmt::format(
        "the outputs do not follow from the {0} in this dump, but from the "
        "other dump's {0}",
        theirs.name);
    mine.near = fmt::format("not by its own {}", theirs.name);
    mine.answer = other.answer;
    return;
  }
}

/// The rules of both sides, by their inputs and outputs on some rows.
rules_on_rows sought(const chain_operator& o, const two_sides& sides,
                     const rows_of_pass& rows,
                     const std::vector<rules_on_rows>& known) {
  std::vector<rule> of_a, of_b;
  for (const rules_on_rows& on : known) {
    if (on.a.is_exact()) of_a.push_back(on.a);
    if (on.b.is_exact()) of_b.push_back(on.b);
  }
  const question x = question_of(o, sides.a, rows);
  const question y = question_of(o, sides.b, rows);
  rules_on_rows found{rows.first, rows.end(), find_rule(x, of_a),
                      find_rule(y, of_b)};
  make_one(found.a, found.b, x, y);
  by_others_operand(found.a, found.b, x, y);
  by_others_operand(found.b, found.a, y, x);
  return found;
}

/// The claim on rows in which the sides have the same bits needs no proof.
bool holds(const rule& by, const chain_operator& o, const dump& side,
           const rows_of_pass& rows, bool touched) {
  if (!by.is_exact()) return true;  // it was never said to have every bit
  const bool is_claim = by.of == change::nothing;
  return (is_claim && !touched) || gives(by, o, side, rows);
}

/// Rows that follow each other, of the same rules, become one part.
void add_part(rules_on_rows part, std::vector<rules_on_rows>& all) {
  if (!all.empty()) {
    rules_on_rows& last = all.back();
    const auto alike = [](const rule& x, const rule& y) {
      return x.name == y.name && x.near == y.near;
    };
    if (last.end == part.first && alike(last.a, part.a) &&
        alike(last.b, part.b)) {
      last.end = part.end;
      return;
    }
  }
  all.push_back(std::move(part));
}

/// Rows of an output, by rows of the problem: of a vector of groups fewer.
void copy_rows(const matrix& from, std::uint64_t first, std::uint64_t end,
               std::uint64_t all, matrix& to) {
  const auto rows = static_cast<std::uint64_t>(to.rows);
  if (rows == 0 || rows > all) return;
  const auto group = static_cast<std::uint64_t>(group_of(all, rows));
  const auto cols = static_cast<std::uint64_t>(to.cols);
  const std::uint64_t last = std::min((end + group - 1) / group, rows) * cols;
  for (std::uint64_t i = first / group * cols; i < last; ++i) {
    to.words[i] = from.words[i];
  }
}

/// The answers of the parts that the problem's rows are in.
std::function<outputs(const problem&)> answer_by_rows(
    const std::vector<rules_on_rows>& parts, rule rules_on_rows::*side) {
  return [parts, side](const problem& p) {
    const std::uint64_t first = p.first_row;
    const auto all = static_cast<std::uint64_t>(length_of(p, 'm'));
    outputs made;
    for (const rules_on_rows& on : parts) {
      if (on.first >= first + all || on.end <= first) continue;
      const outputs here = (on.*side).answer(p);
      if (made.empty()) made = here;
      for (std::size_t i = 0; i < made.size(); ++i) {
        copy_rows(here[i], std::max(on.first, first) - first,
                  std::min(on.end, first + all) - first, all, made[i]);
      }
    }
    return made.empty() ? (parts.front().*side).answer(p) : made;
  };
}

bool all_answer(const std::vector<rules_on_rows>& parts,
                rule rules_on_rows::*side) {
  return std::all_of(parts.begin(), parts.end(), [side](const auto& on) {
    return static_cast<bool>((on.*side).answer);
  });
}

/// An output that is stored in another type, by the types of both dumps.
struct stored_otherwise {
  std::string setting;
  std::string tensor;
  format a, b;
};

std::vector<stored_otherwise> stored_otherwise_of(const chain_operator& o,
                                                  const two_sides& sides) {
  std::vector<stored_otherwise> all;
  for (const followed_setting& f : o.is->follows) {
    const std::string* const tensor = o.makes_as(f.tensor_of);
    if (tensor == nullptr) continue;
    const auto a = sides.a.format_of(*tensor), b = sides.b.format_of(*tensor);
    const bool is_said =
        o.with.find(std::string(f.setting) + "=") != std::string::npos;
    if (!a || !b || *a == *b || is_said) continue;
    all.push_back({f.setting, *tensor, *a, *b});
  }
  return all;
}

/// The same rule with outputs of two types is two.
void tell_types_apart(const chain_operator& o, const two_sides& sides,
                      operator_report& one) {
  if (one.a.name != one.b.name || !one.a.is_known()) return;
  for (const stored_otherwise& t : stored_otherwise_of(o, sides)) {
    const auto said = [&](rule& by, const format& f) {
      const auto stored = fmt::format("{} as {}", t.tensor, name_of(f));
      by.what = fmt::format("{} is stored as {}", t.tensor, name_of(f));
      by.name = by.of == change::nothing
                    ? stored
                    : fmt::format("{}; {}", by.name, stored);
    };
    said(one.a, t.a);
    said(one.b, t.b);
    one.b.of = change::more;
    one.b.answer = [base = one.b.answer, t](problem p) {
      set_format(p, t.setting.c_str(), t.b);
      return base(p);
    };
    one.said = state::differs;
  }
}

/// The parts of an operator, from the first row on.
class search {
 public:
  search(const chain_operator& o, const two_sides& sides,
         const rows_of_pass& window, std::uint64_t all)
      : o_(o), sides_(sides), window_(window), all_(all) {
    known_.push_back(sought(o, sides, window, {}));
    known_.back().is_sought = true;
  }

  const rules_on_rows& first() const { return known_.front(); }

  /// The rules on other rows: known ones, or others that are sought there.
  rules_on_rows on(const rows_of_pass& rows) {
    const bool touched = inputs_differ(o_, sides_, rows, all_) ||
                         outputs_differ(o_, sides_, rows, all_);
    for (const rules_on_rows& x : known_) {
      if (holds(x.a, o_, sides_.a, rows, touched) &&
          holds(x.b, o_, sides_.b, rows, touched)) {
        return {rows.first, rows.end(), x.a, x.b};
      }
    }
    if (std::ssize(known_) <= most_searches) {
      known_.push_back(sought(o_, sides_, rows, known_));
      known_.back().is_sought = true;
      for (const auto side : {&rules_on_rows::a, &rules_on_rows::b}) {
        prefer(side, side == &rules_on_rows::a ? sides_.a : sides_.b);
        tell_apart(side);
      }
      return known_.back();
    }
    return {rows.first, rows.end(), {}, {}};
  }

  /// Whether the first rules are others now: rows have to be checked anew.
  bool is_changed() {
    if (!changed_) return false;
    changed_ = false;
    known_.resize(1);
    return true;
  }

 private:
  /// A rule with the bits of the first where that was sought is the better one:
  /// it has those of these rows, too.
  void prefer(rule rules_on_rows::*side, const dump& of) {
    rule& first = known_.front().*side;
    const rule& other = known_.back().*side;
    if (!other.is_exact() || other.name == first.name) return;
    const auto at = std::find(first.same.begin(), first.same.end(), other.name);
    const bool has_bits = at != first.same.end() ||
                          (other.read_more && gives(other, o_, of, window_));
    if (!has_bits) return;
    std::vector<std::string> same;
    for (const std::string& name : other.same) {
      const bool is_both = std::find(first.same.begin(), first.same.end(),
                                     name) != first.same.end();
      if (is_both) same.push_back(name);
    }
    first = other;
    first.same = std::move(same);
    changed_ = true;
  }

  /// Numbers that were read here and do not hold on other rows are others.
  void tell_apart(rule rules_on_rows::*side) {
    rule& here = known_.back().*side;
    if (!here.read_more) return;
    const bool is_known = std::any_of(
        known_.begin(), known_.end() - 1,
        [&](const auto& on) { return (on.*side).name == here.name; });
    if (is_known) here.name += ", not that of other rows";
  }

  const chain_operator& o_;
  const two_sides& sides_;
  rows_of_pass window_;
  std::uint64_t all_;
  std::vector<rules_on_rows> known_;
  bool changed_ = false;
};

}  // namespace

bool two_sides::differ(const std::string& tensor, const rows_of_pass& rows,
                       std::uint64_t all) const {
  const tensor_difference& d = *by.at(tensor);
  if (d.same()) return false;
  if (d.other_shape || d.rows != all) return true;
  return d.differs_in(rows.first, rows.count);
}

void look_at(const chain_operator& o, const two_sides& sides,
             const rows_of_pass& rows, std::uint64_t most,
             operator_report& one) {
  const std::uint64_t all = all_rows_of(o, sides.a).value_or(rows.end());
  one.rows = all;
  search found(o, sides, rows, all);
  const bool is_exact =
      found.first().a.is_exact() && found.first().b.is_exact();
  if (rows.is_whole && rows.may_cut && all > whole_groups && !is_exact) {
    // No rule of all rows: there may be one of some.
    const std::uint64_t row = first_row_that_differs(o, sides, all);
    return look_at(o, sides, in_grid(row, whole_groups, all), most, one);
  }
  const std::uint64_t step = std::max<std::uint64_t>(rows.step(), 1);
  one.checked = rows.count;
  for (std::uint64_t row = 0; row < all && !rows.is_whole; row += step) {
    const rows_of_pass here{row, std::min(step, all - row), false, step};
    if (row == rows.first) {
      add_part(found.first(), one.parts);
      continue;
    }
    if (most > 0 && one.checked + here.count > most) continue;
    one.checked += here.count;
    add_part(found.on(here), one.parts);
    if (!found.is_changed()) continue;
    one.parts.clear();
    one.checked = rows.count;
    row = 0 - step;  // the next is row 0
  }
  if (one.parts.empty()) add_part(found.first(), one.parts);
  // The likelier of states, and the first part that has it.
  const rules_on_rows* shown = nullptr;
  for (rules_on_rows& on : one.parts) {
    const rows_of_pass here{on.first, on.end - on.first, rows.is_whole, step};
    on.said = state_of(on, inputs_differ(o, sides, here, all),
                       outputs_differ(o, sides, here, all));
    constexpr int weight[] = {0, 3, 1, 2};  // by the order of states
    const auto of = [&](state s) { return weight[static_cast<int>(s)]; };
    if (shown == nullptr || of(on.said) > of(shown->said)) shown = &on;
  }
  one.a = shown->a;
  one.b = shown->b;
  one.said = shown->said;
  if (one.parts.size() > 1) {
    for (const auto& [side, to] : {std::pair{&rules_on_rows::a, &one.a},
                                   std::pair{&rules_on_rows::b, &one.b}}) {
      to->answer = all_answer(one.parts, side) ? answer_by_rows(one.parts, side)
                                               : nullptr;
    }
  }
  tell_types_apart(o, sides, one);
}

}  // namespace zeroulp::parity
