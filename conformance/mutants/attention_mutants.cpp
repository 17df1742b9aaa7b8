// Wrong attention: another maximum, another place of a rounding or of the
// scale, keys that are read or left out.

#include <vector>

#include "conformance/mutants/model_parts.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;
using real = A::number;
using code_in = matrix_view<const std::uint16_t>;
using code_out = matrix_view<std::uint16_t>;
using code_list = std::vector<std::uint16_t>;
using word_list = std::vector<std::uint32_t>;

enum class attention_fault : std::uint8_t {
  unshifted,
  scaled_queries,
  sum_unrounded,
  probabilities,
  divided,
  online,
  left_out,
  // Backward.
  rounded_p,
  along_dp,
  scaled_ds,
  from_the_diagonal,
};

code_in as_row(const code_list& x) {
  return {x.data(), 1, static_cast<std::ptrdiff_t>(x.size())};
}

word_list product_of(code_in a, code_in b) {
  word_list d(static_cast<std::size_t>(b.rows));
  core_product(a, b, {d.data(), 1, b.rows});
  return d;
}

real times(real a, real b) { return A::multiply(a, b); }
std::uint16_t rounded(real x) { return bf16_code<A>(x); }

/// Tokens of one sequence and head.
struct tokens {
  code_in q, k, v;
  std::ptrdiff_t length;
  real scale;
  std::uint32_t scale_bits;

  std::ptrdiff_t end_of_keys(std::ptrdiff_t i) const {
    const std::ptrdiff_t end = (i / attention_range + 1) * attention_range;
    return end < length ? end : length;
  }
};

template <class T>
matrix_view<T> part_of(matrix_view<T> x, const attention_shape& s,
                       std::ptrdiff_t row, std::ptrdiff_t head,
                       std::ptrdiff_t width) {
  return x.block(row, head * width, s.length, width);
}

template <class Use>
void for_sequences(const attention_shape& s, const engine::attention_inputs& t,
                   Use use) {
  for (std::ptrdiff_t row = 0; row < t.q.rows; row += s.length) {
    for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
      use(tokens{part_of(t.q, s, row, h, s.depth),
                 part_of(t.k, s, row, h, s.depth),
                 part_of(t.v, s, row, h, s.value_depth), s.length,
                 real{s.scale}, s.scale},
          row, h);
    }
  }
}

template <attention_fault F>
word_list scores_of(const tokens& t, std::ptrdiff_t i) {
  const code_in query = t.q.block(i, 0, 1, t.q.cols);
  const code_in keys = t.k.block(0, 0, i + 1, t.k.cols);
  if (F != attention_fault::scaled_queries) return product_of(query, keys);
  code_list q;
  for (std::ptrdiff_t j = 0; j < query.cols; ++j) {
    q.push_back(rounded(times(bf16_number<A>(query(0, j)), t.scale)));
  }
  return product_of(as_row(q), keys);
}

/// A query's weights before they are rounded, the largest score first.
struct query_weights {
  std::uint32_t largest;
  std::vector<real> e;
};

template <attention_fault F>
query_weights weights_of(const tokens& t, std::ptrdiff_t i) {
  const bool scaled = F == attention_fault::scaled_queries;
  const std::uint32_t scale = scaled ? fp32_one : t.scale_bits;
  const word_list scores = scores_of<F>(t, i);
  query_weights w{attention_largest<A>(scale, scores.data(), i + 1), {}};
  for (const std::uint32_t score : scores) {
    const real z = times({score}, {scale});
    const real shifted =
        F == attention_fault::unshifted ? z : A::subtract(z, {w.largest});
    w.e.push_back(exp<A>(shifted));
  }
  return w;
}

/// o and l by tiles of 64 keys, what came before scaled to each new maximum.
struct running {
  std::vector<real> o;
  real l{0};
};

