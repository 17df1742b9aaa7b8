// Holds AdamW, combine and dispatch against the oracle.

#include <fmt/format.h>

#include <array>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/checks/training/training_parts.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;
using guarded = placed<std::uint32_t>;
constexpr std::uint32_t guard = 0x5ca1e5ca;

std::uint64_t case_count(const effort& e, std::uint64_t at_0) {
  return at_0 << (e.level > 0 ? 4 * e.level : 0);
}

/// Moments are small, second ones positive; any bits at times.
grid any_state(format f, std::ptrdiff_t m, std::ptrdiff_t n, int exponent,
               bool positive, counter_rng& rng) {
  grid x(m, n);
  const bool wild = rng.one_in(4);
  for (auto& word : x.words) {
    const auto e = static_cast<std::uint32_t>(rng.between(-8, 8) + exponent);
    std::uint32_t bits = (rng.next32() & 0x807fffffu) | (e + 127) << 23;
    if (wild) bits = rng.next32();
    if (rng.one_in(16)) bits &= 0x80000000u;
    if (positive) bits &= 0x7fffffffu;
    word = oracle::code_of(f, bit_cast<float>(bits));
  }
  return x;
}

adamw_settings any_settings(counter_rng& rng) {
  const auto unit = [&rng] {
    return static_cast<double>(rng.next() >> 11) * 0x1p-53;
  };
  const auto close_to_1 = [&] { return rng.one_in(8) ? 0 : 1 - unit() / 8; };
  const double rate = unit() * 0.01;
  const double beta1 = close_to_1();
  const double beta2 = close_to_1();
  const double eps = rng.one_in(8) ? 0 : unit() * 1e-7;
  const double decay = rng.one_in(4) ? 0 : unit();
  return {
      rate,  beta1,
      beta2, eps,
      decay, static_cast<std::int64_t>(rng.next() >> rng.between(2, 62)) + 1};
}

}  // namespace

