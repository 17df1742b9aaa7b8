// Defines the target `swiglu`: h from g and u, the cache of g and u, and the
// gradients from dh and that cache; values, and what is quantized from them.
// Source: SPEC clauses S1 to S3, E1 to E3, Q1 to Q13, Q10.

#include <algorithm>

#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  activations,
  thresholds,
  huge,
  tiny,
  special,
  any_bits,
};

void draw(settings& s, counter_rng& rng) {
  s.from = draw_number_format(rng);
  s.value = draw_number_format(rng);
  s.gradient = draw_number_format(rng);
  s.to = draw_code_format(rng);
  s.out_to = draw_code_format(rng);
  s.how = rng.one_in(6) ? row_named(named_conventions, "zeroulp")
                        : one_of(named_conventions, rng);
  s.scale = one_of(named_scale_kinds, rng).value;
  s.out_scale = one_of(named_scale_kinds, rng).value;
  s.group = draw_group(rng);
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  for (const auto& why :
       {refuse_number("from", s.from), refuse_number("value", s.value),
        refuse_number("gradient", s.gradient), refuse_codes("to", s.to)}) {
    if (!why.empty()) return why;
  }
  return refuse_codes("out_to", s.out_to);
}

std::vector<operand_spec> operands_of(const settings& s) {
  const axis m{'m', 1};
  const axis n{'n', 1};
  return {{"g", s.from, m, n}, {"u", s.from, m, n}, {"dh", s.gradient, m, n}};
}

/// Magnitudes where exp and sigmoid change their nature.
constexpr std::uint32_t thresholds[] = {
    bit_cast<std::uint32_t>(0x1.62e42ep-2f), bit_cast<std::uint32_t>(16.6f),
    bit_cast<std::uint32_t>(17.5f),          bit_cast<std::uint32_t>(87.5f),
    bit_cast<std::uint32_t>(0x1.62e42ep6f),  bit_cast<std::uint32_t>(89.0f),
    bit_cast<std::uint32_t>(0x1.9fe368p6f),  bit_cast<std::uint32_t>(104.0f)};

void fill_thresholds(matrix& g, counter_rng& rng) {
  for (auto& word : g.words) {
    const std::uint32_t bits = one_of(thresholds, rng) + rng.below(81) - 40;
    const std::uint32_t sign = rng.one_in(3) ? 0 : 0x80000000;
    word = recode(fp32, bits | sign, g.type, {}, keep_specials);
  }
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const group_shape group = p.with.group;
  std::ptrdiff_t m = rng.between(1, 3);
  std::ptrdiff_t n = rng.between(1, 12);
  if (rng.one_in(24)) n = one_of(edge_lengths, rng);
  if (rng.one_in(64)) n = 0;
  // Some groups run down columns, or have two dimensions.
  if (group.rows > 1 && group.cols == 1) std::swap(m, n);
  if (group.rows > 1 && group.cols > 1 && rng.one_in(4)) std::swap(m, n);
  p.in.clear();
  for (const auto& spec : operands_of(p.with)) {
    p.in.push_back(make_operand(spec, m, n, 0));
  }
  int exponents[] = {0, 0, -8};
  int spread = 4;
  if (how == profile::huge) {
    exponents[0] = rng.between(0, 6);
    exponents[1] = exponents[2] = 120;
    spread = 8;
  }
  if (how == profile::tiny) {
    exponents[0] = rng.between(-126, -1);
    exponents[1] = exponents[2] = -110;
    spread = 20;
  }
  for (std::size_t i = 0; i < p.in.size(); ++i) {
    matrix& x = p.in[i];
    fill_about(x, exponents[i], spread, rng);
    if (how == profile::any_bits) fill_any(x, rng);
    if (how == profile::special) strew_kinds(x, 3, rng);
    strew_kinds(x, 64, rng);
  }
  if (how == profile::thresholds) fill_thresholds(p.in[0], rng);
}