running run_online(const tokens& t, std::ptrdiff_t i) {
  const word_list scores = scores_of<attention_fault::online>(t, i);
  running all{std::vector<real>(static_cast<std::size_t>(t.v.cols), real{0}),
              {0}};
  real before{0xff800000};
  for (std::ptrdiff_t from = 0; from <= i; from += attention_range) {
    const std::ptrdiff_t rest = i + 1 - from;
    const std::ptrdiff_t count =
        rest < attention_range ? rest : attention_range;
    const std::uint32_t mine =
        attention_largest<A>(t.scale_bits, scores.data() + from, count);
    const auto rank = [](std::uint32_t x) { return detail::rank_of(x); };
    const real m = rank(mine) > rank(before.value) ? real{mine} : before;
    const real by = exp<A>(A::subtract(before, m));
    code_list e(static_cast<std::size_t>(count));
    attention_weights<A>(t.scale_bits, m.value, scores.data() + from, count,
                         count, e.data());
    const code_list ones(e.size(), 0x3f80);
    const auto v = t.v.block(from, 0, count, t.v.cols);
    const word_list o = product_of(as_row(e), v.transposed());
    const real l{product_of(as_row(e), as_row(ones))[0]};
    all.l = A::fma(all.l, by, l);
    for (std::size_t c = 0; c < o.size(); ++c) {
      all.o[c] = A::fma(all.o[c], by, {o[c]});
    }
    before = m;
  }
  return all;
}

template <attention_fault F>
void forward_of(const tokens& t, std::ptrdiff_t i, code_out o,
                std::uint32_t& largest, std::uint32_t& inverse) {
  const query_weights w = weights_of<F>(t, i);
  const std::ptrdiff_t end =
      F == attention_fault::left_out ? i + 1 : t.end_of_keys(i);
  code_list e(static_cast<std::size_t>(end));
  real exact{0};
  for (std::size_t j = 0; j < w.e.size(); ++j) {
    e[j] = rounded(w.e[j]);
    exact = A::add(exact, w.e[j]);
  }
  const code_list ones(e.size(), 0x3f80);
  real l{product_of(as_row(e), as_row(ones))[0]};
  if (F == attention_fault::sum_unrounded) l = exact;
  const real r = A::divide({fp32_one}, l);
  if (F == attention_fault::probabilities) {
    for (std::size_t j = 0; j < w.e.size(); ++j)
      e[j] = rounded(times(w.e[j], r));
  }
  const word_list sums =
      product_of(as_row(e), t.v.block(0, 0, end, t.v.cols).transposed());
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const real x{sums[c]};
    o(0, static_cast<std::ptrdiff_t>(c)) =
        rounded(F == attention_fault::probabilities ? x
                : F == attention_fault::divided     ? A::divide(x, l)
                                                    : times(x, r));
  }
  largest = w.largest;
  inverse = r.value;
  if (F != attention_fault::online || i < attention_range) return;
  const running all = run_online(t, i);
  inverse = A::divide({fp32_one}, all.l).value;
  for (std::size_t c = 0; c < all.o.size(); ++c) {
    o(0, static_cast<std::ptrdiff_t>(c)) = rounded(times(all.o[c], {inverse}));
  }
}

template <attention_fault F>
void attention_by(const attention_shape& s, const engine::attention_inputs& in,
                  code_out o, codes_out largest, codes_out inverse) {
  for_sequences(s, in,
                [&](const tokens& t, std::ptrdiff_t row, std::ptrdiff_t h) {
                  const auto out = part_of(o, s, row, h, s.value_depth);
                  for (std::ptrdiff_t i = 0; i < s.length; ++i) {
                    forward_of<F>(t, i, out.block(i, 0, 1, s.value_depth),
                                  largest(row + i, h), inverse(row + i, h));
                  }
                });
}

/// bf(P) and dS of a sequence and head, a row a query.
struct score_gradients {
  std::vector<code_list> p, ds;

  /// Column j from row `from` on.
  static code_list column(const std::vector<code_list>& x, std::ptrdiff_t j,
                          std::ptrdiff_t from) {
    code_list all;
    for (auto i = static_cast<std::size_t>(from); i < x.size(); ++i) {
      all.push_back(x[i][static_cast<std::size_t>(j)]);
    }
    return all;
  }
};

template <attention_fault F>
score_gradients gradients_of(const tokens& t, code_in d_o, codes_in o,
                             codes_in largest, codes_in inverse) {
  score_gradients g;
  for (std::ptrdiff_t i = 0; i < t.length; ++i) {
    const auto n = static_cast<std::size_t>(t.length);
    code_list p(n), ds(n);
    const auto scores = scores_of<F>(t, i);
    attention_weights<A>(t.scale_bits, largest(i, 0), scores.data(), i + 1,
                         t.length, p.data());
    const auto dp = product_of(d_o.block(i, 0, 1, d_o.cols),
                               t.v.block(0, 0, i + 1, t.v.cols));
    const real r{inverse(i, 0)};
    real d{attention_dot<A>(&d_o(i, 0), &o(i, 0), d_o.cols)};
    if (F == attention_fault::along_dp) {
      d = {0};
      for (std::size_t j = 0; j < dp.size(); ++j) {
        d = A::fma(times(bf16_number<A>(p[j]), r), {dp[j]}, d);
      }
    }
    for (std::size_t j = 0; j < dp.size(); ++j) {
      real share = times(bf16_number<A>(p[j]), r);
      p[j] = rounded(share);
      if (F == attention_fault::rounded_p) {
        share = bf16_number<A>(p[j]);
      }
      real slope = times(share, A::subtract({dp[j]}, d));
      if (F == attention_fault::scaled_ds) slope = times(t.scale, slope);
      ds[j] = rounded(slope);
    }
    g.p.push_back(std::move(p));
    g.ds.push_back(std::move(ds));
  }
  return g;
}

