// Defines one pass of a training step, forward and backward, over a backend:
// embedding, layers (layer.hpp), head and losses, a module of multi-token
// prediction; once for the CPU and for a GPU. SPEC N19 to N22, N31. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_STEP_HPP_
#define ZEROULP_TOOLS_TRAIN_STEP_HPP_

#include "tools/train/layer.hpp"
#include "zeroulp/core/model/mtp.hpp"

namespace zeroulp::train {

/// What multiplies the loss of a module of multi-token prediction: 0.3.
inline constexpr std::uint32_t mtp_weight = 0x3e99999a;

/// One pass over the tokens of a shard: whole sequences.
template <class Ops>
class step_pass : private layer_pass<Ops> {
  using base = layer_pass<Ops>;

 public:
  using typename base::halves;
  using typename base::indices;
  using typename base::words;

  step_pass(const pass_inputs<Ops>& in, tracer trace)
      : base(in, std::move(trace)) {}

  /// The losses alone.
  words forward(const indices& ids, const indices& targets) {
    pass_outputs<Ops> out;
    run(ids, targets, fp32_one, false, out);
    return std::move(out.losses);
  }

  /// Losses and gradients; `factor` multiplies the gradient of each loss.
  pass_outputs<Ops> operator()(const indices& ids, const indices& targets,
                               std::uint32_t factor) {
    pass_outputs<Ops> out;
    for (const parameter& p : in_.parameters.all()) {
      out.gradients.emplace_back(p.rows, p.cols);
    }
    run(ids, targets, factor, true, out);
    return out;
  }

 private:
  using base::dw;
  using base::in_;
  using base::layer_backward;
  using base::layer_forward;
  using base::linear;
  using base::linear_backward;
  using base::norm_backward;
  using base::note;
  using base::out_;
  using base::prefix_;
  using base::shape_;
  using base::w;
  using base::weights;
  using typename base::layer_cache;
  using typename base::normalized;
  using typename base::operand;

  /// The last norm, the head and its loss: of the model, or of a module.
  struct end_cache {
    halves x;
    normalized norm;
    operand head_x;
    halves dlogits;
  };
  struct module_cache {
    halves next;
    normalized norm_h, norm_next;
    operand joined;
    layer_cache layer;
    end_cache end;
  };

  void run(const indices& ids, const indices& targets, std::uint32_t factor,
           bool backward, pass_outputs<Ops>& out) {
    out_ = &out;
    halves x = Ops::embed(w(parameter_list::embedding), ids);
    note("x", x);
    std::vector<layer_cache> caches;
    out.experts.resize(static_cast<std::size_t>(shape_.all_layers()));
    for (std::ptrdiff_t l = 0; l < shape_.layers; ++l) {
      prefix_ = "layer" + std::to_string(l) + ".";
      layer_cache c = layer_forward(l, x);
      if (backward) caches.push_back(std::move(c));
    }
    prefix_.clear();
    const end_cache end =
        end_forward(std::move(x), targets, factor, backward, out.losses);
    if (!backward) return;
    halves dx = end_backward(end);
    note("dx", dx);
    halves d_next;
    if (shape_.mtp > 0) {
      prefix_ = "mtp.";
      const module_cache m =
          module_forward(end.x, targets, factor, out.mtp_losses);
      d_next = module_backward(m, end.x, dx);
    }
    for (std::ptrdiff_t l = shape_.layers; l-- > 0;) {
      prefix_ = "layer" + std::to_string(l) + ".";
      dx = layer_backward(l, caches.back(), dx);
      caches.pop_back();
    }
    prefix_.clear();
    Ops::embed_backward(ids, dx.view(), dw(parameter_list::embedding));
    if (shape_.mtp > 0) {
      added_to({parameter_list::embedding}, [&] {
        Ops::embed_backward(targets, d_next.view(),
                            dw(parameter_list::embedding));
      });
    }
    for (std::size_t i = 0; i < out.gradients.size(); ++i) {
      note("gradient." + in_.parameters.all()[i].name, out.gradients[i]);
    }
  }

