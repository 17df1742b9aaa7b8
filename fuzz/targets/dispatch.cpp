// Defines the target `dispatch`: rows of a matrix, gathered and quantized.
// Source: SPEC clauses S11, Q1 to Q13.

#include <algorithm>

#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t { tokens, few_tokens, special, any_bits };

void draw(settings& s, counter_rng& rng) {
  constexpr std::int32_t widths[] = {128, 128, 128, 32, 1 << 20, 7};
  s.from = draw_number_format(rng);
  s.to = draw_code_format(rng);
  // Only our own convention keeps Inf.
  s.how = rng.one_in(4) ? row_named(named_conventions, "zeroulp")
                        : one_of(named_conventions, rng);
  s.scale = one_of(named_scale_kinds, rng).value;
  s.group = {1, one_of(widths, rng)};
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  if (s.group.rows != 1) {
    return "group is 1xC, not " + name_of(s.group);
  }
  const auto why = refuse_number("from", s.from);
  return why.empty() ? refuse_codes("to", s.to) : why;
}

std::vector<operand_spec> operands_of(const settings& s) {
  return {{"x", s.from, {'m', 1}, {'n', 1}},
          {"rows", row_word, {'k', 1}, {0, 1}}};
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const std::ptrdiff_t m = rng.one_in(16) ? 0 : rng.between(1, 6);
  std::ptrdiff_t n = rng.between(0, 24);
  if (rng.one_in(8)) n = one_of(edge_lengths, rng);
  const std::ptrdiff_t k = rng.between(0, 8);
  p.in.clear();
  for (const auto& spec : operands_of(p.with)) {
    p.in.push_back(make_operand(spec, m, n, k));
  }
  matrix& x = p.in[0];
  fill_about(x, rng.between(-12, 12), 6, rng);
  if (how == profile::any_bits) fill_any(x, rng);
  if (how == profile::special) strew_kinds(x, 8, rng);
  // Some tokens go to no expert, and some places of experts get no token.
  const std::uint32_t none = how == profile::few_tokens ? 2 : 8;
  for (auto& word : p.in[1].words) {
    word = rng.one_in(none) || m == 0
               ? 0
               : 1 + rng.below(static_cast<std::uint32_t>(m));
  }
}

std::string clauses(const problem&, std::string_view output) {
  if (output == "scales") return "S11 Q2 Q3 Q4 Q5 Q12 Q13";
  return output == "codes" ? "S11 Q6 Q13 R1 C3 C4 C5" : "S11 Q1";
}

enum family { rows, conventions, codes, groups };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    t.add({{"row", {"none", "first", "last", "between", "of_nothing"}},
           {"again", {"no", "yes"}}},
          [](const bin_table::combination& at) {
            return (at[0] >= 1 && at[0] <= 3) || at[1] == 0;
          });
    t.add({convention_axis(), number_axis("from")});
    t.add({scale_kind_axis(), code_axis()});
    t.add({group_axis("group_cols")});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  const auto& words = p.in[1].words;
  table().hit(counts, conventions, convention_index(s), number_index(s.from));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto row = static_cast<std::ptrdiff_t>(words[i]) - 1;
    const int which = x.rows == 0        ? 4
                      : row < 0          ? 0
                      : row == 0         ? 1
                      : row + 1 < x.rows ? 3
                                         : 2;
    const auto* const end = words.data() + i;
    const bool again =
        row >= 0 && std::find(words.data(), end, words[i]) != end;
    table().hit(counts, rows, which, again ? 1 : 0);
  }
  const matrix& out = output_of(right, "codes");
  if (out.words.empty()) return;
  table().hit(counts, groups, group_edge(s.group.cols, x.cols));
  const auto size = static_cast<std::ptrdiff_t>(out.words.size());
  for_each_sampled(size, 6, [&](std::ptrdiff_t at) {
    table().hit(counts, codes, s.scale,
                code_kind_of(s.to, out.words[static_cast<std::size_t>(at)]));
  });
}

}  // namespace

target_info dispatch_info() {
  return {target::dispatch,
          "dispatch",
          "rows of a matrix, gathered and quantized",
          {"from", "to", "convention", "scale", "group", "place"},
          {"tokens", "few_tokens", "special", "any_bits"},
          draw,
          refuse,
          operands_of,
          fill,
          run_dispatch,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
