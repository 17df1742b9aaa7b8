// Holds SwiGLU and RMSNorm over matrices against the oracle: values, and what
// is quantized of them, in every placement.

#include <fmt/format.h>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/checks/training/training_parts.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;

codes_in view_of(const grid& g) { return {g.words.data(), g.rows, g.cols}; }
codes_out view_of(grid& g) { return {g.words.data(), g.rows, g.cols}; }

/// Words in a guarded buffer.
using guarded = placed<std::uint32_t>;
constexpr std::uint32_t guard = 0x5ca1e5ca;

/// A quantized matrix to be written, guarded.
struct guarded_quantized {
  guarded codes;
  guarded scales;

  guarded_quantized(const quantizer& q, placement how, std::ptrdiff_t m,
                    std::ptrdiff_t n)
      : codes(how, m, n, guard),
        scales(how, oracle::groups_along(m, q.group.rows),
               oracle::groups_along(n, q.group.cols), guard) {}
  quantized_out view() { return {codes.view(), scales.view()}; }
  bool guards_hold() const {
    return codes.guards_hold() && scales.guards_hold();
  }
};

/// Numbers for activations and gradients: of moderate size more often than not.
grid any_activations(format f, std::ptrdiff_t m, std::ptrdiff_t n,
                     counter_rng& rng) {
  const auto family = rng.one_in(3)
                          ? static_cast<matrix_family>(rng.below(family_count))
                          : matrix_family::normal;
  return make_matrix(family, f, m, n, counter_rng(rng.next(), 0));
}

/// Most often what kernels fuse: groups of 1x128, and BF16.
quantizer any_quantizer(const format& from, counter_rng& rng) {
  static constexpr group_shape groups[] = {{1, 128}, {1, 128}, {1, 128},
                                           {1, 32},  {128, 1}, {0, 0}};
  const format targets[] = {e4m3, e5m2, e5m6};
  // The exact one and those of the training kernels.
  static constexpr std::size_t conventions[] = {0, 1, 3, 5, 8};
  return {from, targets[rng.below(3)],
          named_conventions[conventions[rng.below(5)]].value,
          rng.one_in(2) ? scale_kind::float32 : scale_kind::pow2,
          groups[rng.below(6)]};
}

format any_between(counter_rng& rng) { return rng.one_in(4) ? fp32 : bf16; }

/// Counts every code and scale that is not what the oracle makes of `values`.
template <class Describe>
void count_quantized(verdict& v, const quantizer& q, const grid& values,
                     const guarded_quantized& got, const char* what,
                     Describe describe) {
  const auto want = oracle::quantize(q, values);
  compare(v, got.codes.read(), want.codes, what, describe);
  compare(v, got.scales.read(), want.scales, what, describe);
  v.count(got.guards_hold(),
          [&] { return describe() + ": wrote beside " + what; });
}

template <class Describe>
void count_values(verdict& v, const guarded& got, const grid& want,
                  const char* what, Describe describe) {
  compare(v, got.read(), want, what, describe);
  v.count(got.guards_hold(),
          [&] { return describe() + ": wrote beside " + what; });
}

template <class Run>
verdict for_cases(const effort& e, std::uint64_t at_0, Run run) {
  verdict v;
  const std::uint64_t count = at_0 << (e.level > 0 ? 4 * e.level : 0);
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    run(rng, v);
    if (e.stop_early && v.failures > 0) break;
  }
  return v;
}

}  // namespace

verdict swiglu_forward_checks(const training_functions& t, const effort& e) {
  return for_cases(e, 60, [&](counter_rng& rng, verdict& v) {
    const auto [m, n] = any_shape(rng, 2000);
    const format from = any_between(rng);
    const swiglu_layer layer{any_quantizer(from, rng),
                             any_quantizer(any_between(rng), rng)};
    const grid g = any_activations(from, m, n, rng);
    const grid u = any_activations(from, m, n, rng);
    grid h(m, n);
    oracle_implementation().swiglu_forward(layer, view_of(g), view_of(u),
                                           view_of(h), {}, {}, {});
    const placement in = any_placement(rng);
    const placement out = any_placement(rng);
    guarded in_g(in, m, n, guard), in_u(in, m, n, guard);
    in_g.load(g);
    in_u.load(u);
    guarded values(out, m, n, guard);
    guarded_quantized to_h(layer.out, out, m, n);
    guarded_quantized to_g(layer.cache, in, m, n), to_u(layer.cache, out, m, n);
    t.swiglu_forward(layer, in_g.input(), in_u.input(), values.view(),
                     to_h.view(), to_g.view(), to_u.view());
    const auto describe = [&, m = m, n = n] {
      return fmt::format("{}: swiglu_forward of {} x {}", t.name, m, n);
    };
    count_values(v, values, h, "h ", describe);
    count_quantized(v, layer.out, h, to_h, "quantized h ", describe);
    count_quantized(v, layer.cache, g, to_g, "cached g ", describe);
    count_quantized(v, layer.cache, u, to_u, "cached u ", describe);
  });
}

