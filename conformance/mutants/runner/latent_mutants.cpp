// Wrong orders of MLA's products: SPEC N27.

#include <algorithm>

#include "conformance/mutants/runner/operator_mutants.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;
using code_in = matrix_view<const std::uint16_t>;
using code_out = matrix_view<std::uint16_t>;

template <class T>
struct owned {
  owned(std::ptrdiff_t m, std::ptrdiff_t n)
      : data(static_cast<std::size_t>(m * n)), rows(m), cols(n) {}
  matrix_view<T> view() { return {data.data(), rows, cols}; }

  std::vector<T> data;
  std::ptrdiff_t rows, cols;
};

void rounded_product(code_in a, code_in b, code_out out) {
  owned<std::uint32_t> sums(out.rows, out.cols);
  core_product(a, b, sums.view());
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out(i, j) = bf16_code<A>(A::from_bits(sums.view()(i, j)));
    }
  }
}

void copy_to(code_out to, code_in from) {
  for (std::ptrdiff_t i = 0; i < from.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < from.cols; ++j) to(i, j) = from(i, j);
  }
}

/// A head of the absorbed order: its rows of queries and of keys, and W_v.
struct absorbed_head {
  const mla_shape& s;
  code_in latent, up_value;
  owned<std::uint16_t> q, k;
};

/// `latent_at`, `rope_at`: the columns where the two parts of a row begin.
absorbed_head make_head(const mla_shape& s, const mla_tokens& t,
                        std::ptrdiff_t at, std::ptrdiff_t latent_at,
                        std::ptrdiff_t rope_at) {
  const std::ptrdiff_t m = t.q.rows, width = s.depth + s.rope_depth;
  const code_in q = t.q.block(0, at * width, m, width);
  const code_in up = t.up.block(at * (s.depth + s.value_depth), 0,
                                s.depth + s.value_depth, s.rank);
  absorbed_head h{s,
                  t.latent,
                  up.block(s.depth, 0, s.value_depth, s.rank),
                  {m, s.rank + s.rope_depth},
                  {m, s.rank + s.rope_depth}};
  rounded_product(q.block(0, 0, m, s.depth),
                  up.block(0, 0, s.depth, s.rank).transposed(),
                  h.q.view().block(0, latent_at, m, s.rank));
  copy_to(h.q.view().block(0, rope_at, m, s.rope_depth),
          q.block(0, s.depth, m, s.rope_depth));
  copy_to(h.k.view().block(0, latent_at, m, s.rank), t.latent);
  copy_to(h.k.view().block(0, rope_at, m, s.rope_depth), t.rope_key);
  return h;
}

/// The mean of the latent rows, and what attention keeps besides.
void mean_latent(absorbed_head& h, code_out mean, codes_out largest,
                 codes_out inverse) {
  const mla_shape& s = h.s;
  core_operators().attention_forward(
      {s.length, 1, s.rank + s.rope_depth, s.rank, s.scale},
      {h.q.view(), h.k.view(), h.latent}, mean, largest, inverse);
}

/// Token i's output, divided by l after the product by W_v.
void divide_last(absorbed_head& h, std::ptrdiff_t i, code_out o,
                 std::uint32_t largest, std::uint32_t inverse) {
  const mla_shape& s = h.s;
  const std::ptrdiff_t place = i % s.length, width = h.k.cols;
  const std::ptrdiff_t end =
      std::min(s.length, (place / attention_range + 1) * attention_range);
  owned<std::uint32_t> scores(1, place + 1), sums(1, s.value_depth);
  owned<std::uint16_t> e(1, end), mean(1, s.rank);
  core_product(h.q.view().block(i, 0, 1, width),
               h.k.view().block(i - place, 0, place + 1, width), scores.view());
  attention_weights<A>(s.scale, largest, scores.data.data(), place + 1, end,
                       e.data.data());
  rounded_product(e.view(),
                  h.latent.block(i - place, 0, end, s.rank).transposed(),
                  mean.view());
  core_product(mean.view(), h.up_value, sums.view());
  for (std::ptrdiff_t j = 0; j < s.value_depth; ++j) {
    o(i, j) = bf16_code<A>(
        A::multiply(A::from_bits(sums.view()(0, j)), A::from_bits(inverse)));
  }
}

enum class latent_fault : std::uint8_t { rope_first, divided_last };

template <latent_fault F>
void mla_by(mla_order order, const mla_shape& s, const mla_tokens& t,
            code_out o, codes_out largest, codes_out inverse) {
  if (order == mla_order::unabsorbed) {
    engine::mla_forward(order, s, t, o, largest, inverse);
    return;
  }
  const bool rope_first = F == latent_fault::rope_first;
  const std::ptrdiff_t m = t.q.rows;
  for (std::ptrdiff_t at = 0; at < s.heads; ++at) {
    absorbed_head h = make_head(s, t, at, rope_first ? s.rope_depth : 0,
                                rope_first ? 0 : s.rank);
    const codes_out top = largest.block(0, at, m, 1);
    const codes_out r = inverse.block(0, at, m, 1);
    const code_out out = o.block(0, at * s.value_depth, m, s.value_depth);
    owned<std::uint16_t> mean(m, s.rank);
    mean_latent(h, mean.view(), top, r);
    rounded_product(mean.view(), h.up_value, out);
    if (F != latent_fault::divided_last) continue;
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      divide_last(h, i, out, top(i, 0), r(i, 0));
    }
  }
}

template <mla_order O>
void mla_always(mla_order, const mla_shape& s, const mla_tokens& t, code_out o,
                codes_out largest, codes_out inverse) {
  engine::mla_forward(O, s, t, o, largest, inverse);
}

}  // namespace

operator_mutant_list latent_mutants() {
  const auto mla = &model_functions::mla_forward;
  return {
      table_but("mla_unabsorbed", "as if there were the unabsorbed order alone",
                mla, mla_always<mla_order::unabsorbed>),
      table_but("mla_absorbed", "as if there were the absorbed order alone",
                mla, mla_always<mla_order::absorbed>),
      table_but("mla_rope_first",
                "as if K of absorbed scores began with the rope key", mla,
                mla_by<latent_fault::rope_first>),
      table_but("mla_divided_last", "as if l divided after the product by W_v",
                mla, mla_by<latent_fault::divided_last>),
  };
}

}  // namespace zeroulp::conformance
