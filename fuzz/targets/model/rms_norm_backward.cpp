// Defines the target `rms_norm_backward`: gradients of rows and of weights.
// Source: SPEC clauses N1 to N3.

#include <algorithm>

#include "fuzz/targets/model/model_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  activations,
  along,   ///< dy is x: dx is what rounding leaves of a difference
  tokens,  ///< around the ranges of 256
  extreme,
  special,
  any_bits,
};

void draw(settings& s, counter_rng& rng) { s.place = draw_rows(rng); }

std::vector<operand_spec> operands_of(const settings&) {
  const axis one{0, 1};
  return {{"dy", bf16, {'m', 1}, {'n', 1}},
          {"x", bf16, {'m', 1}, {'n', 1}},
          {"w", fp32, one, {'n', 1}},
          {"rstd", fp32, {'m', 1}, one},
          {"residual", bf16, {'m', 1}, {'n', 1}, true}};
}

/// A partial sum has eight elements, and after 2048 all begin anew.
std::ptrdiff_t draw_columns(counter_rng& rng) {
  constexpr int long_rows[] = {1024, 2047, 2048, 2049, 2056, 4097};
  if (rng.one_in(64)) return 0;
  if (rng.one_in(48)) return one_of(long_rows, rng);
  return rng.between(1, rng.one_in(2) ? 9 : 40);
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  constexpr int many_tokens[] = {255, 256, 257, 513};
  const bool many = how == profile::tokens && rng.one_in(4);
  const std::ptrdiff_t n = many ? rng.between(1, 2) : draw_columns(rng);
  const std::ptrdiff_t m = many             ? one_of(many_tokens, rng)
                           : rng.one_in(32) ? 0
                                            : rng.between(1, n > 300 ? 2 : 4);
  make_operands(p, m, n, 0, rng.one_in(2) ? 1u << 4 : 0);
  const bool extreme = how == profile::extreme;
  const int exponent = !extreme        ? rng.between(-2, 2)
                       : rng.one_in(2) ? rng.between(40, 126)
                                       : rng.between(-126, -40);
  const int spread = rng.one_in(2) ? 2 : 12;
  for (matrix& x : p.in) fill_about(x, exponent, spread, rng);
  // A factor that rms_norm gives is above 0.
  matrix& rstd = p.in[3];
  if (!rng.one_in(4)) {
    for (auto& word : rstd.words) word &= fp32.magnitude_mask();
  }
  if (how == profile::along) {
    p.in[0].words = p.in[1].words;
    std::fill(p.in[2].words.begin(), p.in[2].words.end(), fp32_one);
    for (auto& word : rstd.words)
      word = code_at(fp32, -exponent, rng.next() >> 41);
  }
  for (matrix& x : p.in) {
    if (how == profile::any_bits) fill_any(x, rng);
    if (how == profile::special) strew_kinds(x, rng.one_in(2) ? 4 : 24, rng);
  }
  // Zeros of either sign, and then sums of them.
  const auto clear = [&rng](matrix& x) {
    for (auto& word : x.words) word = rng.below(2) << 15;
  };
  if (!rng.one_in(24)) return;
  clear(p.in[0]);
  if (rng.one_in(2)) clear(p.in[4]);
}

std::string clauses(const problem&, std::string_view output) {
  return output == "dw" ? "N2 N3" : "N1 N3 E4";
}

enum family { gradients, sums, lengths, ranges };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    const bin_axis residual{"residual", {"no", "yes"}};
    t.add({plain_axis("dx"), sign_axis(), residual},
          [](const bin_table::combination& at) {
            return at[0] != 4 || at[1] == 0;  // NaN is positive
          });
    t.add({plain_axis("dw")});
    t.add({{"lanes", {"none", "one", "some", "all", "again"}}, residual});
    t.add({{"tokens", {"none", "some", "a range", "ranges"}}});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const matrix& x = p.in[1];
  const int residual = p.in[4].rows > 0 ? 1 : 0;
  constexpr std::ptrdiff_t run = rms_run, all = rms_run * rms_lanes;
  constexpr std::ptrdiff_t lanes[] = {0, run, all - run, all};
  if (x.rows > 0) {
    table().hit(counts, lengths, class_of(x.cols, lanes), residual);
  }
  table().hit(counts, ranges, class_of(x.rows, {0, 254, 256}));
  const matrix& dx = output_of(right, "dx");
  const auto size = static_cast<std::ptrdiff_t>(dx.words.size());
  for_each_sampled(size, 6, [&](std::ptrdiff_t n) {
    const auto word = dx.words[static_cast<std::size_t>(n)];
    table().hit(counts, gradients, plain_kind(bf16, word), sign_of(bf16, word),
                residual);
  });
  const matrix& dw = output_of(right, "dw");
  const auto columns = static_cast<std::ptrdiff_t>(dw.words.size());
  for_each_sampled(columns, 6, [&](std::ptrdiff_t n) {
    table().hit(counts, sums,
                plain_kind(fp32, dw.words[static_cast<std::size_t>(n)]));
  });
}

}  // namespace

target_info rms_norm_backward_info() {
  return {target::rms_norm_backward,
          "rms_norm_backward",
          "RMSNorm, backward: gradients of the rows and of the weights",
          {"place"},
          {"activations", "along", "tokens", "extreme", "special", "any_bits"},
          draw,
          refuse_rows,
          operands_of,
          fill,
          run_rms_norm_backward,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
