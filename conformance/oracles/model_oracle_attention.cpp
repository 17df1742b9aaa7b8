// Attention, and the products that it is made of.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "conformance/oracles/model_oracle.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/rational_step.hpp"
#include "conformance/oracles/training_oracle.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

using code_row = std::vector<std::uint32_t>;

/// A number of a format with 8 exponent bits: significand * 2^(place - bits),
/// `bits` being those of the fraction. Inf and NaN have no place.
struct part {
  bool nan = false;
  bool infinite = false;
  bool negative = false;
  std::int64_t significand = 0;
  int place = 0;

  bool is_zero() const { return !nan && !infinite && significand == 0; }
};

part part_of(std::uint32_t code, int bits) {
  const std::uint32_t fraction = code & ((1u << bits) - 1);
  const std::uint32_t exponent = code >> bits & 255;
  part x;
  x.negative = code >> (bits + 8) & 1;
  x.nan = exponent == 255 && fraction != 0;
  x.infinite = exponent == 255 && fraction == 0;
  x.significand = fraction + (exponent > 0 ? 1u << bits : 0);
  x.place = static_cast<int>(std::max(exponent, 1u)) - 127;
  return x;
}

// T1, T7: a product without its rounding.
part multiplied(const part& x, const part& y) {
  part p;
  p.nan = x.nan || y.nan || (x.infinite && y.is_zero()) ||
          (y.infinite && x.is_zero());
  p.infinite = !p.nan && (x.infinite || y.infinite);
  p.negative = x.negative != y.negative;
  p.significand = x.significand * y.significand;
  p.place = x.place + y.place;
  return p;
}

// T5, T6, T8: sum * 2^unit, toward zero.
std::uint32_t converted(std::int64_t sum, int unit) {
  const double exact =
      std::ldexp(static_cast<double>(std::abs(sum)), unit);  // 34 bits
  if (exact >= 0x1p128) return sum < 0 ? 0xff800000 : 0x7f800000;
  auto kept = static_cast<float>(exact);
  if (static_cast<double>(kept) > exact) kept = std::nextafter(kept, 0.0f);
  return kept == 0 ? 0 : to_bits(sum < 0 ? -kept : kept);
}

// T2, T3, T4 with F = 25 and the floor -133: 16 products and the sum so far.
std::uint32_t step(const std::uint32_t* a, const std::uint32_t* b,
                   std::size_t count, std::uint32_t c) {
  constexpr int product_bits = 14;
  constexpr int sum_bits = 23;
  part terms[17];
  bool nan = false, plus = false, minus = false;
  int largest = -133;
  for (std::size_t k = 0; k <= count; ++k) {
    terms[k] = k < count ? multiplied(part_of(a[k], 7), part_of(b[k], 7))
                         : part_of(c, sum_bits);
    nan = nan || terms[k].nan;
    if (terms[k].infinite) (terms[k].negative ? minus : plus) = true;
    if (terms[k].significand != 0) largest = std::max(largest, terms[k].place);
  }
  if (nan || (plus && minus)) return 0x7fffffff;
  if (plus || minus) return minus ? 0xff800000 : 0x7f800000;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k <= count; ++k) {
    if (terms[k].significand == 0) continue;
    const int bits = k < count ? product_bits : sum_bits;
    const int left = terms[k].place - bits - (largest - 25);
    const std::int64_t magnitude =
        left >= 0 ? terms[k].significand << left
                  : terms[k].significand >> std::min(-left, 63);
    sum += terms[k].negative ? -magnitude : magnitude;
  }
  return converted(sum, largest - 25);
}

/// Tokens of one sequence, one head.
struct head {
  std::ptrdiff_t length;
  float scale;
  std::vector<code_row> q, k, v;
};

code_row row_of(const grid& g, std::ptrdiff_t i, std::ptrdiff_t from,
                std::ptrdiff_t count) {
  code_row row;
  for (std::ptrdiff_t j = from; j < from + count; ++j) row.push_back(g(i, j));
  return row;
}