std::string clauses(const problem&, std::string_view output) {
  if (output == "h") return "S1 S2 E1 E2 E3";
  if (output.ends_with("_scales")) return "S1 Q2 Q3 Q4 Q5 Q12 Q13";
  if (output.ends_with("_codes")) return "S1 Q6 Q13 R1 C3 C4 C5";
  return output == "guards" ? "Q1 S2 S3" : "S1 S3 E1 E2 E3 Q10";
}

enum family {
  of_g,
  of_u,
  values,
  of_dg,
  of_du,
  codes,
  groups,
  scales,
  conventions
};

/// The zone of g for exp and sigmoid.
int zone_of(std::uint32_t g) {
  const std::uint32_t x = g & 0x7fffffff;
  if (x >= fp32_infinity) return x == fp32_infinity ? 6 : 7;
  if (x == 0) return 0;
  const float magnitude = bit_cast<float>(x);
  return magnitude < 0x1p-14f ? 1
         : magnitude < 17     ? 2
         : magnitude < 88     ? 3
         : magnitude < 104    ? 4
                              : 5;
}

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    t.add({{"g",
            {"zero", "below_2^-14", "below_17", "below_88", "below_104", "more",
             "inf", "nan"}},
           sign_axis()});
    t.add({plain_axis("u"), plain_axis("dh")});
    // NaN is positive.
    const auto is_possible = [](const bin_table::combination& at) {
      return at[0] != 4 || at[1] == 0;
    };
    t.add({plain_axis("h"), sign_axis(), number_axis("value")}, is_possible);
    t.add({plain_axis("dg"), sign_axis()}, is_possible);
    t.add({plain_axis("du"), sign_axis()}, is_possible);
    t.add({{"of", {"h", "dg", "du"}}, code_axis()});
    t.add({group_axis("group_rows"), group_axis("group_cols")});
    bin_axis stored = scale_kind_axis();
    stored.name = "out_scale";
    t.add({scale_kind_axis(), stored});
    t.add({convention_axis(), scale_kind_axis()});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const settings& s = p.with;
  const matrix& g = p.in[0];
  table().hit(counts, scales, s.scale, s.out_scale);
  if (g.words.empty()) return;
  table().hit(counts, groups, group_edge(s.group.rows, g.rows),
              group_edge(s.group.cols, g.cols));
  table().hit(counts, conventions, convention_index(s), s.scale);
  const matrix* quantized[] = {&output_of(right, "h_codes"),
                               &output_of(right, "dg_codes"),
                               &output_of(right, "du_codes")};
  const matrix& h = output_of(right, "h");
  const matrix& dg = output_of(right, "dg");
  const matrix& du = output_of(right, "du");
  const auto size = static_cast<std::ptrdiff_t>(g.words.size());
  for_each_sampled(size, 6, [&](std::ptrdiff_t n) {
    const auto at = static_cast<std::size_t>(n);
    const auto kind = [at](const matrix& x) {
      return plain_kind(x.type, x.words[at]);
    };
    const auto sign = [at](const matrix& x) {
      return sign_of(x.type, x.words[at]);
    };
    table().hit(counts, of_g, zone_of(as_fp32(s.from, g.words[at])), sign(g));
    table().hit(counts, of_u, kind(p.in[1]), kind(p.in[2]));
    table().hit(counts, values, kind(h), sign(h), number_index(s.value));
    table().hit(counts, of_dg, kind(dg), sign(dg));
    table().hit(counts, of_du, kind(du), sign(du));
    for (int i = 0; i < 3; ++i) {
      table().hit(counts, codes, i,
                  code_kind_of(s.out_to, quantized[i]->words[at]));
    }
  });
}

}  // namespace

target_info swiglu_info() {
  return {target::swiglu,
          "swiglu",
          "SwiGLU forward and backward, with what is quantized around it",
          {"from", "value", "gradient", "to", "out_to", "convention", "scale",
           "out_scale", "group", "place"},
          {"activations", "thresholds", "huge", "tiny", "special", "any_bits"},
          draw,
          refuse,
          operands_of,
          fill,
          run_swiglu,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