template <attention_fault F>
void attention_backward_by(const attention_shape& s,
                           const engine::attention_inputs& in,
                           const engine::attention_kept& kept, code_in d_o,
                           const engine::attention_gradients_out& out) {
  const std::uint32_t scale =
      F == attention_fault::scaled_ds ? fp32_one : s.scale;
  for_sequences(
      s, in, [&](const tokens& t, std::ptrdiff_t row, std::ptrdiff_t h) {
        const code_in go = part_of(d_o, s, row, h, s.value_depth);
        const auto g =
            gradients_of<F>(t, go, part_of(kept.o, s, row, h, s.value_depth),
                            part_of(kept.largest, s, row, h, 1),
                            part_of(kept.inverse, s, row, h, 1));
        const auto write = [](const code_list& a, code_in b, std::uint32_t by,
                              code_out to) {
          const word_list x = product_of(as_row(a), b.transposed());
          attention_scaled<A>(by, x.data(), to.cols, &to(0, 0));
        };
        const auto dq = part_of(out.dq, s, row, h, s.depth);
        const auto dk = part_of(out.dk, s, row, h, s.depth);
        const auto dv = part_of(out.dv, s, row, h, s.value_depth);
        for (std::ptrdiff_t i = 0; i < s.length; ++i) {
          const std::ptrdiff_t end = t.end_of_keys(i);
          const auto& ds = g.ds[static_cast<std::size_t>(i)];
          write(code_list(ds.begin(), ds.begin() + end),
                t.k.block(0, 0, end, s.depth), scale,
                dq.block(i, 0, 1, s.depth));
          const std::ptrdiff_t from =
              F == attention_fault::from_the_diagonal
                  ? i
                  : i / attention_range * attention_range;
          write(score_gradients::column(g.ds, i, from),
                t.q.block(from, 0, s.length - from, s.depth), scale,
                dk.block(i, 0, 1, s.depth));
          write(score_gradients::column(g.p, i, from),
                go.block(from, 0, s.length - from, s.value_depth), fp32_one,
                dv.block(i, 0, 1, s.value_depth));
        }
      });
}

}  // namespace

mutant_list attention_mutants() {
  using f = attention_fault;
  const auto forward = &model_operators::attention_forward;
  const auto backward = &model_operators::attention_backward;
  return {
      core_but("attention_unshifted",
               "as if the largest score were not subtracted", forward,
               attention_by<f::unshifted>),
      core_but("attention_scaled_queries",
               "as if the scale were multiplied into q, in BF16", forward,
               attention_by<f::scaled_queries>),
      core_but("attention_sum_unrounded",
               "as if weights were summed before they are rounded", forward,
               attention_by<f::sum_unrounded>),
      core_but("attention_probabilities",
               "as if weights were divided by their sum, then rounded", forward,
               attention_by<f::probabilities>),
      core_but("attention_divided", "as if the output were o / l", forward,
               attention_by<f::divided>),
      core_but("attention_online",
               "as if the maximum ran along with tiles of 64 keys", forward,
               attention_by<f::online>),
      core_but("attention_keys_left_out",
               "as if values that a token does not see were not read", forward,
               attention_by<f::left_out>),
      core_but("attention_rounded_p", "as if dS took P in BF16", backward,
               attention_backward_by<f::rounded_p>),
      core_but("attention_along_dp", "as if D were the sum of P dP", backward,
               attention_backward_by<f::along_dp>),
      core_but("attention_scaled_ds", "as if the scale were multiplied into dS",
               backward, attention_backward_by<f::scaled_ds>),
      core_but("attention_queries_left_out",
               "as if keys' gradients began at their own token", backward,
               attention_backward_by<f::from_the_diagonal>),
  };
}

}  // namespace zeroulp::conformance
