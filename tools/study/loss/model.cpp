#include "tools/study/loss/model.hpp"

#include <algorithm>

#include "tools/study/loss/experts.hpp"
#include "tools/study/loss/layers.hpp"

namespace zeroulp::loss {
namespace {

/// What a layer keeps for its backward pass.
struct layer_cache {
  matrix x;  ///< input
  norm_output norm1;
  stored qkv_x;
  matrix qkv;
  std::vector<matrix> p;
  stored attention;  ///< output, as cached
  matrix middle;     ///< input of the second norm
  norm_output norm2;
  routing routes;
  dispatch_plan dispatched;
  std::vector<expert_cache> experts;  ///< shared, then routed
  std::vector<matrix> outputs;        ///< of the routed
};

/// One pass over a batch.
class runner {
 public:
  runner(const model_state& state, const arm& how, const batch& data,
         const pass_options& options, pass& out)
      : state_(state),
        shape_(state.shape),
        arm_(how),
        data_(data),
        options_(options),
        out_(out) {}

  void operator()() {
    matrix x = embed();
    std::vector<layer_cache> caches;
    for (std::ptrdiff_t l = 0; l < shape_.layers; ++l) {
      caches.push_back(forward(l, x));
    }
    const norm_output norm = normalize(x, model_shape::last_norm);
    const linear_output head = linear_forward(context(model_shape::head),
                                              norm.y, w(model_shape::head));
    loss_output loss = cross_entropy(head.y, data_.targets);
    out_.loss = loss.loss;
    if (!options_.backward) return;
    round(loss.dlogits);
    matrix dy = back(model_shape::head, head.x, loss.dlogits);
    matrix dx = norm_backward(x, w(model_shape::last_norm), norm.rstd, dy,
                              dw(model_shape::last_norm));
    round(dx);
    for (std::ptrdiff_t l = shape_.layers; l-- > 0;) {
      backward(l, caches[static_cast<std::size_t>(l)], dx);
    }
    for (std::ptrdiff_t t = 0; t < dx.rows; ++t) {
      float* to = dw(model_shape::embedding).row(token(t));
      for (std::ptrdiff_t j = 0; j < dx.cols; ++j) to[j] += dx.row(t)[j];
    }
  }

 private:
  const matrix& w(std::size_t i) const { return state_.weights[i]; }
  matrix& dw(std::size_t i) const { return out_.gradients[i]; }
  void round(matrix& x) const { round_to(arm_.values, x); }
  int token(std::ptrdiff_t t) const {
    return data_.inputs[static_cast<std::size_t>(t)];
  }

  linear_context context(std::size_t i) const {
    const bool head = i == model_shape::head;
    return {head ? arm_.head : arm_.linear, arm_.delayed && !head,
            state_.history[i], out_.amaxes[i]};
  }

  /// The same where row `row` of X is the stretched token.
  linear_context context(std::size_t i, std::ptrdiff_t row) const {
    linear_context c = context(i);
    if (state_.token_exponent == 0) return c;
    c.row = row;
    c.exponent = state_.token_exponent;
    return c;
  }

  /// The row of the stretched token in what expert e reads; -1: none.
  static std::ptrdiff_t stretched_row(const dispatch_plan& p,
                                      std::ptrdiff_t e) {
    if (e == 0) return stretched_token;
    const auto& who = p.visits[static_cast<std::size_t>(e - 1)];
    const auto at = std::find_if(who.begin(), who.end(), [](const auto& v) {
      return v.token == stretched_token;
    });
    return at == who.end() ? -1 : at - who.begin();
  }

  expert_context expert(const model_shape::layer_index& at,
                        const dispatch_plan& p, std::ptrdiff_t e) const {
    expert_context c{arm_, context(at.up(e), stretched_row(p, e)),
                     context(at.down(e))};
    c.up.rule.x.scale = arm_.dispatched;
    c.down.rule.dy.scale = arm_.dispatched;
    return c;
  }

  matrix embed() const {
    matrix x(static_cast<std::ptrdiff_t>(data_.inputs.size()), shape_.width);
    for (std::ptrdiff_t t = 0; t < x.rows; ++t) {
      std::copy_n(w(model_shape::embedding).row(token(t)), x.cols, x.row(t));
    }
    round(x);
    return x;
  }

  norm_output normalize(const matrix& x, std::size_t i) const {
    norm_output n = norm_forward(x, w(i));
    round(n.y);
    return n;
  }

  attention_shape attention() const {
    return {data_.sequences, data_.length, shape_.heads};
  }

  /// The attention output as it is kept; a cache of another kind than the
  /// operand of Fprop is made from the same values.
  stored keep(const matrix& o, stored operand) const {
    return arm_.attention_cache == operand.how
               ? std::move(operand)
               : store(arm_.attention_cache, o.words());
  }

