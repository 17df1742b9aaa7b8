// Defines the target `adamw`: a step of AdamW on moments and weights, by given
// factors. Source: SPEC clauses S6, S8, R1 to R7. Left out: the factors from
// settings, S7, which are FP64 arithmetic.

#include <algorithm>

#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t { training, ties, special, any_bits };

void draw(settings& s, counter_rng& rng) {
  s.from = draw_number_format(rng);
  s.to = rng.one_in(2) ? bf16 : one_of(moment_formats, rng).value;
  s.round = {rng.one_in(3) ? rounding::stochastic
                           : static_cast<rounding>(rng.below(7)),
             0};
  s.random_seed = rng.next();
  s.first_index = rng.one_in(2) ? 0 : rng.next();
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  const auto why = refuse_number("from", s.from);
  if (!why.empty()) return why;
  if (index_in(moment_formats, s.to) >= 0) return "";
  return "to, of moments, is bf16, fp32, fp16, e4m3 or e5m2, not " +
         name_of(s.to);
}

std::vector<operand_spec> operands_of(const settings& s) {
  const axis m{'m', 1};
  const axis n{'n', 1};
  const axis one{0, 1};
  std::vector<operand_spec> all{{"g", s.from, m, n},
                                {"m", s.to, m, n},
                                {"v", s.to, m, n, false, true},
                                {"w", fp32, m, n}};
  for (const auto& factor : adamw_factor_list) {
    all.push_back({factor.name, fp32, one, one, false, true});
  }
  return all;
}

/// The factors of a random step of a random run.
adamw_factors draw_factors(counter_rng& rng) {
  const auto unit = [&rng] {
    return static_cast<double>(rng.next() >> 11) * 0x1p-53;
  };
  const auto beta = [&] { return rng.one_in(8) ? 0 : 1 - unit() / 8; };
  adamw_settings s{};
  s.rate = unit() * 0.01;
  s.beta1 = beta();
  s.beta2 = beta();
  s.eps = rng.one_in(8) ? 0 : unit() * 1e-7;
  s.weight_decay = rng.one_in(4) ? 0 : unit();
  s.t = rng.between(1, rng.one_in(2) ? 3 : 100000);
  return make_adamw_factors(s);
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const std::ptrdiff_t m = rng.one_in(32) ? 0 : rng.between(1, 4);
  const std::ptrdiff_t n =
      rng.one_in(16) ? rng.between(100, 140) : rng.between(1, 12);
  p.in.clear();
  for (const auto& spec : operands_of(p.with)) {
    p.in.push_back(make_operand(spec, m, n, 0));
  }
  constexpr int exponents[] = {-6, -6, -12, -3};
  for (std::size_t i = 0; i < 4; ++i) {
    matrix& x = p.in[i];
    fill_about(x, how == profile::ties ? -3 : exponents[i], 6, rng);
    if (how == profile::any_bits) fill_any(x, rng);
    if (how == profile::special) strew_kinds(x, 4, rng);
    strew_kinds(x, 64, rng);
  }
  adamw_factors f = draw_factors(rng);
  if (how == profile::ties) {
    // Moments become g and g^2, or keep most of their bits.
    f.one_minus_beta1 = f.one_minus_beta2 =
        rng.one_in(2) ? fp32_one : 0x3f000000;
    if (rng.one_in(2)) {
      std::fill(p.in[1].words.begin(), p.in[1].words.end(), 0);
      std::fill(p.in[2].words.begin(), p.in[2].words.end(), 0);
    }
  }
  for (auto& word : p.in[2].words) word &= p.with.to.magnitude_mask();
  std::size_t at = first_factor;
  for (const auto& factor : adamw_factor_list) {
    p.in[at++].words[0] = f.*factor.field;
  }
  if (how == profile::any_bits && rng.one_in(2)) {
    p.in[first_factor + rng.below(6)].words[0] = rng.next32() >> 1;
  }
}

std::string clauses(const problem& p, std::string_view output) {
  if (output == "guards") return "S6";
  if (output == "w") return "S6 S8";
  if (output == "copy") return "S8 R1";
  return "S6 S8 " + clause_of(p.with.round.mode);
}

enum family { stored, gradients, of_m, of_v, of_w, positions, denominators };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    t.add({axis_of("moment", moment_formats), rounding_axis()});
    t.add({number_axis("gradient"), plain_axis("g")});
    t.add({plain_axis("m"), sign_axis()});
    t.add({plain_axis("v")});
    t.add({plain_axis("w"), sign_axis()}, [](const bin_table::combination& at) {
      // NaN is positive; a weight that decays to zero is +0.
      return (at[0] != 4 && at[0] != 0) || at[1] == 0;
    });
    bin_axis at = position_axis(5);
    t.add({{"moment", {"m", "v"}}, at});
    t.add({sort_axis("denominator")});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

void cover(const problem& p, const outputs& right, bin_counts counts) {
  using A = core_fp32;
  const settings& s = p.with;
  table().hit(counts, stored, index_in(moment_formats, s.to), s.round.mode);
  const auto size = static_cast<std::ptrdiff_t>(p.in[0].words.size());
  const adamw_factors f = factors_in(p);
  for_each_sampled(size, 4, [&](std::ptrdiff_t n) {
    const auto at = static_cast<std::size_t>(n);
    const auto kind = [at](const matrix& x) {
      return plain_kind(x.type, x.words[at]);
    };
    const auto number = [&](std::size_t i) {
      return A::number{as_fp32(p.in[i].type, p.in[i].words[at])};
    };
    table().hit(counts, gradients, number_index(s.from), kind(p.in[0]));
    table().hit(counts, of_m, kind(p.in[1]), sign_of(s.to, p.in[1].words[at]));
    table().hit(counts, of_v, kind(p.in[2]));
    const matrix& w = output_of(right, "w");
    table().hit(counts, of_w, kind(w), sign_of(fp32, w.words[at]));
    const auto next =
        adamw_update<A>(f, {number(1), number(2), number(3)}, number(0));
    const std::uint32_t made[] = {next.m.value, next.v.value};
    for (int i = 0; i < 2; ++i) {
      const auto where = position_in(s.to, made[i]);
      if (where <= position::beyond) {
        table().hit(counts, positions, i, where);
      }
    }
    const auto d = A::add(
        A::multiply(A::square_root(next.v), {f.inverse_sqrt_bias2}), {f.eps});
    table().hit(counts, denominators, sort_of(d.value));
  });
}

}  // namespace

target_info adamw_info() {
  return {target::adamw,
          "adamw",
          "a step of AdamW: moments, weights and their copy",
          {"from", "to", "round", "random_seed", "first_index", "place"},
          {"training", "ties", "special", "any_bits"},
          draw,
          refuse,
          operands_of,
          fill,
          run_adamw,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