std::vector<code_row> rows_of(const grid& g, std::ptrdiff_t from_row,
                              std::ptrdiff_t rows, std::ptrdiff_t from,
                              std::ptrdiff_t count) {
  std::vector<code_row> all;
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    all.push_back(row_of(g, from_row + i, from, count));
  }
  return all;
}

/// Column `c` of rows [begin, end).
code_row column_of(const std::vector<code_row>& rows, std::size_t c,
                   std::size_t begin, std::size_t end) {
  code_row column;
  for (std::size_t i = begin; i < end; ++i) column.push_back(rows[i][c]);
  return column;
}

// N5 (a)
float scaled_score(const head& h, std::size_t i, std::size_t j) {
  return to_float(product(h.q[i], h.k[j])) * h.scale;
}

// N6 (a): where K ends.
std::size_t end_of_keys(std::size_t i, std::size_t length) {
  return std::min(length, i / 64 * 64 + 64);
}

// N5 (c): a whole row, +0 beyond the limit.
code_row weights_of(const std::vector<float>& z, float m, std::size_t length) {
  code_row e(length);
  for (std::size_t j = 0; j < z.size(); ++j) {
    const std::uint32_t x = exponential(to_bits(z[j] - m));
    e[j] = code_of(bf16, to_float(x));
  }
  return e;
}

std::vector<float> scores_of(const head& h, std::size_t i) {
  std::vector<float> z;
  for (std::size_t j = 0; j <= i; ++j) z.push_back(scaled_score(h, i, j));
  return z;
}

head head_of(const attention_shape& s, const attention_tokens& t,
             std::ptrdiff_t from_row, std::ptrdiff_t number) {
  return {
      s.length, to_float(s.scale),
      rows_of(t.q, from_row, s.length, number * s.depth, s.depth),
      rows_of(t.k, from_row, s.length, number * s.depth, s.depth),
      rows_of(t.v, from_row, s.length, number * s.value_depth, s.value_depth)};
}

/// Calls use(first row, head) for each.
template <class Use>
void for_heads(const attention_shape& s, std::ptrdiff_t rows, Use use) {
  for (std::ptrdiff_t from = 0; from < rows; from += s.length) {
    for (std::ptrdiff_t h = 0; h < s.heads; ++h) use(from, h);
  }
}

/// N7 (b), of all pairs of tokens: code_row of bf(P) and dS, by row i.
struct score_gradients {
  std::vector<code_row> p, ds;
};

std::vector<code_row> transposed(const std::vector<code_row>& rows) {
  std::vector<code_row> all;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    all.push_back(column_of(rows, j, 0, rows.size()));
  }
  return all;
}

std::uint32_t scaled(float scale, std::uint32_t x) {
  return code_of(bf16, scale * to_float(x));
}

}  // namespace

std::uint32_t product(const code_row& a, const code_row& b) {
  std::uint32_t c = 0;
  for (std::size_t k = 0; k < a.size(); k += 16) {
    c = step(&a[k], &b[k], std::min<std::size_t>(16, a.size() - k), c);
  }
  return c;
}

std::uint32_t rational_product(const code_row& a, const code_row& b) {
  const path p{bf16, bf16, hopper_half_f32};
  const std::vector<std::uint64_t> x(a.begin(), a.end());
  const std::vector<std::uint64_t> y(b.begin(), b.end());
  return static_cast<std::uint32_t>(rational_chain(
      p, x.data(), y.data(), static_cast<std::ptrdiff_t>(x.size()), 0));
}

attended attend(const attention_shape& s, const attention_tokens& t) {
  const std::ptrdiff_t rows = t.q.rows;
  attended out{grid(rows, s.heads * s.value_depth), grid(rows, s.heads),
               grid(rows, s.heads)};
  for_heads(s, rows, [&](std::ptrdiff_t from, std::ptrdiff_t number) {
    const head h = head_of(s, t, from, number);
    const auto length = static_cast<std::size_t>(s.length);
    for (std::size_t i = 0; i < length; ++i) {
      const auto z = scores_of(h, i);
      const float m = largest_of(z);
      const std::size_t end = end_of_keys(i, length);
      const code_row e = weights_of(z, m, end);
      const float r = 1 / to_float(product(e, code_row(end, 0x3f80)));
      const auto row = from + static_cast<std::ptrdiff_t>(i);
      out.largest(row, number) = to_bits(m);
      out.inverse(row, number) = to_bits(r);
      for (std::ptrdiff_t c = 0; c < s.value_depth; ++c) {
        const auto column = static_cast<std::size_t>(c);
        const auto o = product(e, column_of(h.v, column, 0, end));
        out.o(row, number * s.value_depth + c) = code_of(bf16, to_float(o) * r);
      }
    }
  });
  return out;
}