  layer_cache forward(std::ptrdiff_t l, matrix& x) {
    const auto at = shape_.layer(l);
    const matrix input = x;
    norm_output norm1 = normalize(x, at.norm1);
    linear_output qkv =
        linear_forward(context(at.qkv, stretched_token), norm1.y, w(at.qkv));
    round(qkv.y);
    attention_output a = attention_forward(attention(), qkv.y);
    round(a.o);
    linear_output o = linear_forward(context(at.out), a.o, w(at.out));
    round(o.y);
    add(arm_.values, x, o.y);
    const matrix middle = x;
    norm_output norm2 = normalize(x, at.norm2);
    const auto layer = static_cast<std::size_t>(l);
    routing routes = route(
        norm2.y, w(at.router), state_.biases[layer], shape_.top,
        options_.experts == nullptr ? nullptr : &(*options_.experts)[layer]);
    out_.experts[layer] = routes.experts;
    layer_cache c{input,
                  std::move(norm1),
                  std::move(qkv.x),
                  std::move(qkv.y),
                  std::move(a.p),
                  keep(a.o, std::move(o.x)),
                  middle,
                  std::move(norm2),
                  std::move(routes),
                  {},
                  {},
                  {}};
    c.dispatched = plan(c.routes, shape_.experts);
    expert_output shared = expert_forward(
        expert(at, c.dispatched, 0), c.norm2.y, {w(at.up(0)), w(at.down(0))});
    c.experts.push_back(std::move(shared.cache));
    for (std::ptrdiff_t e = 1; e <= shape_.experts; ++e) {
      const auto& who = c.dispatched.visits[static_cast<std::size_t>(e - 1)];
      expert_output y =
          expert_forward(expert(at, c.dispatched, e), gather(c.norm2.y, who),
                         {w(at.up(e)), w(at.down(e))});
      c.experts.push_back(std::move(y.cache));
      c.outputs.push_back(std::move(y.y));
    }
    matrix y = combine(c.routes, c.dispatched, c.outputs, shared.y, true);
    round(y);
    add(arm_.values, x, y);
    return c;
  }

  matrix back(std::size_t i, const stored& cached, const matrix& dy,
              std::ptrdiff_t row = -1) const {
    const linear_context c = context(i, row);
    matrix dx =
        linear_backward(c, transpose(c.rule.x, cached), w(i), dy, dw(i));
    round(dx);
    return dx;
  }

  /// The gradient of an expert's rows, and of their weights.
  matrix weigh(const layer_cache& c, std::size_t e, const matrix& dy,
               std::vector<float>& dweights) const {
    const auto& who = c.dispatched.visits[e];
    matrix d = gather(dy, who);
    for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
      const auto& v = who[static_cast<std::size_t>(i)];
      const auto slot = static_cast<std::size_t>(v.token * shape_.top + v.slot);
      float sum = 0;
      for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
        sum += d.row(i)[j] * c.outputs[e].row(i)[j];
        d.row(i)[j] *= c.routes.weights[slot];
      }
      dweights[slot] = sum;
    }
    round(d);
    return d;
  }

  matrix experts_backward(std::ptrdiff_t l, const layer_cache& c,
                          const matrix& dy) const {
    const auto at = shape_.layer(l);
    const auto through = [&](std::ptrdiff_t e, const matrix& d) {
      return expert_backward(
          expert(at, c.dispatched, e), c.experts[static_cast<std::size_t>(e)],
          {w(at.up(e)), w(at.down(e))}, d, {dw(at.up(e)), dw(at.down(e))});
    };
    const matrix shared = through(0, dy);
    std::vector<float> dweights(c.routes.weights.size());
    std::vector<matrix> rows;
    for (std::ptrdiff_t e = 1; e <= shape_.experts; ++e) {
      rows.push_back(
          through(e, weigh(c, static_cast<std::size_t>(e - 1), dy, dweights)));
    }
    matrix dx = combine(c.routes, c.dispatched, rows, shared, false);
    round(dx);
    add(arm_.values, dx,
        route_backward(c.routes, c.norm2.y, w(at.router), dweights,
                       dw(at.router)));
    return dx;
  }

  /// dx becomes the gradient of the layer's input.
  void backward(std::ptrdiff_t l, const layer_cache& c, matrix& dx) const {
    const auto at = shape_.layer(l);
    matrix d = norm_backward(c.middle, w(at.norm2), c.norm2.rstd,
                             experts_backward(l, c, dx), dw(at.norm2));
    add(arm_.values, dx, d);
    const matrix d_o = back(at.out, c.attention, dx);
    matrix dqkv =
        attention_backward(attention(), c.qkv, c.p, load(c.attention), d_o);
    round(dqkv);
    d = norm_backward(c.x, w(at.norm1), c.norm1.rstd,
                      back(at.qkv, c.qkv_x, dqkv, stretched_token),
                      dw(at.norm1));
    add(arm_.values, dx, d);
  }

  const model_state& state_;
  const model_shape& shape_;
  const arm& arm_;
  const batch& data_;
  const pass_options& options_;
  pass& out_;
};

}  // namespace

pass run(const model_state& state, const arm& how, const batch& data,
         const pass_options& options) {
  pass out;
  out.amaxes.resize(state.weights.size());
  out.experts.resize(static_cast<std::size_t>(state.shape.layers));
  if (options.backward) {
    for (const matrix& w : state.weights) {
      out.gradients.emplace_back(w.rows, w.cols);
    }
  }
  runner(state, how, data, options, out)();
  return out;
}

}  // namespace zeroulp::loss
