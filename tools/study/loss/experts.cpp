#include "tools/study/loss/experts.hpp"

#include <algorithm>
#include <cmath>

#include "zeroulp/training.hpp"

namespace zeroulp::loss {
namespace {

swiglu_layer layer_of(const arm& a) {
  const storage& s = a.swiglu_cache;
  const quantizer cache{fp32, s.to, zeroulp_convention, s.scale, s.group};
  return {cache, cache};  // of `out` the format of values alone is read: FP32
}

matrix_view<std::uint32_t> half(matrix& x, std::ptrdiff_t which) {
  const std::ptrdiff_t h = x.cols / 2;
  return x.words().block(0, which * h, x.rows, h);
}
matrix_view<const std::uint32_t> half(const matrix& x, std::ptrdiff_t which) {
  const std::ptrdiff_t h = x.cols / 2;
  return x.words().block(0, which * h, x.rows, h);
}

}  // namespace

expert_output expert_forward(const expert_context& c, const matrix& x,
                             const expert_of<const matrix>& w) {
  if (x.rows == 0) {
    const stored none(c.how.swiglu_cache, 0, w.down.cols);
    return {matrix(0, w.down.rows), {{c.up.rule.x, 0, x.cols}, none, none}};
  }
  auto up = linear_forward(c.up, x, w.up);
  round_to(c.how.values, up.y);
  const std::ptrdiff_t h = w.down.cols;
  expert_cache cache{std::move(up.x), stored(c.how.swiglu_cache, x.rows, h),
                     stored(c.how.swiglu_cache, x.rows, h)};
  matrix hidden(x.rows, h);
  const matrix& gates = up.y;
  engine::swiglu_forward(layer_of(c.how), half(gates, 0), half(gates, 1),
                         hidden.words(), {},
                         {cache.gate.code_words(), cache.gate.scale_words()},
                         {cache.up.code_words(), cache.up.scale_words()});
  round_to(c.how.values, hidden);
  auto down = linear_forward(c.down, hidden, w.down);
  round_to(c.how.values, down.y);
  return {std::move(down.y), std::move(cache)};
}

matrix expert_backward(const expert_context& c, const expert_cache& cache,
                       const expert_of<const matrix>& w, const matrix& dy,
                       const expert_of<matrix>& dw) {
  if (dy.rows == 0) return {0, w.up.cols};
  const std::ptrdiff_t h = w.down.cols;
  const auto caches = [](const stored& s) {
    return engine::const_quantized_view{s.code_words(), s.scale_words()};
  };
  // h first: Wgrad of down needs it, and the gradient of h comes from Dgrad.
  matrix hidden(dy.rows, h);
  const matrix nothing(dy.rows, h);
  engine::swiglu_backward(layer_of(c.how), fp32, nothing.words(),
                          caches(cache.gate), caches(cache.up), hidden.words(),
                          {}, {});
  round_to(c.how.values, hidden);
  const stored hidden_t =
      store(c.down.rule.x,
            matrix_view<const std::uint32_t>(hidden.words()).transposed(),
            c.down.delayed ? &c.down.past.x : nullptr);
  matrix dh = linear_backward(c.down, hidden_t, w.down, dy, dw.down);
  round_to(c.how.values, dh);
  matrix dgates(dy.rows, 2 * h);
  engine::swiglu_backward(layer_of(c.how), fp32, dh.words(), caches(cache.gate),
                          caches(cache.up), {}, half(dgates, 0),
                          half(dgates, 1));
  round_to(c.how.values, dgates);
  matrix dx = linear_backward(c.up, transpose(c.up.rule.x, cache.x), w.up,
                              dgates, dw.up);
  round_to(c.how.values, dx);
  return dx;
}

dispatch_plan plan(const routing& r, std::ptrdiff_t experts) {
  dispatch_plan p;
  p.visits.resize(static_cast<std::size_t>(experts));
  for (std::ptrdiff_t t = 0; t < r.scores.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      const int e = r.experts[static_cast<std::size_t>(t * r.top + k)];
      p.visits[static_cast<std::size_t>(e)].push_back({t, k});
    }
  }
  return p;
}

matrix gather(const matrix& x, const std::vector<dispatch_plan::visit>& who) {
  matrix out(static_cast<std::ptrdiff_t>(who.size()), x.cols);
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    std::copy_n(x.row(who[static_cast<std::size_t>(i)].token), x.cols,
                out.row(i));
  }
  return out;
}

matrix combine(const routing& r, const dispatch_plan& p,
               const std::vector<matrix>& rows, const matrix& shared,
               bool weighted) {
  std::vector<const float*> from(static_cast<std::size_t>(shared.rows * r.top));
  for (std::size_t e = 0; e < rows.size(); ++e) {
    for (std::size_t i = 0; i < p.visits[e].size(); ++i) {
      const auto& v = p.visits[e][i];
      from[static_cast<std::size_t>(v.token * r.top + v.slot)] =
          rows[e].row(static_cast<std::ptrdiff_t>(i));
    }
  }
  matrix out(shared.rows, shared.cols);
  for (std::ptrdiff_t t = 0; t < out.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      const auto slot = static_cast<std::size_t>(t * r.top + k);
      const float w = weighted ? r.weights[slot] : 1;
      for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
        out.row(t)[j] = std::fma(w, from[slot][j], out.row(t)[j]);
      }
    }
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      out.row(t)[j] += shared.row(t)[j];
    }
  }
  return out;
}

}  // namespace zeroulp::loss
