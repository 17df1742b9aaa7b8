// Defines `hidden_box`: an instruction that follows a mechanism, written a
// second time over the exact oracle. It calls nothing of fuzz/probe.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_HIDDEN_MECHANISM_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_HIDDEN_MECHANISM_HPP_

#include <algorithm>
#include <vector>

#include "conformance/oracles/rational_step.hpp"
#include "fuzz/probe/black_box.hpp"
#include "fuzz/probe/mechanism.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::test {

/// What a mechanism does, by the oracle. Of its fields it takes those that
/// random_mechanism() draws.
class hidden {
 public:
  explicit hidden(const fuzz::mechanism& m) : m_(m) {}

  std::uint64_t operator()(const fuzz::step_case& s) const {
    using enum fuzz::joins;
    const bool at_end = m_.joins == the_end || m_.joins == sums;
    const std::uint64_t c =
        m_.flushes_c && subnormal(m_.acc.stored, s.c) ? sign_of(s.c) : s.c;
    std::uint64_t d = at_end ? 0 : c;
    for (int t = 0; t < m_.order.steps; ++t) {
      const int step = m_.order.reversed ? m_.order.steps - 1 - t : t;
      const bool separate = m_.joins == sums && t > 0;
      const std::uint64_t sum = one(s, step, separate ? 0 : d);
      d = separate ? plus(d, sum) : sum;
    }
    return at_end ? plus(c, d) : d;
  }

 private:
  static bool subnormal(format f, std::uint64_t code) {
    const auto magnitude = code & f.magnitude_mask();
    return magnitude != 0 && magnitude < std::uint64_t{1} << f.man_bits;
  }
  std::uint64_t sign_of(std::uint64_t c) const {
    return c & m_.acc.stored.sign_mask();
  }

  /// x + y, to nearest: the exact sum of 1 * x and y.
  std::uint64_t plus(std::uint64_t x, std::uint64_t y) const {
    const format f = m_.acc.stored;
    const path p{f,
                 f,
                 {.length = 1,
                  .fraction_bits = uncut,
                  .exponent_floor = no_floor,
                  .output = f,
                  .conversion = rounding::nearest_even,
                  .stored = f}};
    const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.man_bits;
    // The oracle's zeros are +0; a sum of two -0 is -0.
    if (x == f.sign_mask() && y == f.sign_mask()) return x;
    return oracle::rational_step(p, &x, &one, 1, y);
  }

  /// The place of the exponent field, also of a zero.
  static int place(format f, std::uint64_t code) {
    const auto field = (code & f.magnitude_mask()) >> f.man_bits;
    return std::max<int>(1, static_cast<int>(field)) - f.bias;
  }

  std::uint64_t one(const fuzz::step_case& s, int step, std::uint64_t c) const {
    std::vector<std::uint64_t> a;
    std::vector<std::uint64_t> b;
    int zeros = no_floor;
    for (int k = 0; k < s.count; ++k) {
      if (k / m_.order.chunk % m_.order.steps != step) continue;
      auto x = s.a[static_cast<std::size_t>(k)];
      auto y = s.b[static_cast<std::size_t>(k)];
      if (m_.flushes_operands && subnormal(m_.a, x)) x &= m_.a.sign_mask();
      if (m_.flushes_operands && subnormal(m_.b, y)) y &= m_.b.sign_mask();
      a.push_back(x);
      b.push_back(y);
      const bool zero =
          (x & m_.a.magnitude_mask()) == 0 || (y & m_.b.magnitude_mask()) == 0;
      if (zero) zeros = std::max(zeros, place(m_.a, x) + place(m_.b, y));
    }
    path p{m_.a, m_.b, m_.acc};
    p.acc.length = 0;
    if (m_.joins == fuzz::joins::every_step) p.acc.c = addend::last;
    if (m_.zeros_align) {
      if ((c & m_.acc.stored.magnitude_mask()) == 0) {
        zeros = std::max(zeros, m_.acc.stored.min_exponent());
      }
      p.acc.exponent_floor =
          static_cast<std::int16_t>(std::max<int>(p.acc.exponent_floor, zeros));
    }
    const auto d = oracle::rational_step(
        p, a.data(), b.data(), static_cast<std::ptrdiff_t>(a.size()), c);
    return m_.flushes_results && subnormal(m_.acc.stored, d) ? 0 : d;
  }

  const fuzz::mechanism m_;
};

inline fuzz::black_box hidden_box(const fuzz::mechanism& m) {
  return {"hidden",
          m.a,
          m.b,
          m.acc.stored,
          m.length,
          true,
          [h = hidden(m)](const std::vector<fuzz::step_case>& cases) {
            std::vector<std::uint64_t> d;
            for (const auto& s : cases) d.push_back(h(s));
            return d;
          }};
}

/// A mechanism that is in no table: L of 4 to 64, F of 8 to 35, any order, cut,
/// output, rounding, floor and zero rule.
inline fuzz::mechanism random_mechanism(counter_rng rng) {
  struct formats {
    format a, b, stored;
  };
  constexpr formats choices[] = {{e4m3, e4m3, fp32}, {e4m3, e5m2, fp32},
                                 {e5m2, e5m2, fp16}, {bf16, bf16, fp32},
                                 {fp16, fp16, fp32}, {fp16, fp16, fp16},
                                 {tf32, tf32, fp32}, {e2m1, e2m1, fp32}};
  constexpr rounding roundings[] = {
      rounding::toward_zero, rounding::nearest_even, rounding::nearest_away,
      rounding::down,        rounding::up,           rounding::to_odd};
  const formats f = choices[rng.below(std::size(choices))];
  const int length = 4 << rng.between(0, 4);
  fuzz::mechanism m{
      .a = f.a,
      .b = f.b,
      .length = length,
      .order = {length},
      .acc = {.length = 0,
              .fraction_bits = static_cast<std::int16_t>(rng.between(8, 35)),
              .exponent_floor = no_floor,
              .output = f.stored,
              .conversion = roundings[rng.below(6)],
              .stored = f.stored,
              .cut = roundings[rng.one_in(2) ? 0 : rng.below(6)],
              .renormalized = rng.one_in(4)},
      .operand_a = f.a,
      .operand_b = f.b,
      .nan = nan_code(f.stored, false, cuda_nosat)};
  if (!rng.one_in(3)) {
    m.order.steps = 1 << rng.between(1, length == 4 ? 1 : 2);
    const int most = length / m.order.steps;
    m.order.chunk = rng.one_in(2) ? most : 1 << rng.between(0, 1);
    m.order.chunk = std::min(m.order.chunk, most);
    m.order.reversed = rng.one_in(4);
  }
  m.joins = static_cast<fuzz::joins>(rng.one_in(2) ? 0 : rng.between(0, 2));
  if (rng.one_in(2)) {
    m.acc.output.man_bits = static_cast<std::uint8_t>(
        rng.between(f.stored.man_bits / 2, f.stored.man_bits));
  }
  if (rng.one_in(2)) {
    m.acc.exponent_floor = static_cast<std::int16_t>(
        f.stored == fp16 ? rng.between(-26, -12) : rng.between(-140, -10));
  }
  m.zeros_align = rng.one_in(6);
  m.flushes_operands = rng.one_in(6);
  m.flushes_c = rng.one_in(6);
  m.flushes_results = rng.one_in(6);
  return m;
}

}  // namespace zeroulp::test

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_HIDDEN_MECHANISM_HPP_
