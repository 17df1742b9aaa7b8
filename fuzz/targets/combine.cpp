// Defines the target `combine`: sums of rows, in slot order, with weights or
// without. Source: SPEC clauses S9, S10.

#include <algorithm>

#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  sums,
  cancelling,
  tiny,
  huge,
  special,
  any_bits,
};

void draw(settings& s, counter_rng& rng) {
  s.sum = static_cast<combine_rule>(rng.below(3));
  s.place = draw_placement(rng);
}

std::string refuse(const settings&) { return ""; }

/// x has four rows for each slot. A pair ignores weights, and gets none.
std::vector<operand_spec> operands_of(const settings&) {
  return {{"x", bf16, {'k', 1}, {'n', 1}},
          {"slots", row_word, {'m', 1}, {'k', 4}},
          {"weights", fp32, {'m', 1}, {'k', 4}, true}};
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const bool pair = p.with.sum == combine_rule::bf16_pair;
  const std::ptrdiff_t m = rng.between(0, 4);
  const std::ptrdiff_t n =
      rng.one_in(12) ? rng.between(60, 70) : rng.between(1, 9);
  const int slots = rng.between(0, pair ? 2 : rng.one_in(2) ? 3 : 9);
  const std::ptrdiff_t k =
      slots == 0 ? 0 : 4 * slots - static_cast<int>(rng.below(4));
  const bool weighted = !pair && rng.one_in(2);
  p.in.clear();
  for (const auto& spec : operands_of(p.with)) {
    const bool absent = spec.optional && !weighted;
    p.in.push_back(absent ? matrix(spec.name, spec.type, 0, 0)
                          : make_operand(spec, m, n, k));
  }
  matrix& x = p.in[0];
  const int exponent = how == profile::tiny   ? -126
                       : how == profile::huge ? 126
                                              : rng.between(-8, 8);
  // Terms near each other: rounding errors meet. Far apart: one term's error is
  // all of the error.
  fill_about(x, exponent, rng.one_in(2) ? 1 : 9, rng);
  if (how == profile::cancelling) {
    for (std::size_t i = 1; i < x.words.size(); ++i) {
      if (!rng.one_in(2)) continue;
      const auto other = x.words[rng.below(static_cast<std::uint32_t>(i))];
      x.words[i] = other ^ 0x8000 ^ (rng.one_in(2) ? 1 : 0);
    }
  }
  if (how == profile::any_bits) fill_any(x, rng);
  strew_kinds(x, how == profile::special ? 3 : 32, rng);
  const std::uint32_t none = rng.one_in(3) ? 2 : 8;
  for (auto& word : p.in[1].words) {
    word = rng.one_in(none) ? 0 : 1 + rng.below(static_cast<std::uint32_t>(k));
  }
  if (!weighted) return;
  fill_about(p.in[2], how == profile::huge ? 3 : -2, 3, rng);
  strew_kinds(p.in[2], how == profile::special ? 4 : 32, rng);
}

std::string clauses(const problem&, std::string_view output) {
  return output == "guards" ? "S9" : "S9 S10 A1 A4 R1";
}

enum family { contributions, sums, positions };

bool has_weights(const problem& p) {
  return p.in[2].rows > 0 && p.with.sum != combine_rule::bf16_pair;
}

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    const bin_axis rules{"sum", {"fp32_slots", "bf16_hops", "bf16_pair"}};
    const bin_axis weights{"weights", {"no", "yes"}};
    t.add({rules, {"of", {"0", "1", "2", "more"}}, weights},
          [](const bin_table::combination& at) {
            return at[0] != 2 || (at[1] != 3 && at[2] == 0);
          });
    t.add({rules, plain_axis("gives"), sign_axis()},
          [](const bin_table::combination& at) {
            return at[1] != 4 || at[2] == 0;  // NaN is positive
          });
    t.add({rules, position_axis(5), weights},
          [](const bin_table::combination& at) {
            return at[0] != 2 || at[2] == 0;
          });
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

/// The last sum of an element before it becomes BF16, in FP32 bits.
struct last_sum {
  int count = 0;
  std::uint32_t bits = 0;
};

last_sum last_of(const problem& p, std::ptrdiff_t t, std::ptrdiff_t j) {
  using A = core_fp32;
  const matrix& x = p.in[0];
  const matrix& slots = p.in[1];
  const bool pair = p.with.sum == combine_rule::bf16_pair;
  last_sum last;
  auto c = no_contribution<A>();
  for (std::ptrdiff_t s = 0; s < slots.cols && !(pair && s == 2); ++s) {
    if (slots(t, s) == 0) continue;
    const auto row = (static_cast<std::ptrdiff_t>(slots(t, s)) - 1) % x.rows;
    const A::number term{as_fp32(bf16, x(row, j))};
    // As if this term were the last: until then fp32_slots does not round.
    const auto rule = combine_rule::fp32_slots;
    if (has_weights(p)) {
      const A::number by{static_cast<std::uint32_t>(p.in[2](t, s))};
      last.bits = contribute<A>(rule, c, term, by).sum.value;
      c = contribute<A>(p.with.sum, c, term, by);
    } else {
      last.bits = contribute<A>(rule, c, term).sum.value;
      c = contribute<A>(p.with.sum, c, term);
    }
    ++last.count;
  }
  return last;
}

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const matrix& out = right[0];
  const int weighted = has_weights(p) ? 1 : 0;
  const auto size = static_cast<std::ptrdiff_t>(out.words.size());
  for_each_sampled(size, 6, [&](std::ptrdiff_t at) {
    const last_sum last = last_of(p, at / out.cols, at % out.cols);
    const auto code = out.words[static_cast<std::size_t>(at)];
    table().hit(counts, contributions, p.with.sum, std::min(last.count, 3),
                weighted);
    table().hit(counts, sums, p.with.sum, plain_kind(bf16, code),
                sign_of(bf16, code));
    const auto where = position_in(bf16, last.bits);
    if (where <= position::beyond) {
      table().hit(counts, positions, p.with.sum, where, weighted);
    }
  });
}

}  // namespace

target_info combine_info() {
  return {target::combine,
          "combine",
          "sums of rows in slot order, with weights or without",
          {"sum", "place"},
          {"sums", "cancelling", "tiny", "huge", "special", "any_bits"},
          draw,
          refuse,
          operands_of,
          fill,
          run_combine,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