namespace {

score_gradients score_gradients_of(const attention_shape& s, const head& h,
                                   const attended& kept, const grid& d_o,
                                   std::ptrdiff_t from, std::ptrdiff_t number) {
  const auto length = static_cast<std::size_t>(s.length);
  score_gradients g;
  for (std::size_t i = 0; i < length; ++i) {
    const auto row = from + static_cast<std::ptrdiff_t>(i);
    const auto gradient =
        row_of(d_o, row, number * s.value_depth, s.value_depth);
    std::vector<float> x, y;
    for (std::ptrdiff_t c = 0; c < s.value_depth; ++c) {
      x.push_back(number_of(bf16, gradient[static_cast<std::size_t>(c)]));
      y.push_back(to_float(kept.o(row, number * s.value_depth + c)));
    }
    const float d = dot(x, y);
    const float r = to_float(kept.inverse(row, number));
    const code_row e = weights_of(scores_of(h, i),
                                  to_float(kept.largest(row, number)), length);
    code_row p(length), ds(length);
    for (std::size_t j = 0; j <= i; ++j) {
      const float share = number_of(bf16, e[j]) * r;
      p[j] = code_of(bf16, share);
      const float dp = to_float(product(gradient, h.v[j]));
      ds[j] = code_of(bf16, share * (dp - d));
    }
    g.p.push_back(p);
    g.ds.push_back(ds);
  }
  return g;
}

}  // namespace

attention_gradients_of attend_backward(const attention_shape& s,
                                       const attention_tokens& t,
                                       const attended& kept, const grid& d_o) {
  attention_gradients_of out{grid(t.q.rows, t.q.cols), grid(t.q.rows, t.q.cols),
                             grid(t.v.rows, t.v.cols)};
  for_heads(s, t.q.rows, [&](std::ptrdiff_t from, std::ptrdiff_t number) {
    const head h = head_of(s, t, from, number);
    const auto length = static_cast<std::size_t>(s.length);
    const auto g = score_gradients_of(s, h, kept, d_o, from, number);
    const auto gradients =
        rows_of(d_o, from, s.length, number * s.value_depth, s.value_depth);
    const auto p_columns = transposed(g.p);
    const auto ds_columns = transposed(g.ds);
    for (std::size_t i = 0; i < length; ++i) {
      const auto row = from + static_cast<std::ptrdiff_t>(i);
      const std::size_t end = end_of_keys(i, length);
      const auto begin = static_cast<std::ptrdiff_t>(i / 64 * 64);
      const code_row ds_row(g.ds[i].begin(),
                            g.ds[i].begin() + static_cast<std::ptrdiff_t>(end));
      const code_row ds_column(ds_columns[i].begin() + begin,
                               ds_columns[i].end());
      const code_row p_column(p_columns[i].begin() + begin, p_columns[i].end());
      for (std::ptrdiff_t c = 0; c < s.depth; ++c) {
        const auto at = static_cast<std::size_t>(c);
        const auto first = static_cast<std::size_t>(begin);
        out.dq(row, number * s.depth + c) =
            scaled(h.scale, product(ds_row, column_of(h.k, at, 0, end)));
        out.dk(row, number * s.depth + c) = scaled(
            h.scale, product(ds_column, column_of(h.q, at, first, length)));
      }
      for (std::ptrdiff_t c = 0; c < s.value_depth; ++c) {
        const auto column = column_of(gradients, static_cast<std::size_t>(c),
                                      static_cast<std::size_t>(begin), length);
        out.dv(row, number * s.value_depth + c) =
            code_of(bf16, to_float(product(p_column, column)));
      }
    }
  });
  return out;
}

}  // namespace zeroulp::oracle
