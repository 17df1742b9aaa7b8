// Defines a layer of a pass, forward and backward, over a backend: latent
// attention, a dense SwiGLU or routed experts, the norms before them.
//
// `Ops` has the operators (engine_ops.hpp) and reads every element; this file
// says which, in which order. SPEC N19 to N22. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_LAYER_HPP_
#define ZEROULP_TOOLS_TRAIN_LAYER_HPP_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/train/arm.hpp"
#include "tools/train/shape.hpp"
#include "tools/train/tensors.hpp"
#include "zeroulp/core/model/attention.hpp"

namespace zeroulp::train {

/// Called with each tensor that a pass makes: its name and its bytes.
using tracer = std::function<void(const std::string& name, const void* bytes,
                                  std::size_t count)>;

/// What a pass reads besides the tokens; its tensors are a backend's.
template <class Ops>
struct pass_inputs {
  const model_shape& shape;
  const parameter_list& parameters;
  const arm& how;
  const std::vector<typename Ops::words>& weights;  ///< FP32 masters
  const std::vector<typename Ops::words>& biases;   ///< of routers, by layer
  const typename Ops::words& cosines;               ///< length x turned / 2
  const typename Ops::words& sines;
};

/// What a pass makes.
template <class Ops>
struct pass_outputs {
  typename Ops::words losses;  ///< tokens x 1
  /// Of a module of multi-token prediction, not multiplied; of a pass backward.
  typename Ops::words mtp_losses;
  std::vector<typename Ops::words> gradients;  ///< by parameter, FP32
  /// Chosen, by layer; dense ones: empty.
  std::vector<typename Ops::indices> experts;
};

/// The layers of a pass, and what they are made of.
template <class Ops>
class layer_pass {
 public:
  using halves = typename Ops::halves;    ///< a matrix of BF16
  using words = typename Ops::words;      ///< of FP32
  using indices = typename Ops::indices;  ///< of whole numbers

 protected:
  using operand = typename Ops::operand;
  using swiglu_cache = typename Ops::swiglu_cache;
  using normalized = typename Ops::normalized;
  using attention_operands = typename Ops::attention_operands;

  /// A feed-forward part: up, SwiGLU, down.
  struct feed_cache {
    operand x;
    swiglu_cache gates;
  };
  /// The rules of its two Linears.
  struct feed_rules {
    linear_rule up;
    linear_rule down;
  };
  struct layer_cache {
    halves x;
    normalized norm1;
    operand first_x;
    normalized latent;
    halves latent_in;
    operand second_x;
    attention_operands heads;
    words largest, inverse;
    operand attention;
    halves middle;
    normalized norm2;
    // Of a layer with experts:
    words scores, weights;
    indices experts, slots;
    std::vector<std::int32_t> ends;  ///< of each expert's rows, on the host
    halves rows;  ///< the experts' outputs, then the shared one's
    std::vector<feed_cache> feeds;  ///< dense or shared, then the routed
  };

  layer_pass(const pass_inputs<Ops>& in, tracer trace)
      : in_(in), shape_(in.shape), trace_(std::move(trace)) {}

  word_view w(std::size_t i) const { return in_.weights[i].view(); }
  matrix_view<std::uint32_t> dw(std::size_t i) {
    return out_->gradients[i].view();
  }
  const operand& weights(const storage& how, std::size_t i) {
    if (operands_.empty()) operands_.resize(in_.weights.size());
    auto& kept = operands_[i];
    if (!kept) kept = Ops::store(how, w(i));
    return *kept;
  }

  template <class Tensor>
  void note(const std::string& name, const Tensor& x) const {
    if (!trace_) return;
    const auto& host = Ops::on_host(x);
    trace_(prefix_ + name, host.data.data(),
           host.data.size() * sizeof(host.data[0]));
  }
  void note(const std::string& name, const operand& x) const {
    note(name + ".codes", x.codes);
    if (x.how.scaled) note(name + ".scales", x.scales);
  }

  /// Y of a Linear, and its input as it is kept.
  halves linear(const linear_rule& rule, std::size_t i, const operand& x) {
    auto y = halves::unwritten(x.codes.rows, w(i).rows);
    Ops::product(rule.fprop, x, weights(rule.w, i), false, y.view());
    return y;
  }

