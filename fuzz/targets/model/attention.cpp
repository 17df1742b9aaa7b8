// Defines the target `attention`: causal attention, forward and backward.
// Source: SPEC clauses N5 to N7.

#include <algorithm>

#include "fuzz/targets/model/model_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  normal,
  peaked,   ///< one key takes nearly all
  equal,    ///< scores of few values, zeros of both signs
  lengths,  ///< around 64 and 128
  extreme,  ///< scores that overflow or are lost
  special,  ///< with NaN and Inf strewn in
  any_bits,
};

void draw(settings& s, counter_rng& rng) {
  constexpr int lengths[] = {0, 0, 0, 1, 2, 3};
  s.heads = rng.one_in(4) ? 2 : 1;
  s.length = one_of(lengths, rng);
  s.place = draw_rows(rng);
}

std::vector<operand_spec> operands_of(const settings&) {
  const axis one{0, 1};
  return {{"q", bf16, {'m', 1}, {'k', 1}},
          {"k", bf16, {'m', 1}, {'k', 1}},
          {"v", bf16, {'m', 1}, {'n', 1}},
          {"d_o", bf16, {'m', 1}, {'n', 1}},
          {"scale", fp32, one, one, false, true}};
}

struct shape {
  std::ptrdiff_t tokens, values, depth;
};

shape draw_shape(profile how, const settings& s, counter_rng& rng) {
  constexpr int edges[] = {63, 64, 65, 66, 127, 128, 129};
  // They take most of the time.
  const std::uint32_t rarity = how == profile::lengths ? 10 : 40;
  const bool edge = how == profile::lengths || how == profile::special;
  if (edge && s.length == 0 && rng.one_in(rarity)) {
    return {one_of(edges, rng), s.heads, s.heads};
  }
  const int by = s.length == 0 ? 1 : s.length;
  const auto width = [&] {
    return s.heads * rng.between(1, rng.one_in(12) ? 20 : 3);
  };
  return {by * rng.between(1, by > 1 ? 3 : 9), width(), width()};
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const auto [m, n, k] = draw_shape(how, p.with, rng);
  make_operands(p, rng.one_in(64) ? 0 : m, n, k);
  const int exponent = how == profile::peaked    ? 3
                       : how != profile::extreme ? 0
                       : rng.one_in(2)           ? rng.between(30, 64)
                                                 : rng.between(-80, -60);
  for (std::size_t i = 0; i < 4; ++i) {
    const bool of_scores = i < 2;
    fill_about(p.in[i], of_scores ? exponent : rng.between(-1, 1),
               rng.one_in(2) ? 1 : 4, rng);
    if (how == profile::equal && of_scores) {
      constexpr std::uint32_t few[] = {0, 0x8000, 0x3f80, 0xbf80};
      for (auto& word : p.in[i].words) word = one_of(few, rng);
    }
    if (how == profile::any_bits) fill_any(p.in[i], rng);
    if (how == profile::special && rng.one_in(2)) {
      strew_kinds(p.in[i], rng.one_in(2) ? 6 : 40, rng);
    }
  }
  // Outputs that underflow.
  if (how == profile::extreme && rng.one_in(4)) {
    for (auto& word : p.in[2].words) word = rng.below(2) << 15 | rng.below(4);
  }
  const bool usual = !rng.one_in(4);
  p.in[4].words[0] = usual
                         ? attention_scale(k / p.with.heads)
                         : code_at(fp32, rng.between(-6, 3), rng.next() >> 41);
}

std::string clauses(const problem&, std::string_view output) {
  if (output == "largest") return "N5";
  if (output == "inverse" || output == "o") return "N5 N6 E2";
  return "N1 N5 N7 E2";
}

enum family { shapes, scores, results, gradients, unseen };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    const bin_axis several{"heads", {"one", "more"}};
    t.add({{"tokens", {"1", "to 63", "64", "to 127", "128", "more"}}, several});
    t.add({sort_axis("largest"), sign_axis(), sort_axis("inverse")},
          [](const bin_table::combination& at) {
            // A sum has the one of its largest score, or is NaN.
            const bool nan = at[0] == 3 || at[0] == 2;
            if (at[0] == 3 && at[1] == 1) return false;
            return nan ? at[2] == 3 : at[2] == 1;
          });
    t.add({plain_axis("o"), sign_axis()}, [](const bin_table::combination& at) {
      return at[0] != 4 || at[1] == 0;  // NaN is positive
    });
    t.add({{"of", {"q", "k", "v"}}, plain_axis("gradient")});
    t.add({{"v_unseen", {"numbers", "inf", "nan"}}});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

/// The gravest kind of v in the last token of a sequence, which none before it
/// sees: 0 a number, 1 Inf, 2 NaN.
int kind_unseen(const problem& p, const attention_shape& s) {
  int gravest = 0;
  const matrix& v = p.in[2];
  if (s.length == 1) return 0;
  for (std::ptrdiff_t c = 0; c < v.cols; ++c) {
    gravest = std::max(gravest, plain_kind(bf16, v(s.length - 1, c)) - 2);
  }
  return gravest;
}

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const matrix& largest = output_of(right, "largest");
  if (largest.words.empty()) return;
  const attention_shape s = attention_of(p);
  table().hit(counts, shapes, class_of(s.length, {1, 63, 64, 127, 128}),
              s.heads > 1 ? 1 : 0);
  table().hit(counts, unseen, kind_unseen(p, s));
  const matrix& inverse = output_of(right, "inverse");
  const auto size = static_cast<std::ptrdiff_t>(largest.words.size());
  for_each_sampled(size, 6, [&](std::ptrdiff_t n) {
    const auto at = static_cast<std::size_t>(n);
    table().hit(counts, scores, sort_of(largest.words[at]),
                sign_of(fp32, largest.words[at]), sort_of(inverse.words[at]));
  });
  const auto sample = [&](const char* name, auto use) {
    const matrix& x = output_of(right, name);
    const auto count = static_cast<std::ptrdiff_t>(x.words.size());
    for_each_sampled(count, 6, [&](std::ptrdiff_t n) {
      use(x.words[static_cast<std::size_t>(n)]);
    });
  };
  sample("o", [&](std::uint64_t word) {
    table().hit(counts, results, plain_kind(bf16, word), sign_of(bf16, word));
  });
  constexpr const char* names[] = {"dq", "dk", "dv"};
  for (int i = 0; i < 3; ++i) {
    sample(names[i], [&](std::uint64_t word) {
      table().hit(counts, gradients, i, plain_kind(bf16, word));
    });
  }
}

}  // namespace

target_info attention_info() {
  return {target::attention,
          "attention",
          "causal attention, forward and backward",
          {"heads", "length", "place"},
          {"normal", "peaked", "equal", "lengths", "extreme", "special",
           "any_bits"},
          draw,
          refuse_rows,
          operands_of,
          fill,
          run_attention,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
