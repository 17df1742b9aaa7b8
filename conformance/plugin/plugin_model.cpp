// A plug-in's operators of a model's step: RMSNorm's backward pass, the router
// and attention. Requests are never padded: sums depend on their length.

#include <fmt/format.h>

#include "conformance/plugin/requests.hpp"

namespace zeroulp::conformance::plugin {
namespace {

using code_in = matrix_view<const std::uint16_t>;
using code_out = matrix_view<std::uint16_t>;

/// An input as it is; no data: none.
template <class T>
argument given(const claim& c, matrix_view<const T> x) {
  if (x.data == nullptr) return {};
  argument a{oracle::grid(x.rows, x.cols), sizeof(T), place_of(c, x)};
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      a.words(i, j) = static_cast<std::uint32_t>(x(i, j));
    }
  }
  return a;
}

template <class T>
argument wanted(const claim& c, matrix_view<T> x) {
  if (x.data == nullptr) return {};
  return output(x.rows, x.cols, sizeof(T), place_of(c, x));
}

template <class T>
void take(const argument& from, matrix_view<T> to) {
  if (to.data == nullptr) return;
  for (std::ptrdiff_t i = 0; i < to.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < to.cols; ++j) {
      to(i, j) = static_cast<T>(from.words(i, j));
    }
  }
}

bool ask_norm(const rms_norm_gradients& t) {
  const auto m = t.x.rows;
  const auto n = t.x.cols;
  const claim* const c = active().claim_of(kind::rms_norm_backward, {}, m, n);
  // A request has both outputs.
  if (c == nullptr || !fits(*c, m, n, 1) || t.dx.data == nullptr ||
      t.dw.data == nullptr) {
    return false;
  }
  request r{{},
            {given(*c, t.dy), given(*c, t.x), given(*c, t.w), given(*c, t.rstd),
             given(*c, t.residual), wanted(*c, t.dx), wanted(*c, t.dw)}};
  if (!active().call(*c, r)) return false;
  take(r.matrices[5], t.dx);
  take(r.matrices[6], t.dw);
  return true;
}

void norm(const rms_norm_gradients& t) {
  if (!ask_norm(t)) core().model.rms_norm_backward(t);
}

/// The claim that covers a request of this router, or null.
const claim* claim_of(kind k, const router& r, std::ptrdiff_t m,
                      std::ptrdiff_t n) {
  fuzz::settings s;
  s.route = r;
  const claim* const c = active().claim_of(k, s, m, n);
  return c != nullptr && fits(*c, m, n, r.top) ? c : nullptr;
}

std::vector<std::string> fields_of(const router& r) {
  return {r.score == router_score::sigmoid ? "sigmoid" : "softmax",
          r.of_group == group_score::max ? "max" : "top2_sum",
          whole(r.top),
          whole(r.groups),
          whole(r.kept),
          whole(r.normalized ? 1 : 0),
          whole(std::int64_t{r.scale})};
}

bool ask_route(const router& r, const routing& t) {
  const claim* const c = claim_of(kind::route, r, t.logits.rows, t.logits.cols);
  if (c == nullptr) return false;
  request q{fields_of(r),
            {given(*c, t.logits), given(*c, t.bias), wanted(*c, t.scores),
             wanted(*c, t.experts), wanted(*c, t.weights)}};
  if (!active().call(*c, q)) return false;
  take(q.matrices[2], t.scores);
  take(q.matrices[3], t.experts);
  take(q.matrices[4], t.weights);
  return true;
}

void route_of_plugin(const router& r, const routing& t) {
  if (!ask_route(r, t)) core().model.route(r, t);
}

bool ask_route_backward(const router& r, const routing_gradients& t) {
  const claim* const c =
      claim_of(kind::route_backward, r, t.scores.rows, t.scores.cols);
  if (c == nullptr) return false;
  request q{fields_of(r),
            {given(*c, t.scores), given(*c, t.experts), given(*c, t.dweights),
             wanted(*c, t.dlogits)}};
  if (!active().call(*c, q)) return false;
  take(q.matrices[3], t.dlogits);
  return true;
}

void route_backward_of_plugin(const router& r, const routing_gradients& t) {
  if (!ask_route_backward(r, t)) core().model.route_backward(r, t);
}

/// The claim that covers attention of this shape, or null.
const claim* claim_of(kind k, const attention_shape& s,
                      const engine::attention_inputs& t) {
  fuzz::settings with;
  with.heads = static_cast<std::int32_t>(s.heads);
  with.length = static_cast<std::int32_t>(s.length);
  const claim* c = active().claim_of(k, with, t.q.rows, t.q.cols);
  if (c == nullptr && s.length == t.q.rows) {  // a sequence of all tokens
    with.length = 0;
    c = active().claim_of(k, with, t.q.rows, t.q.cols);
  }
  return c != nullptr && fits(*c, t.q.rows, t.q.cols, t.v.cols) ? c : nullptr;
}

std::vector<std::string> fields_of(const attention_shape& s) {
  return {whole(s.length), whole(s.heads), whole(std::int64_t{s.scale})};
}

bool ask_forward(const attention_shape& s, const engine::attention_inputs& t,
                 code_out o, codes_out largest, codes_out inverse) {
  const claim* const c = claim_of(kind::attention_forward, s, t);
  if (c == nullptr) return false;
  request r{fields_of(s),
            {given(*c, t.q), given(*c, t.k), given(*c, t.v), wanted(*c, o),
             wanted(*c, largest), wanted(*c, inverse)}};
  if (!active().call(*c, r)) return false;
  take(r.matrices[3], o);
  take(r.matrices[4], largest);
  take(r.matrices[5], inverse);
  return true;
}

void forward(const attention_shape& s, const engine::attention_inputs& t,
             code_out o, codes_out largest, codes_out inverse) {
  if (!ask_forward(s, t, o, largest, inverse)) {
    core().model.attention_forward(s, t, o, largest, inverse);
  }
}

bool ask_backward(const attention_shape& s, const engine::attention_inputs& t,
                  const engine::attention_kept& kept, code_in d_o,
                  const engine::attention_gradients_out& out) {
  const claim* const c = claim_of(kind::attention_backward, s, t);
  if (c == nullptr) return false;
  request r{fields_of(s),
            {given(*c, t.q), given(*c, t.k), given(*c, t.v), given(*c, kept.o),
             given(*c, kept.largest), given(*c, kept.inverse), given(*c, d_o),
             wanted(*c, out.dq), wanted(*c, out.dk), wanted(*c, out.dv)}};
  if (!active().call(*c, r)) return false;
  take(r.matrices[7], out.dq);
  take(r.matrices[8], out.dk);
  take(r.matrices[9], out.dv);
  return true;
}

void backward(const attention_shape& s, const engine::attention_inputs& t,
              const engine::attention_kept& kept, code_in d_o,
              const engine::attention_gradients_out& out) {
  if (!ask_backward(s, t, kept, d_o, out)) {
    core().model.attention_backward(s, t, kept, d_o, out);
  }
}

}  // namespace

model_operators operators_of_plugin() {
  return {norm, route_of_plugin, route_backward_of_plugin, forward, backward};
}

}  // namespace zeroulp::conformance::plugin