  /// dX of a Linear into `dx`; dW from X^T as an operand.
  void linear_backward(const linear_rule& rule, std::size_t i, half_view dy,
                       const operand& xt, matrix_view<std::uint16_t> dx) {
    const auto [rows, columns] = Ops::store_both(rule.dy, dy);
    Ops::product(rule.dgrad, rows, weights(rule.w, i), true, dx);
    Ops::product(rule.wgrad, columns, xt, dw(i));
  }
  halves linear_backward(const linear_rule& rule, std::size_t i, half_view dy,
                         const operand& xt) {
    auto dx = halves::unwritten(dy.rows, w(i).cols);
    linear_backward(rule, i, dy, xt, dx.view());
    return dx;
  }

  halves norm_backward(const halves& x, std::size_t i, const normalized& norm,
                       const halves& dy, const halves* residual) {
    auto dx = halves::unwritten(x.rows, x.cols);
    Ops::rms_norm_backward(
        {dy.view(), x.view(), w(i), norm.rstd.view(),
         residual == nullptr ? half_view{} : half_view(residual->view()),
         dx.view(), dw(i)});
    return dx;
  }

  attention_shape attention() const {
    return {shape_.length, shape_.heads, shape_.depth(), shape_.value,
            attention_scale(shape_.depth())};
  }

  layer_cache layer_forward(std::ptrdiff_t l, halves& x) {
    const layer_parameters& p = in_.parameters.layer(l);
    const linear_rule& rule = in_.how.linear;
    layer_cache c;
    c.x = std::move(x);
    c.norm1 = Ops::rms_norm(c.x.view(), w(p.norm1));
    note("norm1", c.norm1.y);
    c.first_x = Ops::store(rule.x, c.norm1.y.view(), c.norm1.y);
    note("norm1", c.first_x);
    const halves first = linear(rule, p.first, c.first_x);
    note("qkv_a", first);
    c.latent_in =
        Ops::columns(first.view(), shape_.heads * shape_.depth(), shape_.rank);
    c.latent = Ops::rms_norm(c.latent_in.view(), w(p.latent_norm));
    c.second_x = Ops::store(rule.x, c.latent.y.view(), c.latent.y);
    const halves second = linear(rule, p.second, c.second_x);
    note("kv_b", second);
    c.heads = Ops::assemble(shape_, first.view(), second.view(),
                            in_.cosines.view(), in_.sines.view());
    const std::ptrdiff_t tokens = c.x.rows;
    auto o = halves::unwritten(tokens, shape_.heads * shape_.value);
    c.largest = words::unwritten(tokens, shape_.heads);
    c.inverse = words::unwritten(tokens, shape_.heads);
    Ops::attention_forward(
        attention(), {c.heads.q.view(), c.heads.k.view(), c.heads.v.view()},
        o.view(), c.largest.view(), c.inverse.view());
    note("attention", o);
    c.attention = Ops::store(rule.x, o.view(), o);
    const halves projected = linear(rule, p.out, c.attention);
    if (in_.how.attention_cache != rule.x) {
      c.attention = Ops::store(in_.how.attention_cache, o.view(), o);
    }
    note("attention", c.attention);
    c.middle = Ops::add(c.x.view(), projected.view());
    note("middle", c.middle);
    c.norm2 = Ops::rms_norm(c.middle.view(), w(p.norm2));
    note("norm2", c.norm2.y);
    const halves y =
        shape_.is_dense(l) ? dense_forward(p, c) : experts_forward(l, p, c);
    x = Ops::add(c.middle.view(), y.view());
    note("x", x);
    return c;
  }

  /// Up, SwiGLU, down of one feed-forward part into `y`; x is of `owner`.
  feed_cache feed_forward(const feed_rules& rules, std::size_t up, half_view x,
                          const halves& owner, matrix_view<std::uint16_t> y) {
    feed_cache c;
    if (x.rows == 0) return c;  // an expert that no token chose
    c.x = Ops::store(rules.up.x, x, owner);
    const halves gates = linear(rules.up, up, c.x);
    const halves h = Ops::swiglu(in_.how.swiglu_cache, gates, c.gates);
    Ops::product(rules.down.fprop, Ops::store(rules.down.x, h.view(), h),
                 weights(rules.down.w, up + 1), false, y);
    return c;
  }