verdict swiglu_backward_checks(const training_functions& t, const effort& e) {
  return for_cases(e, 60, [&](counter_rng& rng, verdict& v) {
    const auto [m, n] = any_shape(rng, 2000);
    const format from = any_between(rng);
    const format input = any_between(rng);
    const swiglu_layer layer{any_quantizer(input, rng),
                             any_quantizer(any_between(rng), rng)};
    const auto g =
        oracle::quantize(layer.cache, any_activations(input, m, n, rng));
    const auto u =
        oracle::quantize(layer.cache, any_activations(input, m, n, rng));
    const grid dh = any_activations(from, m, n, rng);
    grid h(m, n), dg(m, n), du(m, n);
    oracle_implementation().swiglu_backward(
        layer, from, view_of(dh), {view_of(g.codes), view_of(g.scales)},
        {view_of(u.codes), view_of(u.scales)}, view_of(h), view_of(dg),
        view_of(du), {}, {});
    const placement in = any_placement(rng);
    const placement out = any_placement(rng);
    const auto load = [](guarded& to, const grid& x) {
      to.load(x);
      return to.input();
    };
    guarded in_dh(in, m, n, guard);
    guarded_quantized in_g(layer.cache, out, m, n);
    guarded_quantized in_u(layer.cache, in, m, n);
    guarded to_h(out, m, n, guard), to_dg(in, m, n, guard),
        to_du(out, m, n, guard);
    guarded_quantized q_dg(layer.out, out, m, n), q_du(layer.out, in, m, n);
    t.swiglu_backward(layer, from, load(in_dh, dh),
                      {load(in_g.codes, g.codes), load(in_g.scales, g.scales)},
                      {load(in_u.codes, u.codes), load(in_u.scales, u.scales)},
                      to_h.view(), to_dg.view(), to_du.view(), q_dg.view(),
                      q_du.view());
    const auto describe = [&, m = m, n = n] {
      return fmt::format("{}: swiglu_backward of {} x {}", t.name, m, n);
    };
    count_values(v, to_h, h, "h ", describe);
    count_values(v, to_dg, dg, "dg ", describe);
    count_values(v, to_du, du, "du ", describe);
    count_quantized(v, layer.out, dg, q_dg, "quantized dg ", describe);
    count_quantized(v, layer.out, du, q_du, "quantized du ", describe);
  });
}

verdict rms_norm_checks(const training_functions& t, const effort& e) {
  return for_cases(e, 60, [&](counter_rng& rng, verdict& v) {
    // Lanes begin every 8 elements, and again every 2048.
    static constexpr int lengths[] = {1,    7,    8,    9,    17,   128, 1000,
                                      2047, 2048, 2049, 2056, 4097, 5000};
    const int n = lengths[rng.below(std::size(lengths))];
    const int m = rng.between(0, 3);
    const rms_layer layer{any_between(rng), any_between(rng),
                          rng.one_in(4) ? 0u : 0x358637bdu,
                          any_quantizer(any_between(rng), rng)};
    const grid x = any_activations(layer.from, m, n, rng);
    const grid w = any_activations(layer.weight, 1, n, rng);
    grid y(m, n), rstd(m, 1);
    oracle_implementation().rms_norm(layer, view_of(x), view_of(w), view_of(y),
                                     view_of(rstd), {});
    const placement in = any_placement(rng);
    const placement out = any_placement(rng);
    guarded in_x(in, m, n, guard), in_w(out, 1, n, guard);
    in_x.load(x);
    in_w.load(w);
    guarded to_y(out, m, n, guard), to_rstd(in, m, 1, guard);
    guarded_quantized quantized(layer.out, in, m, n);
    t.rms_norm(layer, in_x.input(), in_w.input(), to_y.view(), to_rstd.view(),
               quantized.view());
    const auto describe = [&] {
      return fmt::format("{}: rms_norm of {} x {}", t.name, m, n);
    };
    count_values(v, to_rstd, rstd, "rstd ", describe);
    count_values(v, to_y, y, "y ", describe);
    count_quantized(v, layer.out, y, quantized, "quantized y ", describe);
  });
}

}  // namespace zeroulp::conformance