verdict adamw_factor_checks(const training_functions& t, const effort& e) {
  verdict v;
  for (std::uint64_t n = 0; n < case_count(e, 500); ++n) {
    counter_rng rng(e.seed, n);
    const adamw_settings s = any_settings(rng);
    const adamw_factors got = t.factors(s);
    const adamw_factors right = oracle::factors(s);
    const auto words = [](const adamw_factors& f) {
      return std::array{f.one_minus_beta1,
                        f.one_minus_beta2,
                        f.inverse_sqrt_bias2,
                        f.eps,
                        f.decay,
                        f.step};
    };
    v.compare(words(got), words(right), [&] {
      return fmt::format("{}: factors of rate {}, betas {} {}, step {}", t.name,
                         s.rate, s.beta1, s.beta2, s.t);
    });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

verdict adamw_checks(const training_functions& t, const effort& e) {
  verdict v;
  for (std::uint64_t c = 0; c < case_count(e, 60); ++c) {
    counter_rng rng(e.seed, c);
    const auto [m, n] = any_shape(rng, 2000);
    const format moments[] = {bf16, fp32, e4m3, e5m2};
    const adamw_step step{
        oracle::factors(any_settings(rng)),
        rng.one_in(2) ? fp32 : bf16,
        moments[rng.one_in(2) ? 0 : rng.below(4)],
        rng.one_in(2) ? rounding::nearest_even : rounding::stochastic,
        rng.next(),
        rng.next()};
    const grid g = any_state(step.gradient, m, n, -6, false, rng);
    const grid old_m = any_state(step.moment, m, n, -6, false, rng);
    const grid old_v = any_state(step.moment, m, n, -12, true, rng);
    const grid old_w = any_state(fp32, m, n, -3, false, rng);
    grid new_m(m, n), new_v(m, n), new_w(m, n), copy(m, n);
    for (std::size_t i = 0; i < g.words.size(); ++i) {
      const auto next =
          oracle::adamw(step.factors,
                        {oracle::number_of(step.moment, old_m.words[i]),
                         oracle::number_of(step.moment, old_v.words[i]),
                         bit_cast<float>(old_w.words[i])},
                        oracle::number_of(step.gradient, g.words[i]));
      const auto rounder_of = [&](bool second) {
        return rounder{step.mode,
                       oracle::random_bits(step.seed, step.first + i, second)};
      };
      new_m.words[i] = oracle::code_of(step.moment, next.m, rounder_of(false));
      new_v.words[i] = oracle::code_of(step.moment, next.v, rounder_of(true));
      new_w.words[i] = oracle::to_bits(next.w);
      copy.words[i] = oracle::code_of(bf16, next.w);
    }
    const placement in = any_placement(rng);
    const placement out = any_placement(rng);
    guarded at_g(in, m, n, guard), at_m(out, m, n, guard);
    guarded at_v(in, m, n, guard), at_w(out, m, n, guard);
    guarded at_copy(in, m, n, guard);
    at_g.load(g);
    at_m.load(old_m);
    at_v.load(old_v);
    at_w.load(old_w);
    t.adamw(step, at_g.input(), at_m.view(), at_v.view(), at_w.view(),
            at_copy.view());
    const auto describe = [&, rows = m, cols = n] {
      return fmt::format("{}: adamw of {} x {}", t.name, rows, cols);
    };
    compare(v, at_m.read(), new_m, "m ", describe);
    compare(v, at_v.read(), new_v, "v ", describe);
    compare(v, at_w.read(), new_w, "w ", describe);
    compare(v, at_copy.read(), copy, "copy ", describe);
    v.count(at_m.guards_hold() && at_v.guards_hold() && at_w.guards_hold() &&
                at_copy.guards_hold(),
            [&] { return describe() + ": wrote beside a matrix"; });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

verdict combine_checks(const training_functions& t, const effort& e) {
  verdict v;
  for (std::uint64_t c = 0; c < case_count(e, 120); ++c) {
    counter_rng rng(e.seed, c);
    const auto& rule =
        named_combine_rules[rng.below(std::size(named_combine_rules))];
    const bool pair = rule.value == combine_rule::bf16_pair;
    const auto [tokens, n] = any_shape(rng, 1000);
    const int rows = rng.between(1, 9);
    const int slot_count = rng.between(0, pair ? 2 : 9);
    const bool weighted = !pair && rng.one_in(2);
    const grid x = any_state(bf16, rows, n, 0, false, rng);
    const grid weights = any_state(fp32, tokens, slot_count, -2, true, rng);
    std::vector<std::int32_t> slots(
        static_cast<std::size_t>(tokens * slot_count));
    for (auto& s : slots) s = rng.one_in(4) ? -1 : rng.between(0, rows - 1);
    const slots_in slot_view(slots.data(), tokens, slot_count);
    grid want(tokens, n);
    for (int i = 0; i < tokens; ++i) {
      for (int j = 0; j < n; ++j) {
        std::vector<std::uint32_t> contributions;
        std::vector<float> by;
        for (int s = 0; s < slot_count; ++s) {
          if (slot_view(i, s) < 0) continue;
          contributions.push_back(x(slot_view(i, s), j));
          if (weighted) by.push_back(bit_cast<float>(weights(i, s)));
        }
        want(i, j) = oracle::combine(rule.value, contributions, by);
      }
    }
    guarded at_x(any_placement(rng), rows, n, guard);
    guarded at_out(any_placement(rng), tokens, n, guard);
    guarded at_weights(any_placement(rng), tokens, slot_count, guard);
    at_x.load(x);
    at_weights.load(weights);
    t.combine(rule.value, at_x.input(), slot_view,
              weighted ? at_weights.input() : codes_in{}, at_out.view());
    const auto describe = [&, cols = n, token_count = tokens] {
      return fmt::format("{}: combine {} of {} x {}, {} slots{}", t.name,
                         rule.name, token_count, cols, slot_count,
                         weighted ? ", weighted" : "");
    };
    compare(v, at_out.read(), want, "", describe);
    v.count(at_out.guards_hold(),
            [&] { return describe() + ": wrote beside the sums"; });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

verdict dispatch_checks(const training_functions& t, const effort& e) {
  verdict v;
  for (std::uint64_t c = 0; c < case_count(e, 120); ++c) {
    counter_rng rng(e.seed, c);
    const auto& how =
        named_conventions[rng.below(std::size(named_conventions))];
    const quantizer q{bf16,
                      e4m3,
                      how.value,
                      rng.one_in(2) ? scale_kind::pow2 : scale_kind::float32,
                      {1, rng.one_in(2) ? 128 : 0}};
    const auto [taken, n] = any_shape(rng, 1500);
    const int rows = rng.between(1, 9);
    const grid x =
        make_matrix(static_cast<matrix_family>(rng.below(family_count)), bf16,
                    rows, n, counter_rng(rng.next(), 0));
    std::vector<std::int32_t> from(static_cast<std::size_t>(taken));
    for (auto& r : from) r = rng.one_in(4) ? -1 : rng.between(0, rows - 1);
    const auto all = oracle::quantize(q, x);
    grid codes(taken, n);
    grid scales(taken, oracle::groups_along(n, q.group.cols), 0x3f800000);
    for (int i = 0; i < taken; ++i) {
      const auto r = from[static_cast<std::size_t>(i)];
      if (r < 0) continue;
      for (int j = 0; j < n; ++j) codes(i, j) = all.codes(r, j);
      for (std::ptrdiff_t j = 0; j < scales.cols; ++j) {
        scales(i, j) = all.scales(r, j);
      }
    }
    guarded at_x(any_placement(rng), rows, n, guard);
    guarded at_codes(any_placement(rng), taken, n, guard);
    guarded at_scales(any_placement(rng), taken, scales.cols, guard);
    at_x.load(x);
    t.dispatch(q, at_x.input(), {from.data(), taken, 1}, at_codes.view(),
               at_scales.view());
    const auto describe = [&, cols = n, row_count = taken] {
      return fmt::format("{}: dispatch {} to {} x {}", t.name, how.name,
                         row_count, cols);
    };
    compare(v, at_codes.read(), codes, "code ", describe);
    compare(v, at_scales.read(), scales, "scale ", describe);
    v.count(at_codes.guards_hold() && at_scales.guards_hold(),
            [&] { return describe() + ": wrote beside the rows"; });
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

}  // namespace zeroulp::conformance