  /// The gradient of its input, into `dx`.
  void feed_backward(const feed_rules& rules, std::size_t up,
                     const feed_cache& c, half_view dy,
                     matrix_view<std::uint16_t> dx) {
    if (dy.rows == 0) return;
    const halves h = Ops::swiglu_again(in_.how.swiglu_cache, c.gates);
    const halves dh =
        linear_backward(rules.down, up + 1, dy,
                        Ops::store_transposed(rules.down.x, h.view(), h));
    const halves d =
        Ops::swiglu_backward(in_.how.swiglu_cache, c.gates, dh.view());
    linear_backward(rules.up, up, d.view(), Ops::transpose(rules.up.x, c.x),
                    dx);
  }

  /// Experts' inputs, and their outputs' gradients, are dispatched.
  feed_rules dispatched() const {
    feed_rules rules{in_.how.linear, in_.how.linear};
    rules.up.x.scale = in_.how.dispatched;
    rules.down.dy.scale = in_.how.dispatched;
    return rules;
  }

  halves dense_forward(const layer_parameters& p, layer_cache& c) {
    auto y = halves::unwritten(c.middle.rows, c.middle.cols);
    c.feeds.push_back(feed_forward({in_.how.linear, in_.how.linear}, p.feed,
                                   c.norm2.y.view(), c.norm2.y, y.view()));
    note("feed", y);
    return y;
  }

  halves experts_forward(std::ptrdiff_t l, const layer_parameters& p,
                         layer_cache& c) {
    const half_view y2 = c.norm2.y.view();
    const std::ptrdiff_t tokens = y2.rows;
    const auto layer = static_cast<std::size_t>(l);
    const words logits = Ops::router_logits(y2, w(p.router));
    note("router", logits);
    c.scores = words::unwritten(tokens, shape_.experts);
    c.weights = words::unwritten(tokens, shape_.top);
    c.experts = indices::unwritten(tokens, shape_.top);
    Ops::route(shape_, logits, in_.biases[layer], c.scores, c.experts,
               c.weights);
    note("experts", c.experts);
    note("weights", c.weights);
    out_->experts[layer] = c.experts;
    const indices rows = Ops::make_plan(shape_, c.experts, c.slots, c.ends);
    const std::ptrdiff_t used = c.ends.back();
    c.rows = halves::unwritten(used + tokens, shape_.width);
    const halves gathered = Ops::gather(y2, rows);
    const feed_rules rules = dispatched();
    c.feeds.push_back(
        feed_forward(rules, p.feed, y2, c.norm2.y,
                     c.rows.view().block(used, 0, tokens, shape_.width)));
    for_experts(
        c, [&](std::ptrdiff_t e, std::ptrdiff_t from, std::ptrdiff_t count) {
          c.feeds.push_back(feed_forward(
              rules, p.up(e + 1),
              half_view(gathered.view().block(from, 0, count, shape_.width)),
              gathered, c.rows.view().block(from, 0, count, shape_.width)));
        });
    note("expert_rows", c.rows);
    halves y = Ops::combine(c.rows, c.slots, &c.weights, used);
    note("feed", y);
    return y;
  }

  /// use(expert, first row, rows) for each.
  template <class Use>
  void for_experts(const layer_cache& c, const Use& use) const {
    for (std::ptrdiff_t e = 0; e < shape_.experts; ++e) {
      const auto at = static_cast<std::size_t>(e);
      use(e, c.ends[at], c.ends[at + 1] - c.ends[at]);
    }
  }

