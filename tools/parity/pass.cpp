// Which rows of a pass are looked at, and an operator's tensors on them.

#include "tools/parity/pass.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

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
                                    o.name, o.is->name, output, known));
    }
    const bool is_column = at->cols == 1;
    const std::uint64_t all = side.extent_of(tensor, is_column).rows;
    const auto mine = static_cast<std::uint64_t>(at->rows);
    fuzz::range r{0, static_cast<std::ptrdiff_t>(all)};
    if (mine != all && mine > 0) {
      r = rows.of('m', group_of(rows.count, mine), all);
    }
    matrix m = side.read(tensor, at->name, at->type, r, is_column);
    if (m.rows * m.cols == at->rows * at->cols) {  // a column may be a vector
      m.rows = at->rows;
      m.cols = at->cols;
    }
    made.push_back(std::move(m));
  }
  return made;
}

}  // namespace

std::int32_t group_of(std::uint64_t rows, std::uint64_t mine) {
  constexpr std::uint64_t usual = whole_groups;
  const bool is_usual = mine < rows && (rows + usual - 1) / usual == mine;
  return static_cast<std::int32_t>(is_usual ? usual : rows / mine);
}

rows_of_pass in_grid(std::uint64_t row, std::uint64_t count,
                     std::uint64_t all) {
  const std::uint64_t first =
      std::min(row, all - std::min<std::uint64_t>(all, 1)) / count * count;
  return {first, std::min(count, all - first), false, count};
}

tensor_source source_of(const dump& side, const rows_of_pass& rows) {
  return [&](const std::string& tensor, const fuzz::operand_spec& spec) {
    return side.read(tensor, spec.name, spec.type,
                     rows.of(spec.rows.name, spec.rows.group,
                             rows_of_operand(side, tensor, spec)),
                     spec.cols.name == 0);
  };
}

question question_of(const chain_operator& o, const dump& side,
                     const rows_of_pass& rows) {
  try {
    question q{problem_of(o, side, source_of(side, rows), rows.first), {}, {}};
    const auto fault = refuse_operands(q.p);
    if (!fault.empty()) throw input_error(fault);
    q.claimed = claimed_outputs(q.p);
    q.made = made_by(o, side, q.claimed, rows);
    return q;
  } catch (const input_error& e) {
    const std::string said = e.what();
    const bool has_path = said.starts_with(side.path());
    throw input_error(fmt::format("operator '{}'{}: {}", o.name,
                                  has_path ? "" : ", " + side.path(), said));
  }
}

rows_of_pass choose_rows(const std::vector<chain_operator>& chain,
                         const dump& a, std::uint64_t count,
                         std::uint64_t first) {
  std::uint64_t all = 0;
  bool needs_all = false;
  for (const chain_operator& o : chain) {
    const problem p = settings_of(o, a);
    for (const auto& spec : operands_of(p)) {
      const std::string* const tensor = o.reads_as(spec.name);
      if (tensor == nullptr || spec.rows.name != 'm') continue;
      if (spec.rows.group == 1) {
        all = std::max(all, rows_of_operand(a, *tensor, spec));
      }
      needs_all = needs_all || spec.rows.group == 0;
    }
    needs_all = needs_all || p.with.group.rows == 0 || o.is->whole_pass;
  }
  if (needs_all || count == 0 || all <= count) {
    return {0, all, true, 0, !needs_all};
  }
  return in_grid(first, count, all);
}

std::optional<std::uint64_t> all_rows_of(const chain_operator& o,
                                         const dump& a) {
  const problem p = settings_of(o, a);
  std::optional<std::uint64_t> all;
  for (const auto& spec : operands_of(p)) {
    const std::string* const tensor = o.reads_as(spec.name);
    const bool counts = spec.rows.name == 'm' && spec.rows.group == 1;
    if (tensor != nullptr && counts) all = rows_of_operand(a, *tensor, spec);
  }
  return all;
}

rows_of_pass rows_of(const chain_operator& o, const dump& a,
                     const rows_of_pass& pass) {
  const auto all = all_rows_of(o, a);
  if (!all) return pass;
  if (pass.is_whole) return {0, *all, true, 0, pass.may_cut};
  return in_grid(pass.first, pass.step(), *all);
}

bool gives(const rule& by, const chain_operator& o, const dump& side,
           const rows_of_pass& rows) {
  try {
    const problem p = problem_of(o, side, source_of(side, rows), rows.first);
    const outputs answer = by.answer(p);
    const outputs made = made_by(o, side, answer, rows);
    return gives(answer, made) || (by.read_more && by.read_more(p, made));
  } catch (const input_error&) {
    return false;  // a rule of other operands
  }
}

}  // namespace zeroulp::parity
