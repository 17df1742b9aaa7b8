// The core's and the compiled library's operators of a model's step.

#include "conformance/contract/model_operators.hpp"

#include <algorithm>
#include <vector>

namespace zeroulp::conformance {
namespace {

using A = core_fp32;
using code_in = matrix_view<const std::uint16_t>;
using code_out = matrix_view<std::uint16_t>;

template <class T>
class scratch {
 public:
  scratch(std::ptrdiff_t m, std::ptrdiff_t n)
      : data_(static_cast<std::size_t>(m * n)), rows_(m), cols_(n) {}
  matrix_view<T> view() { return {data_.data(), rows_, cols_}; }
  const T* row(std::ptrdiff_t i) const {
    return data_.data() + static_cast<std::size_t>(i * cols_);
  }
  T* row(std::ptrdiff_t i) {
    return data_.data() + static_cast<std::size_t>(i * cols_);
  }

 private:
  std::vector<T> data_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t cols_;
};

/// One sequence and head: its tokens begin at `row`.
struct head {
  const attention_shape& shape;
  std::ptrdiff_t row;
  std::ptrdiff_t at;

  template <class T>
  matrix_view<T> of(matrix_view<T> x, std::ptrdiff_t width) const {
    return x.block(row, at * width, shape.length, width);
  }
  template <class T>
  matrix_view<T> keys(matrix_view<T> x) const {
    return of(x, shape.depth);
  }
  template <class T>
  matrix_view<T> values(matrix_view<T> x) const {
    return of(x, shape.value_depth);
  }
};

template <class Use>
void for_heads(const attention_shape& s, std::ptrdiff_t tokens, Use use) {
  for (std::ptrdiff_t row = 0; row < tokens; row += s.length) {
    for (std::ptrdiff_t h = 0; h < s.heads; ++h) use(head{s, row, h});
  }
}

/// Where K ends for token i: N6 (a).
std::ptrdiff_t end_of_keys(const attention_shape& s, std::ptrdiff_t i) {
  return std::min(s.length, (i / attention_range + 1) * attention_range);
}

void forward(const head& h, const engine::attention_inputs& t, code_out o,
             codes_out largest, codes_out inverse) {
  const std::ptrdiff_t width = h.shape.value_depth;
  const code_in q = h.keys(t.q), k = h.keys(t.k), v = h.values(t.v);
  const std::vector<std::uint16_t> ones(
      static_cast<std::size_t>(h.shape.length), 0x3f80);
  for (std::ptrdiff_t i = 0; i < h.shape.length; ++i) {
    const std::ptrdiff_t end = end_of_keys(h.shape, i);
    scratch<std::uint32_t> scores(1, end), l(1, 1), sums(1, width);
    scratch<std::uint16_t> e(1, end);
    core_product(q.block(i, 0, 1, q.cols), k.block(0, 0, i + 1, k.cols),
                 scores.view().block(0, 0, 1, i + 1));
    const std::uint32_t m =
        attention_largest<A>(h.shape.scale, scores.row(0), i + 1);
    attention_weights<A>(h.shape.scale, m, scores.row(0), i + 1, end, e.row(0));
    core_product(e.view(), {ones.data(), 1, end}, l.view());
    core_product(e.view(), v.block(0, 0, end, width).transposed(), sums.view());
    h.of(largest, 1)(i, 0) = m;
    h.of(inverse, 1)(i, 0) =
        attention_output<A>(*l.row(0), sums.row(0), width, &h.values(o)(i, 0));
  }
}

/// Rows of gradients: the product of `a` and `b` times the scale, if any.
void gradient(code_in a, code_in b, std::uint32_t scale, code_out out) {
  scratch<std::uint32_t> x(out.rows, out.cols);
  core_product(a, b, x.view());
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    attention_scaled<A>(scale, x.row(i), out.cols, &out(i, 0));
  }
}

void backward(const head& h, const engine::attention_inputs& t,
              const engine::attention_kept& kept, code_in d_o,
              const engine::attention_gradients_out& out) {
  const auto& s = h.shape;
  const code_in q = h.keys(t.q), k = h.keys(t.k), v = h.values(t.v);
  const code_in go = h.values(d_o);
  scratch<std::uint16_t> p(s.length, s.length), ds(s.length, s.length);
  for (std::ptrdiff_t i = 0; i < s.length; ++i) {
    scratch<std::uint32_t> scores(1, i + 1), dp(1, i + 1);
    core_product(q.block(i, 0, 1, q.cols), k.block(0, 0, i + 1, k.cols),
                 scores.view());
    core_product(go.block(i, 0, 1, go.cols), v.block(0, 0, i + 1, v.cols),
                 dp.view());
    attention_weights<A>(s.scale, h.of(kept.largest, 1)(i, 0), scores.row(0),
                         i + 1, s.length, p.row(i));
    const std::uint32_t d =
        attention_dot<A>(&go(i, 0), &h.values(kept.o)(i, 0), s.value_depth);
    attention_gradients<A>(h.of(kept.inverse, 1)(i, 0), d, dp.row(0), i + 1,
                           s.length, p.row(i), ds.row(i));
    const std::ptrdiff_t end = end_of_keys(s, i);
    gradient(ds.view().block(i, 0, 1, end),
             k.block(0, 0, end, k.cols).transposed(), s.scale,
             h.keys(out.dq).block(i, 0, 1, s.depth));
  }
  for (std::ptrdiff_t j = 0; j < s.length; ++j) {
    const std::ptrdiff_t from = j / attention_range * attention_range;
    const std::ptrdiff_t count = s.length - from;
    const auto column = [&](scratch<std::uint16_t>& x) {
      return x.view().block(from, j, count, 1).transposed();
    };
    gradient(column(p), go.block(from, 0, count, go.cols).transposed(),
             fp32_one, h.values(out.dv).block(j, 0, 1, s.value_depth));
    gradient(column(ds), q.block(from, 0, count, q.cols).transposed(), s.scale,
             h.keys(out.dk).block(j, 0, 1, s.depth));
  }
}

void core_norm(const rms_norm_gradients& t) {
  if (t.dx.data != nullptr) rms_norm_dx<A>(t, 0, t.x.rows);
  if (t.dw.data != nullptr) rms_norm_dw<A>(t, 0, t.x.cols);
}

void core_route(const router& r, const routing& t) {
  scratch<std::uint32_t> work(t.logits.rows, t.logits.cols + r.groups);
  routing with_work = t;
  with_work.work = work.view();
  route<A>(r, with_work, 0, t.logits.rows);
}

void core_route_backward(const router& r, const routing_gradients& t) {
  route_backward<A>(r, t, 0, t.scores.rows);
}

void core_attention(const attention_shape& s, const engine::attention_inputs& t,
                    code_out o, codes_out largest, codes_out inverse) {
  for_heads(s, t.q.rows,
            [&](const head& h) { forward(h, t, o, largest, inverse); });
}

void core_attention_backward(const attention_shape& s,
                             const engine::attention_inputs& t,
                             const engine::attention_kept& kept, code_in d_o,
                             const engine::attention_gradients_out& out) {
  for_heads(s, t.q.rows,
            [&](const head& h) { backward(h, t, kept, d_o, out); });
}

}  // namespace

void core_product(code_in a, code_in b, codes_out d) {
  recipe by = unpromoted_recipe;
  by.acc = hopper_half_f32;
  gemm(by, gemm_operand<std::uint16_t>{bf16, a, {}},
       gemm_operand<std::uint16_t>{bf16, b, {}}, {}, d);
}

model_operators core_operators() {
  return {core_norm, core_route, core_route_backward, core_attention,
          core_attention_backward};
}

model_operators engine_operators() {
  return {engine::rms_norm_backward, engine::route, engine::route_backward,
          engine::attention_forward, engine::attention_backward};
}

}  // namespace zeroulp::conformance
