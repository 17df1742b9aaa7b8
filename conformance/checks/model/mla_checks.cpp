// Holds attention of MLA in both orders against the oracle; and against each
// other where every order gives the same.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/model/mla_oracle.hpp"

namespace zeroulp::conformance {
namespace {

struct latent_case {
  mla_order order;
  mla_shape shape;
  oracle::latent_tokens tokens;
};

/// As attention's cases, of few products.
latent_case latent_case_number(std::uint64_t n, counter_rng& rng) {
  struct row {
    int length, sequences, heads, depth, rope, values, rank;
  };
  static constexpr row shapes[] = {
      {1, 2, 1, 16, 16, 16, 16},    {2, 2, 3, 8, 4, 24, 16},
      {65, 1, 1, 16, 16, 16, 32},   {130, 1, 1, 16, 8, 8, 16},
      {5, 1, 2, 128, 64, 128, 512}, {7, 2, 2, 3, 0, 5, 1},
      {33, 1, 2, 16, 1, 16, 17}};
  const row& s = shapes[n / 2 % std::size(shapes)];
  const mla_shape shape{
      s.length,
      s.heads,
      s.depth,
      s.rope,
      s.values,
      s.rank,
      rng.one_in(4) ? any_factor(rng) : oracle::usual_scale(s.depth + s.rope)};
  const std::ptrdiff_t m = s.length * s.sequences;
  const bool any = rng.one_in(4);
  const auto codes = [&](std::ptrdiff_t rows, std::ptrdiff_t cols,
                         int exponent) {
    return any && rng.one_in(3) ? any_numbers(bf16, rows, cols, rng)
                                : bell_shaped(bf16, rows, cols, exponent, rng);
  };
  const int small = -static_cast<int>(std::log2(s.rank)) / 2;
  return {n % 2 == 0 ? mla_order::unabsorbed : mla_order::absorbed,
          shape,
          {codes(m, s.heads * (s.depth + s.rope), 0), codes(m, s.rank, 0),
           codes(m, s.rope, 0),
           codes(s.heads * (s.depth + s.values), s.rank, small)}};
}

std::string describe_latent(const model_functions& t, const latent_case& c) {
  return fmt::format(
      "{}: {} mla_forward of {} tokens in sequences of {}, {} heads of {} + {} "
      "and {}, rank {}",
      t.name, c.order == mla_order::absorbed ? "absorbed" : "unabsorbed",
      c.tokens.q.rows, c.shape.length, c.shape.heads, c.shape.depth,
      c.shape.rope_depth, c.shape.value_depth, c.shape.rank);
}

/// Runs the case, which the oracle's outputs are those of. Returns o.
grid hold_latent(const model_functions& t, const latent_case& c,
                 const oracle::attended& want, counter_rng& rng, verdict& v) {
  const auto& [q, latent, rope_key, up] = c.tokens;
  const bf16_rows in_q(q, rng), in_latent(latent, rng), in_key(rope_key, rng),
      in_up(up, rng);
  bf16_rows o(want.o.rows, want.o.cols, rng);
  word_rows largest(q.rows, c.shape.heads, rng),
      inverse(q.rows, c.shape.heads, rng);
  t.mla_forward(
      c.order, c.shape,
      {in_q.input(), in_latent.input(), in_key.input(), in_up.input()},
      o.view(), largest.view(), inverse.view());
  const auto describe = [&] { return describe_latent(t, c); };
  count_output(v, largest, want.largest, "largest ", describe);
  count_output(v, inverse, want.inverse, "inverse ", describe);
  count_output(v, o, want.o, "o ", describe);
  return o.read();
}

}  // namespace

verdict latent_attention(const model_functions& t, const effort& given) {
  effort e = within_reason(t, given);
  const std::uint64_t count = 28ull << (2 * std::max(e.level, 0));
  e.level = 0;
  return for_model_cases(e, count, [&](counter_rng& rng, auto n, verdict& v) {
    const latent_case c = latent_case_number(n, rng);
    hold_latent(t, c, oracle::attend_latent(c.order, c.shape, c.tokens), rng,
                v);
  });
}

verdict orders_of_latent_attention(const model_functions& t,
                                   const effort& given) {
  effort e = within_reason(t, given);
  e.level = 0;
  verdict v;
  std::uint64_t differ = 0;
  for (std::uint64_t n = 0; n < 8; ++n) {
    counter_rng rng(e.seed, n);
    const mla_shape s{20, 2, 16, 8, 16, 16, 0x3f800000};
    const auto codes = [&](std::ptrdiff_t rows, std::ptrdiff_t cols) {
      grid g = bell_shaped(bf16, rows, cols, 0, rng);
      // In even cases -1, 0 and 1, and one key that takes all: both orders are
      // exact.
      for (auto& word : g.words) {
        if (n % 2 == 0) word = rng.below(3) == 0 ? 0 : 0x3f80;
      }
      return g;
    };
    latent_case c{mla_order::unabsorbed,
                  s,
                  {codes(20, 48), codes(20, 16), codes(20, 8), codes(64, 16)}};
    if (n % 2 == 0) {
      // Scores grow with the key by 1024: each token takes its own value.
      for (std::ptrdiff_t i = 0; i < 20; ++i) {
        for (std::ptrdiff_t h = 0; h < 2; ++h) {
          c.tokens.q(i, 24 * h + 16) = 0x4480;
        }
        c.tokens.rope_key(i, 0) = code_near(bf16, static_cast<double>(i));
      }
    }
    const auto run = [&](mla_order order) {
      c.order = order;
      return hold_latent(t, c, oracle::attend_latent(order, c.shape, c.tokens),
                         rng, v);
    };
    const grid one = run(mla_order::unabsorbed);
    const grid other = run(mla_order::absorbed);
    if (n % 2 == 0) {
      v.count(one == other, [&] {
        return describe_latent(t, c) + ": differs where both orders are exact";
      });
    } else {
      differ += one == other ? 0 : 1;
    }
  }
  v.count(differ > 0,
          [&] { return t.name + ": the two orders of MLA never differ"; });
  return v;
}

}  // namespace zeroulp::conformance
