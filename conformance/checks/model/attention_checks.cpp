// Holds attention, forward and backward, against the oracle: lengths around
// the tiles, scores of every kind, values and gradients that are no numbers.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/training_oracle.hpp"

namespace zeroulp::conformance {
namespace {

constexpr std::uint32_t bf16_nan = 0x7fff;
constexpr std::uint32_t bf16_infinity = 0x7f80;

/// What the queries and keys of a case are.
enum class scores : std::uint8_t {
  normal,     ///< of N(0, 1)
  peaked,     ///< one key takes nearly all
  equal,      ///< every score the same
  few,        ///< of few values, zeros of both signs among them
  vanishing,  ///< scores that underflow, to -0 too
  specials,   ///< with NaN, Inf and -0 strewn in
  huge,       ///< scores beyond FP32
  any,        ///< any family
};
constexpr int score_kinds = 8;

struct attention_case {
  attention_shape shape;
  std::ptrdiff_t sequences;
  oracle::attention_tokens tokens;

  std::ptrdiff_t rows() const { return sequences * shape.length; }
};

grid scaled_by_power(grid x, int exponent) {
  for (auto& word : x.words) {
    word = code_near(
        bf16, std::ldexp(static_cast<double>(oracle::number_of(bf16, word)),
                         exponent));
  }
  return x;
}

void strew_specials(grid& x, counter_rng& rng) {
  static constexpr std::uint32_t specials[] = {
      bf16_nan, 0xffff, 0x7f81, bf16_infinity, 0xff80, 0x8000, 0x0001, 0x7f7f};
  for (int i = rng.between(1, 3); i > 0; --i) {
    const auto at = rng.below(static_cast<std::uint32_t>(x.words.size()));
    x.words[at] = specials[rng.below(std::size(specials))];
  }
}

grid queries_of(scores kind, std::ptrdiff_t m, std::ptrdiff_t n,
                counter_rng& rng) {
  switch (kind) {
    case scores::peaked:
      return bell_shaped(bf16, m, n, 3, rng);
    case scores::equal:
      return grid(m, n, 0x3f80);
    case scores::few: {
      grid x(m, n);
      static constexpr std::uint32_t values[] = {0, 0x8000, 0x3f80, 0xbf80};
      for (auto& word : x.words) word = values[rng.below(4)];
      return x;
    }
    case scores::vanishing: {
      // Half the rows are sparse, and their products 2^-150 to 2^-148.
      grid x = scaled_by_power(bell_shaped(bf16, m, n, 0, rng), -75);
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        const bool sparse = rng.one_in(2);
        for (std::ptrdiff_t j = 0; sparse && j < n; ++j) {
          const std::uint32_t power = 0x1a00 + (rng.below(2) << 7);
          x(i, j) = rng.one_in(3) ? rng.below(2) << 15 | power : 0;
        }
      }
      return x;
    }
    case scores::specials: {
      grid x = bell_shaped(bf16, m, n, 0, rng);
      strew_specials(x, rng);
      return x;
    }
    case scores::huge:
      return scaled_by_power(bell_shaped(bf16, m, n, 0, rng), 62);
    case scores::any:
      return any_numbers(bf16, m, n, rng);
    case scores::normal:
      break;
  }
  return bell_shaped(bf16, m, n, 0, rng);
}

std::uint32_t any_scale(std::ptrdiff_t depth, counter_rng& rng) {
  if (!rng.one_in(4)) return oracle::usual_scale(depth);
  return rng.one_in(4) ? 1 + rng.below(0x00800000) : any_factor(rng);
}

attention_case make_case(attention_shape shape, std::ptrdiff_t sequences,
                         scores kind, counter_rng& rng) {
  shape.scale = any_scale(shape.depth, rng);
  const std::ptrdiff_t m = sequences * shape.length;
  const std::ptrdiff_t n = shape.heads * shape.depth;
  grid q = queries_of(kind, m, n, rng);
  grid k = kind == scores::equal && rng.one_in(2)
               ? grid(m, n, rng.below(0x7f80))
               : queries_of(kind, m, n, rng);
  // Values are numbers here; what is none has its own checks.
  grid v = bell_shaped(bf16, m, shape.heads * shape.value_depth, 0, rng);
  return {shape, sequences, {std::move(q), std::move(k), std::move(v)}};
}

/// Shapes of few products: the first are all lengths, then large depths.
attention_case case_number(std::uint64_t n, counter_rng& rng) {
  struct row {
    int length, heads, depth, value_depth, sequences;
  };
  static constexpr row shapes[] = {
      {1, 1, 16, 16, 3},    {2, 3, 16, 16, 2},    {63, 1, 16, 16, 1},
      {64, 1, 64, 16, 1},   {65, 2, 16, 16, 1},   {127, 1, 16, 16, 1},
      {128, 1, 16, 16, 1},  {129, 1, 16, 16, 1},  {200, 1, 16, 16, 1},
      {17, 2, 192, 128, 2}, {65, 1, 192, 128, 1}, {66, 1, 64, 128, 2},
      {30, 4, 8, 24, 3},    {5, 2, 17, 3, 2},     {64, 2, 16, 16, 3},
  };
  const row& s = shapes[n % std::size(shapes)];
  const auto kind = static_cast<scores>(
      n < std::size(shapes) ? (n * 3) % score_kinds : rng.below(score_kinds));
  return make_case({s.length, s.heads, s.depth, s.value_depth, 0}, s.sequences,
                   kind, rng);
}

std::string describe_case(const model_functions& t, const char* what,
                          const attention_case& c) {
  return fmt::format("{}: {} of {} sequences of {}, {} heads of {} and {}",
                     t.name, what, c.sequences, c.shape.length, c.shape.heads,
                     c.shape.depth, c.shape.value_depth);
}

/// q, k and v in guarded buffers.
struct placed_tokens {
  bf16_rows q, k, v;

