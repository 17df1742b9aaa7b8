#include "tools/zeroulp/fuzz/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/cases/options.hpp"
#include "fuzz/cases/token.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

std::string shape_of(const fuzz::matrix& x) {
  return fmt::format("{}x{}", x.rows, x.cols);
}

/// An element for a person: hexadecimal, and what that is.
std::string show(format f, std::uint64_t code) {
  const bool number = !(f == integer || f == row_word);
  return number ? describe(f, code) : fmt::format("{:x}", code);
}

std::string distance_text(const difference& d) {
  if (d.type == integer) return "";
  ulp_histogram h;
  h.add(d.left, d.right, order_of(d.type));
  if (h.nan_mismatches > 0) return ", one of them NaN";
  if (h.nan_payload > 0) return ", NaNs of other bits";
  if (h.zero_sign > 0) return ", zeros of another sign";
  return fmt::format(", {} ulp{}", h.max_distance,
                     h.max_distance == 1 ? "" : "s");
}

/// Up to so many different elements of an operand are printed.
constexpr int most_shown = 64;

constexpr std::size_t most_causes = 5;

}  // namespace

std::string replay_command(target t, const sides& s, const std::string& token) {
  const std::string left =
      s.left == "core" ? "" : fmt::format(" --reference {}", s.left);
  return fmt::format("zeroulp fuzz {}{} --against {}{} --replay {}",
                     info_of(t).name, left, s.right, s.trusts ? " --trust" : "",
                     token);
}

std::string inputs_text(const problem& p) {
  std::string text = fmt::format("  settings  {}\n", to_text(p.with, p.what));
  for (const fuzz::matrix& x : p.in) {
    text += fmt::format("  {:<9} {}", x.name, shape_of(x));
    std::size_t i = 0;
    for (int shown = 0; i < x.words.size() && shown < most_shown; ++shown) {
      const auto times = run_of(x, i);
      text += fmt::format("  {}", show(x.type, x.words[i]));
      if (times > 1) text += fmt::format(" x {}", times);
      i += times;
    }
    text += i < x.words.size() ? "  ...\n" : "\n";
  }
  return text;
}

std::string difference_text(const difference& d, const sides& s) {
  if (!d.failure.empty()) {
    return fmt::format("  {} {}\n", s.right, d.failure);
  }
  return fmt::format("  {}({}, {}): {} {}, {} {}{}\n", d.output, d.row, d.col,
                     s.left, show(d.type, d.left), s.right,
                     show(d.type, d.right), distance_text(d));
}

std::string differences_text(const outputs& left, const outputs& right,
                             const difference_set& ignored, const sides& s) {
  std::string text;
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (contains(kinds_of(ignored), k)) continue;
    const auto where = first_difference(left, right, only(k));
    if (where) text += difference_text(*where, s);
  }
  return text;
}

std::size_t size_of(const problem& p) {
  std::size_t count = 0;
  for (const fuzz::matrix& x : p.in) count += x.words.size();
  return count;
}

std::string finding_text(const finding& f, const sides& s, std::uint64_t more) {
  std::string text = fmt::format(
      "MISMATCH in case {}{} ({}), shrunk from {} input elements to {}:\n{}",
      f.index, more > 0 ? fmt::format(" and {} more", more) : "",
      name_of(f.kind), size_of(f.found), size_of(f.shrunk),
      inputs_text(f.shrunk));
  text += difference_text(f.where, s);
  if (!f.clauses.empty()) text += fmt::format("  SPEC      {}\n", f.clauses);
  for (std::size_t i = 0; i < std::min(f.causes.size(), most_causes); ++i) {
    const cause& c = f.causes[i];
    text += fmt::format(
        "  {}{} ({}: the same bits here and in {} of {} more cases)\n",
        i == 0 ? "likely    " : "or        ", c.what, c.name, c.agrees,
        c.tried);
  }
  if (f.causes.size() > most_causes) {
    text += fmt::format("  or one of {} more\n", f.causes.size() - most_causes);
  }
  if (f.causes.empty() && s.left == "core" && f.where.failure.empty()) {
    text += "  no mutant, convention or recipe gives these bits\n";
  }
  return text + fmt::format("  replay    {}\n",
                            replay_command(f.shrunk.what, s, f.token));
}

json difference_json(const difference& d) {
  if (!d.failure.empty()) return {{"failure", d.failure}};
  const bool code = !(d.type == integer);
  json j{{"output", d.output},
         {"row", d.row},
         {"col", d.col},
         {"left", to_hex(d.left, code ? d.type.bits() : 64)},
         {"right", to_hex(d.right, code ? d.type.bits() : 64)}};
  if (code) {
    j["format"] = name_of(d.type);
    j["left_value"] = to_decimal(decode(d.type, d.left));
    j["right_value"] = to_decimal(decode(d.type, d.right));
    ulp_histogram h;
    h.add(d.left, d.right, order_of(d.type));
    if (h.nan_mismatches == 0) j["ulps"] = h.max_distance;
  }
  return j;
}

json finding_json(const finding& f, const sides& s) {
  json causes = json::array();
  for (const cause& c : f.causes) {
    causes.push_back({{"name", c.name},
                      {"what", c.what},
                      {"agrees", c.agrees},
                      {"tried", c.tried}});
  }
  return {{"class", name_of(f.kind)},
          {"case", f.index},
          {"elements", size_of(f.found)},
          {"shrunk_elements", size_of(f.shrunk)},
          {"difference", difference_json(f.where)},
          {"clauses", f.clauses},
          {"causes", causes},
          {"token", f.token},
          {"replay", replay_command(f.shrunk.what, s, f.token)}};
}

}  // namespace zeroulp::program
