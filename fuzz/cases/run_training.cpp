// Calls of an implementation for the training targets; the others: run.cpp.

#include <algorithm>

#include "fuzz/cases/run_buffer.hpp"
#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::codes_in;
using conformance::quantized_in;
using conformance::quantized_out;

/// Codes and scales that an implementation writes, and reads again.
class quantized_buffer {
 public:
  quantized_buffer(const quantizer& q, placement how, std::ptrdiff_t m,
                   std::ptrdiff_t n)
      : to_(q.to),
        codes_(how, m, n),
        scales_(how, ceil_div(m, q.group.height(m)),
                ceil_div(n, q.group.width(n))) {}
  quantized_out view() { return {codes_.view(), scales_.view()}; }
  quantized_in input() const { return {codes_.input(), scales_.input()}; }
  bool holds() const { return codes_.holds() && scales_.holds(); }
  void read(outputs& out, const char* scales, const char* codes) {
    out.push_back(scales_.read(scales, fp32));
    out.push_back(codes_.read(codes, to_));
  }

 private:
  format to_;
  buffer<> codes_;
  buffer<> scales_;
};

/// The rows that words select among `count`; -1: none.
std::vector<std::int32_t> rows_of(const matrix& words, std::ptrdiff_t count) {
  std::vector<std::int32_t> rows;
  for (const auto word : words.words) {
    const bool any = word > 0 && count > 0;
    const auto at = static_cast<std::ptrdiff_t>(word) - 1;
    rows.push_back(any ? static_cast<std::int32_t>(at % count) : -1);
  }
  return rows;
}

}  // namespace

outputs run_swiglu(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const swiglu_layer layer{
      {s.from, s.to, s.how.value, s.scale, s.group},
      {s.value, s.out_to, s.how.value, s.out_scale, s.group}};
  const auto m = p.in[0].rows;
  const auto n = p.in[0].cols;
  const buffer g(s.place, p.in[0]);
  const buffer u(s.place, p.in[1]);
  const buffer dh(s.place, p.in[2]);
  buffer h(s.place, m, n);
  buffer again(s.place, m, n);
  buffer dg(s.place, m, n);
  buffer du(s.place, m, n);
  quantized_buffer h_out(layer.out, s.place, m, n);
  quantized_buffer g_cache(layer.cache, s.place, m, n);
  quantized_buffer u_cache(layer.cache, s.place, m, n);
  quantized_buffer dg_out(layer.out, s.place, m, n);
  quantized_buffer du_out(layer.out, s.place, m, n);
  i.swiglu_forward(layer, g.input(), u.input(), h.view(), h_out.view(),
                   g_cache.view(), u_cache.view());
  i.swiglu_backward(layer, s.gradient, dh.input(), g_cache.input(),
                    u_cache.input(), again.view(), dg.view(), du.view(),
                    dg_out.view(), du_out.view());
  outputs out{h.read("h", s.value)};
  h_out.read(out, "h_scales", "h_codes");
  g_cache.read(out, "g_scales", "g_codes");
  u_cache.read(out, "u_scales", "u_codes");
  out.push_back(again.read("h_again", s.value));
  out.push_back(dg.read("dg", s.value));
  out.push_back(du.read("du", s.value));
  dg_out.read(out, "dg_scales", "dg_codes");
  du_out.read(out, "du_scales", "du_codes");
  out.push_back(guards(h.holds() && again.holds() && dg.holds() && du.holds() &&
                       h_out.holds() && g_cache.holds() && u_cache.holds() &&
                       dg_out.holds() && du_out.holds()));
  return out;
}

outputs run_rms_norm(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const auto eps = static_cast<std::uint32_t>(p.in[2].words[0]);
  const rms_layer layer{
      s.from, s.weight, eps, {s.value, s.to, s.how.value, s.scale, s.group}};
  const auto m = p.in[0].rows;
  const auto n = p.in[0].cols;
  const buffer x(s.place, p.in[0]);
  const buffer w(s.place, p.in[1]);
  buffer y(s.place, m, n);
  buffer rstd(s.place, m, 1);
  quantized_buffer to(layer.out, s.place, m, n);
  i.rms_norm(layer, x.input(), w.input(), y.view(), rstd.view(), to.view());
  outputs out{rstd.read("rstd", fp32), y.read("y", s.value)};
  to.read(out, "scales", "codes");
  out.push_back(guards(y.holds() && rstd.holds() && to.holds()));
  return out;
}

outputs run_adamw(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const adamw_step step{factors_in(p), s.from,        s.to,
                        s.round.mode,  s.random_seed, s.first_index};
  const buffer g(s.place, p.in[0]);
  buffer m(s.place, p.in[1]);
  buffer v(s.place, p.in[2]);
  buffer w(s.place, p.in[3]);
  buffer copy(s.place, p.in[0].rows, p.in[0].cols);
  i.adamw(step, g.input(), m.view(), v.view(), w.view(), copy.view());
  return {m.read("m", s.to), v.read("v", s.to), w.read("w", fp32),
          copy.read("copy", bf16),
          guards(m.holds() && v.holds() && w.holds() && copy.holds())};
}

outputs run_dispatch(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const quantizer q{s.from, s.to, s.how.value, s.scale, s.group};
  const matrix& x = p.in[0];
  const auto rows = rows_of(p.in[1], x.rows);
  const auto count = static_cast<std::ptrdiff_t>(rows.size());
  const buffer in(s.place, x);
  quantized_buffer to(q, s.place, count, x.cols);
  i.dispatch(q, in.input(), {rows.data(), count, 1}, to.view().codes,
             to.view().scales);
  outputs out;
  to.read(out, "scales", "codes");
  out.push_back(guards(to.holds()));
  return out;
}

outputs run_combine(const implementation& i, const problem& p) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  const matrix& words = p.in[1];
  const auto slots = rows_of(words, x.rows);
  const bool pair = s.sum == combine_rule::bf16_pair;
  // A pair adds the first two slots alone.
  const auto taken =
      pair ? std::min<std::ptrdiff_t>(words.cols, 2) : words.cols;
  const buffer in(s.place, x);
  buffer out(s.place, words.rows, x.cols);
  const matrix& by = pair ? matrix() : p.in[2];
  const buffer weights(s.place, by);
  i.combine(s.sum, in.input(), {slots.data(), words.rows, taken, words.cols, 1},
            by.rows > 0 ? weights.input() : codes_in{}, out.view());
  return {out.read("sums", bf16), guards(out.holds())};
}

}  // namespace zeroulp::fuzz