  /// make() writes gradients of parameters that have some already: the sum of
  /// both stays.
  template <class Make>
  void added_to(const std::vector<std::size_t>& which, const Make& make) {
    std::vector<words> before;
    for (const std::size_t i : which) {
      const parameter& p = in_.parameters.all()[i];
      before.push_back(std::move(out_->gradients[i]));
      out_->gradients[i] = words(p.rows, p.cols);
    }
    make();
    for (std::size_t k = 0; k < which.size(); ++k) {
      words& gradient = out_->gradients[which[k]];
      Ops::add_shards({&before[k], &gradient});
      gradient = std::move(before[k]);
    }
  }

  end_cache end_forward(halves x, const indices& targets, std::uint32_t factor,
                        bool backward, words& losses) {
    const linear_rule& rule = in_.how.head;
    end_cache c;
    c.x = std::move(x);
    c.norm = Ops::rms_norm(c.x.view(), w(in_.parameters.last_norm()));
    c.head_x = Ops::store(rule.x, c.norm.y.view(), c.norm.y);
    auto logits = words::unwritten(c.x.rows, shape_.vocabulary);
    Ops::product(rule.fprop, c.head_x, weights(rule.w, in_.parameters.head()),
                 logits.view());
    note("logits", logits);
    losses = words::unwritten(c.x.rows, 1);
    if (backward) c.dlogits = halves::unwritten(c.x.rows, shape_.vocabulary);
    Ops::cross_entropy(logits, targets, factor, losses, c.dlogits);
    note("losses", losses);
    return c;
  }

  halves end_backward(const end_cache& c) {
    const linear_rule& rule = in_.how.head;
    note("dlogits", c.dlogits);
    const halves d =
        linear_backward(rule, in_.parameters.head(), c.dlogits.view(),
                        Ops::transpose(rule.x, c.head_x));
    return norm_backward(c.x, in_.parameters.last_norm(), c.norm, d, nullptr);
  }

  /// N31 at depth 1: it reads the targets and predicts those after them.
  module_cache module_forward(const halves& h, const indices& targets,
                              std::uint32_t factor, words& losses) {
    const module_parameters& p = in_.parameters.module();
    const linear_rule& rule = in_.how.linear;
    const std::ptrdiff_t tokens = h.rows;
    const index_tensor ids = Ops::on_host(targets);
    index_tensor inputs(tokens, 1);
    index_tensor predictions(tokens, 1);
    mtp_tokens(
        {ids.view(), shape_.length, 1, inputs.view(), predictions.view()});
    module_cache c;
    c.next = Ops::embed(w(parameter_list::embedding), targets);
    c.norm_h = Ops::rms_norm(h.view(), w(p.norm_h));
    c.norm_next = Ops::rms_norm(c.next.view(), w(p.norm_next));
    auto joined = halves::unwritten(tokens, 2 * shape_.width);
    Ops::copy(c.norm_h.y.view(),
              joined.view().block(0, 0, tokens, shape_.width));
    Ops::copy(c.norm_next.y.view(),
              joined.view().block(0, shape_.width, tokens, shape_.width));
    note("joined", joined);
    c.joined = Ops::store(rule.x, joined.view(), joined);
    halves x = linear(rule, p.project, c.joined);
    note("project", x);
    c.layer = layer_forward(shape_.layers, x);
    c.end = end_forward(
        std::move(x), Ops::from_host(std::move(predictions)),
        static_cast<std::uint32_t>(multiply(fp32, mtp_weight, factor)), true,
        losses);
    return c;
  }

  /// Adds to dx, the gradient of h by the model; returns that of the
  /// embeddings.
  halves module_backward(const module_cache& c, const halves& h, halves& dx) {
    const module_parameters& p = in_.parameters.module();
    const linear_rule& rule = in_.how.linear;
    halves d;
    added_to({in_.parameters.last_norm(), in_.parameters.head()},
             [&] { d = end_backward(c.end); });
    d = layer_backward(shape_.layers, c.layer, d);
    const halves d_joined = linear_backward(rule, p.project, d.view(),
                                            Ops::transpose(rule.x, c.joined));
    note("d_joined", d_joined);
    const auto half = [&](std::ptrdiff_t at) {
      return Ops::columns(d_joined.view(), at, shape_.width);
    };
    dx = norm_backward(h, p.norm_h, c.norm_h, half(0), &dx);
    note("d_h", dx);
    return norm_backward(c.next, p.norm_next, c.norm_next, half(shape_.width),
                         nullptr);
  }
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_STEP_HPP_