  placed_tokens(const attention_case& c, counter_rng& rng)
      : q(c.tokens.q, rng), k(c.tokens.k, rng), v(c.tokens.v, rng) {}
  engine::attention_inputs inputs() const {
    return {q.input(), k.input(), v.input()};
  }
};

/// Runs the forward pass and compares all that it writes. Returns O.
grid hold_forward(const model_functions& t, const attention_case& c,
                  const oracle::attended& want, counter_rng& rng, verdict& v) {
  const placed_tokens in(c, rng);
  bf16_rows o(c.rows(), want.o.cols, rng);
  word_rows largest(c.rows(), c.shape.heads, rng);
  word_rows inverse(c.rows(), c.shape.heads, rng);
  t.attention_forward(c.shape, in.inputs(), o.view(), largest.view(),
                      inverse.view());
  const auto describe = [&] { return describe_case(t, "attention", c); };
  count_output(v, largest, want.largest, "largest ", describe);
  count_output(v, inverse, want.inverse, "inverse ", describe);
  count_output(v, o, want.o, "o ", describe);
  return o.read();
}

/// The output as FP32, as it was kept.
grid decoded(const grid& o) {
  grid x = o;
  for (auto& word : x.words) {
    word = oracle::to_bits(oracle::number_of(bf16, word));
  }
  return x;
}

oracle::attention_gradients_of hold_backward(const model_functions& t,
                                             const attention_case& c,
                                             const oracle::attended& kept,
                                             const grid& d_o, counter_rng& rng,
                                             verdict& v) {
  const placed_tokens in(c, rng);
  const word_rows o(kept.o, rng), largest(kept.largest, rng),
      inverse(kept.inverse, rng);
  const bf16_rows in_d_o(d_o, rng);
  const auto& [q, k, values] = c.tokens;
  bf16_rows dq(q.rows, q.cols, rng), dk(k.rows, k.cols, rng),
      dv(values.rows, values.cols, rng);
  t.attention_backward(c.shape, in.inputs(),
                       {o.input(), largest.input(), inverse.input()},
                       in_d_o.input(), {dq.view(), dk.view(), dv.view()});
  const auto want = oracle::attend_backward(c.shape, c.tokens, kept, d_o);
  const auto describe = [&] {
    return describe_case(t, "attention_backward", c);
  };
  count_output(v, dq, want.dq, "dq ", describe);
  count_output(v, dk, want.dk, "dk ", describe);
  count_output(v, dv, want.dv, "dv ", describe);
  return {dq.read(), dk.read(), dv.read()};
}

bool is_nan(std::uint32_t bf16_code) {
  return (bf16_code & 0x7fff) > bf16_infinity;
}

constexpr std::uint32_t no_numbers[] = {bf16_nan, 0xffff, bf16_infinity,
                                        0xff80};

/// An index below n: most often the first or the last, or the first of the next
/// 64.
int index_below(int n, counter_rng& rng) {
  const int edges[] = {0, 0, n - 1, std::min(64, n - 1)};
  return rng.one_in(4) ? rng.between(0, n - 1) : edges[rng.below(4)];
}

/// No zero, no power of two: codes that could be taken for an infinity.
void make_odd(grid& x) {
  for (auto& word : x.words) word |= 1;
}

/// A sequence of tokens with moderate scores, so that every weight is a
/// number above zero.
attention_case even_case(int length, counter_rng& rng) {
  attention_case c = make_case({length, length > 65 ? 1 : 2, 16, 16, 0}, 1,
                               scores::normal, rng);
  c.shape.scale = oracle::usual_scale(16);
  for (grid* const x : {&c.tokens.q, &c.tokens.k, &c.tokens.v}) make_odd(*x);
  return c;
}

/// As for_separate_cases(); 4 times as many at each level, as they take long,
/// and half of them of the core.
template <class Run>
verdict for_attention(const model_functions& t, const effort& e,
                      std::uint64_t at_0, Run run) {
  const int level = within_reason(t, e).level;
  const std::uint64_t count = at_0 << (2 * std::max(level, 0));
  if (t.name != "core") return for_separate_cases(e, count, run);
  effort flat = e;
  flat.level = 0;
  return for_model_cases(flat, count / 2, run);
}

constexpr int lengths[] = {2, 63, 64, 65, 129, 200};

}  // namespace