  /// The gradient of the second norm's output.
  halves experts_backward(const layer_parameters& p, const layer_cache& c,
                          const halves& dy) {
    const std::ptrdiff_t tokens = dy.rows;
    const std::ptrdiff_t used = c.rows.rows - tokens;
    auto d_rows = halves::unwritten(used, shape_.width);
    auto dweights = words::unwritten(tokens, shape_.top);
    Ops::slot_backward({dy.view(), c.slots.view(), c.weights.view(),
                        c.rows.view().block(0, 0, used, shape_.width),
                        d_rows.view(), dweights.view()});
    note("d_rows", d_rows);
    note("d_weights", dweights);
    const feed_rules rules = dispatched();
    auto dx_rows = halves::unwritten(c.rows.rows, shape_.width);
    feed_backward(rules, p.feed, c.feeds[0], dy.view(),
                  dx_rows.view().block(used, 0, tokens, shape_.width));
    for_experts(
        c, [&](std::ptrdiff_t e, std::ptrdiff_t from, std::ptrdiff_t count) {
          feed_backward(
              rules, p.up(e + 1), c.feeds[static_cast<std::size_t>(e + 1)],
              half_view(d_rows.view().block(from, 0, count, shape_.width)),
              dx_rows.view().block(from, 0, count, shape_.width));
        });
    const halves dx = Ops::combine(dx_rows, c.slots, nullptr, used);
    note("d_feed", dx);
    const words dlogits =
        Ops::route_backward(shape_, c.scores, c.experts, dweights);
    note("d_router", dlogits);
    Ops::router_dw(dlogits.view(), c.norm2.y.view(), dw(p.router));
    return Ops::add(
        dx.view(),
        word_view(Ops::router_dx(dlogits.view(), w(p.router)).view()));
  }

  halves layer_backward(std::ptrdiff_t l, const layer_cache& c,
                        const halves& dx) {
    const layer_parameters& p = in_.parameters.layer(l);
    const linear_rule& rule = in_.how.linear;
    halves d;
    if (shape_.is_dense(l)) {
      d = halves::unwritten(dx.rows, dx.cols);
      feed_backward({rule, rule}, p.feed, c.feeds[0], dx.view(), d.view());
    } else {
      d = experts_backward(p, c, dx);
    }
    note("d_norm2", d);
    const halves d_middle = norm_backward(c.middle, p.norm2, c.norm2, d, &dx);
    note("d_middle", d_middle);
    const halves d_o = linear_backward(rule, p.out, d_middle.view(),
                                       Ops::transpose(rule.x, c.attention));
    note("d_attention", d_o);
    const words kept = Ops::load(c.attention);
    const auto like = [](const halves& of) {
      return halves::unwritten(of.rows, of.cols);
    };
    attention_operands grads{like(c.heads.q), like(c.heads.k), like(c.heads.v)};
    Ops::attention_backward(
        attention(), {c.heads.q.view(), c.heads.k.view(), c.heads.v.view()},
        {kept.view(), c.largest.view(), c.inverse.view()}, d_o.view(),
        {grads.q.view(), grads.k.view(), grads.v.view()});
    note("d_q", grads.q);
    note("d_k", grads.k);
    note("d_v", grads.v);
    halves d_first(d_o.rows, shape_.first_rows());
    auto d_second = halves::unwritten(d_o.rows, w(p.second).rows);
    Ops::assemble_backward(shape_, grads, in_.cosines.view(), in_.sines.view(),
                           d_first.view(), d_second.view());
    const halves d_latent = linear_backward(rule, p.second, d_second.view(),
                                            Ops::transpose(rule.x, c.second_x));
    const halves d_latent_in =
        norm_backward(c.latent_in, p.latent_norm, c.latent, d_latent, nullptr);
    Ops::copy(d_latent_in.view(),
              d_first.view().block(0, shape_.heads * shape_.depth(), d_o.rows,
                                   shape_.rank));
    note("d_qkv_a", d_first);
    d = linear_backward(rule, p.first, d_first.view(),
                        Ops::transpose(rule.x, c.first_x));
    halves result = norm_backward(c.x, p.norm1, c.norm1, d, &d_middle);
    note("dx", result);
    return result;
  }

  const pass_inputs<Ops>& in_;
  const model_shape& shape_;
  tracer trace_;
  pass_outputs<Ops>* out_ = nullptr;
  std::string prefix_;
  std::vector<std::optional<operand>> operands_;  ///< of weights
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_LAYER_HPP_
