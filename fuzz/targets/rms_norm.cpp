// Defines the target `rms_norm`: rows divided by their root mean square, times
// weights, and the quantized result. Source: SPEC clauses S1, S4, S5, E4, Q1 to
// Q13.

#include <algorithm>

#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  activations,
  huge,
  tiny,
  special,
  any_bits,
};

constexpr std::uint32_t usual_eps = 0x358637bd;  // 1e-6

void draw(settings& s, counter_rng& rng) {
  s.from = draw_number_format(rng);
  s.weight = draw_number_format(rng);
  s.value = draw_number_format(rng);
  s.to = draw_code_format(rng);
  s.how = rng.one_in(6) ? row_named(named_conventions, "zeroulp")
                        : one_of(named_conventions, rng);
  s.scale = one_of(named_scale_kinds, rng).value;
  s.group = draw_group(rng);
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  for (const auto& why :
       {refuse_number("from", s.from), refuse_number("weight", s.weight),
        refuse_number("value", s.value)}) {
    if (!why.empty()) return why;
  }
  return refuse_codes("to", s.to);
}

std::vector<operand_spec> operands_of(const settings& s) {
  const axis one{0, 1};
  return {{"x", s.from, {'m', 1}, {'n', 1}},
          {"w", s.weight, one, {'n', 1}},
          {"eps", fp32, one, one, false, true}};
}

/// A lane has eight elements, and after 2048 elements lanes begin anew. Kernels
/// process rows of up to 8192 elements as a whole.
std::ptrdiff_t draw_columns(counter_rng& rng) {
  constexpr int long_rows[] = {1024, 2047, 2048, 2049, 2056, 3072,
                               4096, 4097, 5120, 7168, 8192, 8200};
  if (rng.one_in(64)) return 0;
  if (rng.one_in(48)) return one_of(long_rows, rng);
  if (rng.one_in(8)) return one_of(edge_lengths, rng);
  return rng.between(1, rng.one_in(2) ? 4 : 40);
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const std::ptrdiff_t n = draw_columns(rng);
  const std::ptrdiff_t m = rng.one_in(32) ? 0 : rng.between(1, n > 300 ? 2 : 4);
  p.in.clear();
  for (const auto& spec : operands_of(p.with)) {
    p.in.push_back(make_operand(spec, m, n, 0));
  }
  // Squares that overflow, or are lost beside eps, or are lost altogether.
  const int of_x = how == profile::huge   ? rng.between(50, 126)
                   : how == profile::tiny ? rng.between(-126, -8)
                                          : rng.between(-2, 4);
  const int of_w = how == profile::huge   ? 124
                   : how == profile::tiny ? rng.between(-130, 0)
                                          : 0;
  matrix& x = p.in[0];
  matrix& w = p.in[1];
  fill_about(x, of_x, rng.one_in(2) ? 2 : 12, rng);
  fill_about(w, of_w, 3, rng);
  for (matrix* const of : {&x, &w}) {
    if (how == profile::any_bits) fill_any(*of, rng);
    if (how == profile::special) strew_kinds(*of, rng.one_in(2) ? 3 : 24, rng);
  }
  if (rng.one_in(24)) std::fill(x.words.begin(), x.words.end(), 0);
  const bool any = how == profile::any_bits || rng.one_in(16);
  const auto kind = static_cast<code_kind>(rng.below(code_kinds));
  p.in[2].words[0] = any ? code_of_kind(fp32, kind, rng) & 0x7fffffff
                     : rng.one_in(4) ? 0
                                     : usual_eps;
}

std::string clauses(const problem&, std::string_view output) {
  if (output == "rstd") return "S4 S5 E4";
  if (output == "y") return "S1 S4 S5 E4";
  if (output == "scales") return "S1 Q2 Q3 Q4 Q5 Q12 Q13";
  return output == "codes" ? "S1 Q6 Q13 R1 C3 C4 C5" : "Q1 S5";
}

enum family {
  factors,
  inputs,
  formats,
  values,
  codes,
  lengths,
  groups,
  conventions
};

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    t.add({sort_axis("rstd"), sort_axis("eps")},
          [](const bin_table::combination& at) {
            // Nothing negative is added to eps.
            constexpr bool possible[4][4] = {{true, true, true, true},
                                             {true, true, false, true},
                                             {true, false, false, true},
                                             {false, false, false, true}};
            return possible[at[1]][at[0]];
          });
    t.add({plain_axis("x"), plain_axis("w")});
    t.add({number_axis("from"), number_axis("weight")});
    t.add({plain_axis("y"), sign_axis(), number_axis("value")},
          [](const bin_table::combination& at) {
            return at[0] != 4 || at[1] == 0;  // NaN is positive
          });
    t.add({scale_kind_axis(), code_axis()});
    t.add({{"lanes", {"none", "one", "some", "all", "again"}}});
    t.add({group_axis("group_rows"), group_axis("group_cols")});
    t.add({convention_axis(), scale_kind_axis()});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  const matrix& w = p.in[1];
  if (x.rows == 0) return;
  const std::ptrdiff_t run = rms_run, all = rms_run * rms_lanes;
  table().hit(counts, lengths,
              x.cols == 0           ? 0
              : x.cols <= run       ? 1
              : x.cols <= all - run ? 2
              : x.cols <= all       ? 3
                                    : 4);
  const matrix& rstd = output_of(right, "rstd");
  for (const auto factor : rstd.words) {
    table().hit(counts, factors, sort_of(factor), sort_of(p.in[2].words[0]));
  }
  if (x.words.empty()) return;
  table().hit(counts, formats, number_index(s.from), number_index(s.weight));
  table().hit(counts, groups, group_edge(s.group.rows, x.rows),
              group_edge(s.group.cols, x.cols));
  table().hit(counts, conventions, convention_index(s), s.scale);
  const matrix& y = output_of(right, "y");
  const matrix& out = output_of(right, "codes");
  const auto size = static_cast<std::ptrdiff_t>(x.words.size());
  for_each_sampled(size, 6, [&](std::ptrdiff_t n) {
    const auto at = static_cast<std::size_t>(n);
    table().hit(counts, inputs, plain_kind(s.from, x.words[at]),
                plain_kind(s.weight, w(0, n % x.cols)));
    table().hit(counts, values, plain_kind(s.value, y.words[at]),
                sign_of(s.value, y.words[at]), number_index(s.value));
    table().hit(counts, codes, s.scale, code_kind_of(s.to, out.words[at]));
  });
}

}  // namespace

target_info rms_norm_info() {
  return {target::rms_norm,
          "rms_norm",
          "RMSNorm: rows by their root mean square, quantized",
          {"from", "weight", "value", "to", "convention", "scale", "group",
           "place"},
          {"activations", "huge", "tiny", "special", "any_bits"},
          draw,
          refuse,
          operands_of,
          fill,
          run_rms_norm,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
