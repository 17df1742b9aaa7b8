// Re-tiling 1 x T -> T x 1, and weights.

#include <fmt/format.h>

#include <cmath>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/retile_oracle.hpp"

namespace zeroulp::conformance {
namespace {

struct retile_case {
  named_format from;
  named_format to;
  named_scale_kind scale;
  int tile;
  named_retile_rule rule;

  retiling value() const {
    return {from.value, to.value, scale.value, tile, rule.value};
  }
  std::string name() const {
    return fmt::format("{} -> {} {} tile {} {}", from.name, to.name, scale.name,
                       tile, rule.name);
  }
};

/// W5, read directly off a result: with power-of-two scales a value is kept iff
/// it is a multiple of the smallest subnormal and within range.
void check_kept(const retile_case& r, double value, double t,
                std::uint32_t code, verdict& v) {
  if (!std::isfinite(value)) return;
  const double ratio = value / t;
  const double quantum = oracle::magnitude_value(r.to.value, 1);
  const double max =
      oracle::magnitude_value(r.to.value, oracle::largest_code(r.to.value));
  const bool keeps = std::fmod(ratio, quantum) == 0 && std::fabs(ratio) <= max;
  const bool kept = oracle::code_value(r.to.value, code) * t == value;
  v.compare(kept, keeps, [&] {
    return fmt::format("retile {}: the value {:a} under scale {:a} is {}kept",
                       r.name(), value, t, kept ? "" : "not ");
  });
}

/// Re-tiles with `i`; counts every code and scale that is not the oracle's.
void check_retiled(const implementation& i, const retile_case& r,
                   const oracle::grid& x, const oracle::grid& s, placement in,
                   placement out, verdict& v) {
  const auto want = oracle::retile(r.value(), x, s);
  placed<std::uint32_t> codes(in, x.rows, x.cols, 0x7b);
  placed<std::uint32_t> scales(in, s.rows, s.cols, 0x7f7fffff);
  placed<std::uint32_t> to(out, x.cols, x.rows, 0xc0dec0de);
  placed<std::uint32_t> to_scales(out, want.scales.rows, want.scales.cols,
                                  0x5ca1e5ca);
  codes.load(x);
  scales.load(s);
  i.retile(r.value(), codes.input(), scales.input(), to.view(),
           to_scales.view());
  const auto describe = [&] {
    return fmt::format("retile {} of {} x {}", r.name(), x.rows, x.cols);
  };
  const auto got_scales = to_scales.read();
  compare(v, got_scales, want.scales, "scale ", describe);
  const auto got = to.read();
  const bool one_format =
      r.scale.value != scale_kind::float32 && r.from.value == r.to.value;
  for (std::ptrdiff_t a = 0; a < got.rows; ++a) {
    for (std::ptrdiff_t b = 0; b < got.cols; ++b) {
      const std::uint32_t scale = s(b, oracle::group_of(a, r.tile));
      v.compare(got(a, b), want.codes(a, b), [&] {
        return fmt::format(
            "{}: code ({}, {}) of code {:#x} under {:#010x} is {:#x}, not "
            "{:#x}",
            describe(), a, b, x(b, a), scale, got(a, b), want.codes(a, b));
      });
      if (one_format) {
        const float t =
            oracle::to_float(want.scales(a, oracle::group_of(b, r.tile)));
        check_kept(r, oracle::retiled_value(r.value(), x(b, a), scale),
                   static_cast<double>(t), got(a, b), v);
      }
    }
  }
  v.count(to.guards_hold() && to_scales.guards_hold(),
          [&] { return describe() + ": wrote outside its matrices"; });
}

/// Every code (of each `step`) under 2^a, and in each column's tile a partner
/// under 2^b that sets the scale of the result.
void check_shift(const implementation& i, const retile_case& r, int a, int b,
                 std::uint32_t step, std::uint32_t partner, verdict& v) {
  const auto count =
      static_cast<std::uint32_t>(2 * oracle::sign_bit(r.from.value));
  const std::ptrdiff_t cols = (count - 1) / step + 1;
  oracle::grid codes(2, cols, partner);
  for (std::ptrdiff_t j = 0; j < cols; ++j) {
    codes(0, j) = static_cast<std::uint32_t>(j) * step;
  }
  oracle::grid scales(2, oracle::groups_along(cols, 2));
  for (std::ptrdiff_t j = 0; j < scales.cols; ++j) {
    scales(0, j) = oracle::to_bits(std::ldexp(1.0f, a));
    scales(1, j) = oracle::to_bits(std::ldexp(1.0f, b));
  }
  check_retiled(i, r, codes, scales, placement::dense, placement::dense, v);
}

verdict every_shift(const implementation& i, const effort& e, const char* from,
                    const char* to, std::uint32_t code_step, int shift_step) {
  verdict v;
  v.exhaustive = code_step == 1 && shift_step == 1;
  const int near = shift_step == 1 ? 0 : 12;
  for (const named_retile_rule& rule : named_retile_rules) {
    retile_case r{format_named(from), format_named(to),
                  row_named(named_scale_kinds, "pow2"), 2, rule};
    const auto max =
        static_cast<std::uint32_t>(oracle::largest_code(r.from.value));
    const int end = 127;
    for (int shift = -2 * end; shift <= 2 * end; ++shift) {
      const bool wanted =
          std::abs(shift) <= near || (shift + 2 * end) % shift_step == 0;
      if (!wanted) continue;
      const int middle = shift / 2;
      check_shift(i, r, middle - shift, middle, code_step, max, v);
      // No partner: the tile's scale is that of the code itself.
      if (shift % 16 == 0) {
        check_shift(i, r, middle - shift, middle, code_step, 0, v);
      }
      if (e.stop_early && v.failures > 0) return v;
    }
  }
  return v;
}

verdict shifts_of_e4m3(const implementation& i, const effort& e) {
  return every_shift(i, e, "e4m3", "e4m3", 1, e.level == 0 ? 7 : 1);
}

verdict shifts_of_e5m6(const implementation& i, const effort& e) {
  return e.level == 0   ? every_shift(i, e, "e5m6", "e5m6", 13, 64)
         : e.level == 1 ? every_shift(i, e, "e5m6", "e5m6", 1, 4)
                        : every_shift(i, e, "e5m6", "e5m6", 1, 1);
}

verdict shifts_to_e4m3(const implementation& i, const effort& e) {
  return e.level == 0 ? every_shift(i, e, "e5m6", "e4m3", 11, 64)
                      : every_shift(i, e, "e5m6", "e4m3", 1, 1);
}

/// Scales of a source: near each other, over the whole range, or what no
/// quantizer gives (zero, Inf, NaN).
void fill_scales(oracle::grid& s, const retile_case& r, counter_rng& rng) {
  const bool pow2 = r.scale.value != scale_kind::float32;
  const std::uint32_t mode = rng.below(4);
  const bool tiny = !pow2 && rng.one_in(8);
  const auto base = 100 + rng.below(50);
  for (auto& word : s.words) {
    const std::uint32_t e = mode == 0   ? base + rng.below(4)
                            : mode == 1 ? base - rng.below(20)
                                        : 1 + rng.below(254);
    word = e << 23 | (pow2 ? 0 : rng.below(0x00800000));
    if (tiny) word = rng.below(64);
    if (mode == 3) {
      if (rng.one_in(8)) word = pow2 ? 0x00400000 : rng.below(0x01000000);
      if (rng.one_in(8)) word = 0x7f000000;
      if (rng.one_in(16)) word = rng.one_in(2) ? 0 : 0x7f800000;
      if (rng.one_in(16)) word = 0x7fffffff;
      if (rng.one_in(16)) word |= 1;  // no power of two
    }
  }
}

verdict retiled_matrices(const implementation& i, const effort& e) {
  verdict v;
  static constexpr const char* pairs[][2] = {
      {"e4m3", "e4m3"}, {"e5m6", "e4m3"}, {"e5m6", "e5m6"}, {"e4m3", "e5m6"},
      {"e5m2", "e4m3"}, {"e4m3", "e5m2"}, {"e2m1", "e4m3"}, {"e3m2", "e5m6"}};
  static constexpr int tiles[] = {128, 32, 0, 1, 3, 5};
  const std::uint64_t count = e.level == 0   ? 500
                              : e.level == 1 ? 2'000
                                             : 60'000;
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    const auto& pair = pairs[rng.below(rng.one_in(2) ? 3 : std::size(pairs))];
    const retile_case r{format_named(pair[0]), format_named(pair[1]),
                        named_scale_kinds[rng.one_in(2) ? 1 : rng.below(5)],
                        tiles[n % std::size(tiles)],
                        named_retile_rules[rng.below(2)]};
    const auto shape = any_shape(rng, e.level == 0 ? 2'000 : 20'000);
    const auto family =
        rng.one_in(2) ? matrix_family::any_bits : matrix_family::wide;
    auto x = make_matrix(family, r.from.value, shape.rows, shape.cols, rng);
    if (rng.one_in(8)) {  // zeros of both signs only
      for (auto& code : x.words) {
        code &= static_cast<std::uint32_t>(oracle::sign_bit(r.from.value));
      }
    }
    oracle::grid s(x.rows, oracle::groups_along(x.cols, r.tile));
    fill_scales(s, r, rng);
    const auto in = any_placement(rng);
    check_retiled(i, r, x, s, in, any_placement(rng), v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

/// FP32 scales: values next to the midpoints of the target, where v / t rounded
/// to FP32 would fall on one. Each pair of columns has a tile of its own: 1.0
/// under the scale v, and the largest code under a scale that makes t.
verdict retiled_midpoints(const implementation& i, const effort& e) {
  verdict v;
  static constexpr const char* pairs[][2] = {
      {"e4m3", "e4m3"}, {"e5m6", "e4m3"}, {"e5m6", "e5m6"}};
  for (std::uint64_t n = 0; n < (e.level == 0 ? 12u : 600u); ++n) {
    counter_rng rng(e.seed, n);
    const auto& pair = pairs[n % std::size(pairs)];
    const retile_case r{format_named(pair[0]), format_named(pair[1]),
                        row_named(named_scale_kinds, "fp32"), 2,
                        row_named(named_retile_rules, "amax")};
    const format from = r.from.value;
    const auto max = static_cast<std::uint32_t>(oracle::largest_code(from));
    const auto one = static_cast<std::uint32_t>(from.bias) << from.man_bits;
    const std::uint32_t partner = 0x3c000000 + rng.below(0x06000000);
    // What t will be: re-tile the partner alone.
    oracle::grid single(1, 1, max);
    const auto t = oracle::to_float(
        oracle::retile(r.value(), single, oracle::grid(1, 1, partner))
            .scales.words[0]);
    const auto count =
        static_cast<std::ptrdiff_t>(oracle::largest_code(r.to.value));
    oracle::grid codes(2, 2 * count, max);
    oracle::grid scales(2, count, partner);
    for (std::ptrdiff_t c = 0; c < count; ++c) {
      const auto code = static_cast<std::uint64_t>(c);
      const double middle = (oracle::magnitude_value(r.to.value, code) +
                             oracle::magnitude_value(r.to.value, code + 1)) /
                            2 * static_cast<double>(t);
      codes(0, 2 * c) = one;
      codes(0, 2 * c + 1) =
          one | static_cast<std::uint32_t>(oracle::sign_bit(from));
      scales(0, c) = oracle::to_bits(static_cast<float>(middle));
    }
    check_retiled(i, r, codes, scales, placement::dense, placement::dense, v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

/// W6: transposed codes under transposed scales are the transposed values.
verdict transposed_weights(const implementation& i, const effort& e) {
  verdict v;
  for (std::uint64_t n = 0; n < (e.level == 0 ? 6u : 100u); ++n) {
    counter_rng rng(e.seed, n);
    const auto shape = any_shape(rng, 20'000);
    const auto x =
        make_matrix(matrix_family::outliers, fp32, shape.rows, shape.cols, rng);
    const quantizer q{fp32,
                      e4m3,
                      zeroulp_convention,
                      named_scale_kinds[n % 2].value,
                      {128, 128}};
    const auto w = oracle::quantize(q, x);
    const auto want = oracle::dequantize(e4m3, q.group, w.codes, w.scales);
    oracle::grid got(x.cols, x.rows);
    const auto transposed = [](const oracle::grid& g) {
      return codes_in(g.words.data(), g.rows, g.cols).transposed();
    };
    i.dequantize(e4m3, q.group, transposed(w.codes), transposed(w.scales),
                 codes_out(got.words.data(), got.rows, got.cols));
    compare(v, got, oracle::flipped(want), "",
            [&] { return fmt::format("W^T of {} x {}", x.rows, x.cols); });
    const auto again = oracle::flipped(x);
    check_quantized(i,
                    {format_named("fp32"),
                     format_named("e4m3"),
                     row_named(named_conventions, "zeroulp"),
                     named_scale_kinds[n % 2],
                     {128, 128}},
                    again, placement::transposed, placement::transposed, v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

}  // namespace

check_list retile_checks() {
  return {
      {"RetiledMatrices", "W1 W2 W3 W4 W5 W7", "exact FP64", 0,
       retiled_matrices},
      {"RetiledMidpoints", "W1 W2 W4", "exact FP64", 0, retiled_midpoints},
      {"EveryCodeByEveryShiftE4m3", "W2 W3 W4 W5", "exact FP64", 0,
       shifts_of_e4m3},
      {"EveryCodeByEveryShiftE5m6ToE4m3", "W2 W3 W4", "exact FP64", 0,
       shifts_to_e4m3},
      {"EveryCodeByEveryShiftE5m6", "W2 W3 W4 W5", "exact FP64", 0,
       shifts_of_e5m6},
      {"TransposedWeights", "W6 Q1 Q10", "exact FP64", 0, transposed_weights},
      {"DoubleRoundingThroughE5m6", "W4", "definition", 1,
       double_rounding_through_e5m6},
  };
}

}  // namespace zeroulp::conformance