verdict products_of_the_oracle(const model_functions&, const effort& e) {
  return for_model_cases(e, 3000, [](counter_rng& rng, auto, verdict& v) {
    const int n = rng.between(0, 40);
    const auto any = [&] {
      const auto family = static_cast<matrix_family>(rng.below(family_count));
      auto words = make_matrix(family, bf16, 1, n, counter_rng(rng.next(), 0));
      return words.words;
    };
    const auto a = any();
    const auto b = any();
    const auto quick = oracle::product(a, b);
    const auto exact = oracle::rational_product(a, b);
    v.compare(quick, exact, [&] {
      return fmt::format("the oracle's product of {} is {:08x}, not {:08x}", n,
                         quick, exact);
    });
  });
}

verdict attention_forward_pass(const model_functions& t, const effort& e) {
  return for_attention(t, e, 30, [&](counter_rng& rng, auto n, verdict& v) {
    const attention_case c = case_number(n, rng);
    hold_forward(t, c, oracle::attend(c.shape, c.tokens), rng, v);
  });
}

verdict attention_backward_pass(const model_functions& t, const effort& e) {
  return for_attention(t, e, 30, [&](counter_rng& rng, auto n, verdict& v) {
    const attention_case c = case_number(n, rng);
    const grid d_o = n % 5 == 4
                         ? any_numbers(bf16, c.rows(), c.tokens.v.cols, rng)
                         : bell_shaped(bf16, c.rows(), c.tokens.v.cols, 0, rng);
    oracle::attended kept = oracle::attend(c.shape, c.tokens);
    // As it was kept: in BF16, or in a format with a scale.
    kept.o = rng.one_in(3) ? bell_shaped(fp32, c.rows(), d_o.cols, 0, rng)
                           : decoded(kept.o);
    hold_backward(t, c, kept, d_o, rng, v);
  });
}

verdict values_that_are_no_numbers(const model_functions& t, const effort& e) {
  return for_attention(t, e, 24, [&](counter_rng& rng, auto n, verdict& v) {
    const int length = lengths[n % std::size(lengths)];
    attention_case c = even_case(length, rng);
    const int j = index_below(length, rng);
    const int column = index_below(16, rng);
    const std::uint32_t code = no_numbers[rng.below(4)];
    c.tokens.v(j, column) = code;
    const auto want = oracle::attend(c.shape, c.tokens);
    const grid o = hold_forward(t, c, want, rng, v);
    for (int i = 0; i < length; ++i) {
      for (int at = 0; at < o.cols; ++at) {
        // Later tokens of the same 64 spoil, earlier ones do not.
        const bool spoiled =
            at == column &&
            (i < j ? i / 64 == j / 64 : is_nan(code) || is_nan(want.o(i, at)));
        v.count(is_nan(o(i, at)) == spoiled, [&] {
          return describe_case(t, "attention", c) +
                 fmt::format(": with v({}, {}) = {:04x}, o({}, {}) is {:04x}",
                             j, column, code, i, at, o(i, at));
        });
      }
    }
  });
}

verdict gradients_that_are_no_numbers(const model_functions& t,
                                      const effort& e) {
  return for_attention(t, e, 24, [&](counter_rng& rng, auto n, verdict& v) {
    const int length = lengths[n % std::size(lengths)];
    attention_case c = even_case(length, rng);
    const auto kept_of = [&] {
      auto kept = oracle::attend(c.shape, c.tokens);
      kept.o = decoded(kept.o);
      return kept;
    };
    grid d_o = bell_shaped(bf16, length, c.tokens.v.cols, 0, rng);
    make_odd(d_o);
    const int at = index_below(length, rng);
    const std::uint32_t code = no_numbers[rng.below(4)];
    const auto where = (n + n / std::size(lengths)) % 4;
    auto kept = kept_of();
    grid& spoiled = where == 0   ? d_o
                    : where == 1 ? c.tokens.q
                    : where == 2 ? c.tokens.k
                                 : c.tokens.v;
    const int column = index_below(16, rng);
    spoiled(at, column) = code;
    // With the scores of before, or of now.
    if (rng.one_in(2)) kept = kept_of();
    const auto got = hold_backward(t, c, kept, d_o, rng, v);
    if (where != 0) return;
    // dV of the same column: rows before `at` take it times P, those after it
    // in the same 64 times +0.
    for (int j = 0; j < length; ++j) {
      for (int other = 0; other < got.dv.cols; ++other) {
        const bool after = j > at && j / 64 == at / 64;
        const bool nan = is_nan(got.dv(j, other));
        const bool sure = other != column || j > at || is_nan(code);
        if (!sure) continue;
        const bool right = other == column && (after || (j <= at));
        v.count(nan == right, [&] {
          return describe_case(t, "attention_backward", c) +
                 fmt::format(": with dO({}, {}) = {:04x}, dv({}, {}) is {:04x}",
                             at, column, code, j, other, got.dv(j, other));
        });
      }
    }
  });
}

}  // namespace zeroulp::conformance
