// The table of a step's tensors, read off its arm.

#include <fmt/format.h>

#include "zeroulp/model_arm.hpp"

namespace zeroulp {
namespace {

storage with_scale(storage s, scale_kind kind) {
  s.scale = kind;
  return s;
}

/// X^T of a Linear for Wgrad, from what is kept.
storage transposed(const storage& kept, const storage& x) {
  if (kept.columnwise) return kept;
  const group_shape tile{1, 128};
  const bool retiled =
      kept.scaled && x.scaled && kept.group == tile && x.group == tile;
  return retiled ? with_scale(x, kept.scale) : x;
}

std::string text_of(const sum_rule& s) {
  std::string text = s.acc == hopper_fp8_f32    ? "FP8 sums"
                     : s.acc == hopper_half_f32 ? "BF16 sums"
                                                : name_of(s.acc);
  if (s.interval > 0) {
    text += fmt::format(", promoted every {}", s.interval);
  } else if (!(s.acc == hopper_half_f32)) {
    text += ", unpromoted";
  }
  if (s.splits > 1) text += fmt::format(", K in {} ranges", s.splits);
  return text;
}

}  // namespace

std::vector<tensor_row> tensor_table(const arm& a) {
  std::vector<tensor_row> rows;
  const auto add = [&rows](const char* tensor, storage how,
                           const std::string& from, const std::string& by) {
    how.columnwise = false;
    rows.push_back({tensor, how, from, by});
  };
  const auto plain = detail::unscaled;
  const linear_rule& l = a.linear;
  const std::string fprop = "Fprop: " + text_of(l.fprop);
  const std::string dgrad = "Dgrad: " + text_of(l.dgrad);
  const std::string wgrad = "Wgrad: " + text_of(l.wgrad);
  const storage dispatched = with_scale(l.x, a.dispatched);
  const storage combined = with_scale(l.dy, a.dispatched);
  add("weights", plain(fp32), "AdamW", "operands, norms, router");
  add("moments", plain(bf16), "AdamW", "AdamW");
  add("W", l.w, "weights", l.w.columnwise ? fprop : fprop + "; " + dgrad);
  if (l.w.columnwise) add("W^T", l.w, "weights, transposed", dgrad);
  add("X", l.x, "norms' output in BF16", fprop);
  add("X^T", transposed(l.x, l.x),
      l.x.columnwise ? "norms' output in BF16, transposed" : "X, transposed",
      wgrad);
  add("X of experts' up", dispatched, "norm's output, dispatched", fprop);
  add("X^T of experts' up", transposed(dispatched, l.x),
      l.x.columnwise ? "norm's output, dispatched, transposed"
                     : "X of experts' up, transposed",
      wgrad);
  add("activations", plain(bf16), "Fprop, norms, attention",
      "the next operator");
  add("q, k, v", plain(bf16), "projections, rope", "attention, both passes");
  add("attention's output", l.x, "attention", fprop);
  add("attention's output, kept", a.attention_cache, "attention",
      "Wgrad, attention backward");
  add("attention's output^T", transposed(a.attention_cache, l.x),
      "what is kept, transposed", wgrad);
  add("SwiGLU's inputs, kept", a.swiglu_cache, "up", "SwiGLU backward");
  add("SwiGLU's output", l.x, "SwiGLU", fprop);
  add("SwiGLU's output^T", l.x, "SwiGLU again, from what is kept", wgrad);
  add("dY", l.dy, "gradients in BF16", dgrad);
  add("dY^T", l.dy, "gradients in BF16, transposed", wgrad);
  add("dY of experts' down", combined, "gradients through the slots", dgrad);
  add("dY^T of experts' down", combined, "the same, transposed", wgrad);
  add("router's weights", plain(fp32), "weights", "sequential FP32 sums");
  add("head's operands", a.head.x, "last norm, weights",
      "Fprop, Dgrad, Wgrad: " + text_of(a.head.fprop));
  add("logits", plain(fp32), "head", "cross entropy");
  add("gradients of weights", plain(fp32), "Wgrad", "norm, AdamW");
  return rows;
}

}  // namespace zeroulp
