// Calls of an implementation for the targets of a model's step.

#include <algorithm>

#include "fuzz/cases/run_buffer.hpp"

namespace zeroulp::fuzz {
namespace {

using bf16_buffer = buffer<std::uint16_t>;

/// An optional operand, or no data.
template <class T>
matrix_view<const T> if_any(const matrix& x, const buffer<T>& in) {
  return x.rows > 0 ? in.input() : matrix_view<const T>{};
}

}  // namespace

router router_of(const problem& p) {
  router r = p.with.route;
  const std::ptrdiff_t experts = p.in[0].cols;
  if (experts % r.groups != 0) r.groups = 1;
  r.kept = std::min(r.kept, r.groups);
  r.top =
      std::clamp<std::ptrdiff_t>(p.in[2].cols, 1, experts / r.groups * r.kept);
  return r;
}

attention_shape attention_of(const problem& p) {
  const auto rows = p.in[0].rows;
  const auto depths = p.in[0].cols;
  const auto values = p.in[2].cols;
  const bool whole = depths % p.with.heads == 0 && values % p.with.heads == 0;
  const std::ptrdiff_t heads = whole ? p.with.heads : 1;
  const std::ptrdiff_t given = p.with.length;
  const auto scale = static_cast<std::uint32_t>(p.in[4].words[0]);
  attention_shape s{given > 0 && rows % given == 0 ? given : rows, heads,
                    depths / heads, values / heads, scale};
  if (scale == 0 || scale >= 0x7f800000) s.scale = attention_scale(s.depth);
  return s;
}

outputs run_rms_norm_backward(const implementation& i, const problem& p) {
  const placement at = p.with.place;
  const auto m = p.in[1].rows;
  const auto n = p.in[1].cols;
  const bf16_buffer dy(at, p.in[0]);
  const bf16_buffer x(at, p.in[1]);
  const buffer w(at, p.in[2]);
  const buffer rstd(at, p.in[3]);
  const bf16_buffer residual(at, p.in[4]);
  bf16_buffer dx(at, m, n);
  buffer dw(at, 1, n);
  i.model.rms_norm_backward({dy.input(), x.input(), w.input(), rstd.input(),
                             if_any(p.in[4], residual), dx.view(), dw.view()});
  return {dx.read("dx", bf16), dw.read("dw", fp32),
          guards(dx.holds() && dw.holds())};
}

outputs run_route(const implementation& i, const problem& p) {
  const placement at = p.with.place;
  const auto m = p.in[0].rows;
  const auto n = p.in[0].cols;
  if (n == 0) {
    return {matrix("scores", fp32, 0, 0), matrix("experts", integer, 0, 0),
            matrix("weights", fp32, 0, 0), matrix("dlogits", fp32, 0, 0),
            guards(true)};
  }
  const router r = router_of(p);
  // Slots beyond those that there are have no gradient; those without are 0.
  matrix given("dweights", fp32, m, r.top);
  for (std::ptrdiff_t t = 0; t < m; ++t) {
    for (std::ptrdiff_t k = 0; k < std::min(r.top, p.in[2].cols); ++k) {
      given(t, k) = p.in[2](t, k);
    }
  }
  const buffer logits(at, p.in[0]);
  const buffer bias(at, p.in[1]);
  const buffer dweights(at, given);
  buffer scores(at, m, n);
  buffer<std::int32_t> experts(at, m, r.top);
  buffer weights(at, m, r.top);
  buffer dlogits(at, m, n);
  i.model.route(r, {logits.input(),
                    if_any(p.in[1], bias),
                    scores.view(),
                    experts.view(),
                    weights.view(),
                    {}});
  matrix chosen = experts.read("experts", integer);
  // Wrong experts may be none at all.
  std::vector<std::int32_t> valid;
  for (const auto word : chosen.words) {
    valid.push_back(
        static_cast<std::int32_t>(word % static_cast<std::uint64_t>(n)));
  }
  i.model.route_backward(r, {scores.input(),
                             {valid.data(), m, r.top},
                             dweights.input(),
                             dlogits.view()});
  return {scores.read("scores", fp32), std::move(chosen),
          weights.read("weights", fp32), dlogits.read("dlogits", fp32),
          guards(scores.holds() && experts.holds() && weights.holds() &&
                 dlogits.holds())};
}

outputs run_attention(const implementation& i, const problem& p) {
  const placement at = p.with.place;
  const auto m = p.in[0].rows;
  const auto depths = p.in[0].cols;
  const auto values = p.in[2].cols;
  if (m == 0 || depths == 0 || values == 0) {
    return {matrix("largest", fp32, 0, 0),
            matrix("inverse", fp32, 0, 0),
            matrix("o", bf16, 0, 0),
            matrix("dq", bf16, 0, 0),
            matrix("dk", bf16, 0, 0),
            matrix("dv", bf16, 0, 0),
            guards(true)};
  }
  const attention_shape s = attention_of(p);
  const bf16_buffer q(at, p.in[0]);
  const bf16_buffer k(at, p.in[1]);
  const bf16_buffer v(at, p.in[2]);
  const bf16_buffer d_o(at, p.in[3]);
  bf16_buffer o(at, m, values);
  buffer largest(at, m, s.heads);
  buffer inverse(at, m, s.heads);
  bf16_buffer dq(at, m, depths);
  bf16_buffer dk(at, m, depths);
  bf16_buffer dv(at, m, values);
  const engine::attention_inputs tokens{q.input(), k.input(), v.input()};
  i.model.attention_forward(s, tokens, o.view(), largest.view(),
                            inverse.view());
  matrix made = o.read("o", bf16);
  matrix kept("o", fp32, m, values);
  for (std::size_t n = 0; n < kept.words.size(); ++n) {
    kept.words[n] = made.words[n] << 16;
  }
  const buffer decoded(at, kept);
  i.model.attention_backward(
      s, tokens, {decoded.input(), largest.input(), inverse.input()},
      d_o.input(), {dq.view(), dk.view(), dv.view()});
  return {largest.read("largest", fp32),
          inverse.read("inverse", fp32),
          std::move(made),
          dq.read("dq", bf16),
          dk.read("dk", bf16),
          dv.read("dv", bf16),
          guards(o.holds() && largest.holds() && inverse.holds() &&
                 dq.holds() && dk.holds() && dv.holds())};
}

}  // namespace zeroulp::fuzz
