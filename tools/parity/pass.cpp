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
      r = rows.of('m', static_cast<std::int32_t>(rows.count / mine), all);
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
    throw input_error(
        fmt::format("operator '{}', {}: {}", o.name, side.path(), e.what()));
  }
}

rows_of_pass choose_rows(const std::vector<chain_operator>& chain,
                         const dump& a, std::uint64_t count,
                         std::uint64_t first) {
  std::uint64_t all = 0;
  bool needs_all = count == 0;
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
  if (needs_all || all <= count) return {0, all, true};
  const std::uint64_t last = all - std::min(all, count);
  const std::uint64_t from = std::min(first, last);
  return {from / whole_groups * whole_groups, count, false};
}

rows_of_pass rows_of(const chain_operator& o, const dump& a,
                     const rows_of_pass& pass) {
  const problem p = settings_of(o, a);
  std::uint64_t all = 0;
  for (const auto& spec : operands_of(p)) {
    const std::string* const tensor = o.reads_as(spec.name);
    const bool counts = spec.rows.name == 'm' && spec.rows.group == 1;
    if (tensor != nullptr && counts) all = rows_of_operand(a, *tensor, spec);
  }
  if (all == 0 || pass.first + pass.count <= all) return pass;
  const std::uint64_t last = all - std::min(all, pass.count);
  return {std::min(pass.first, last) / whole_groups * whole_groups,
          std::min(all, pass.count), pass.is_whole};
}

}  // namespace zeroulp::parity
