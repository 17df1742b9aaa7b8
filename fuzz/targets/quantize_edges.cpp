// Makes numbers of quantize that chance does not find. They are amaxes at which
// a scale changes its nature, and elements that it puts on midpoints of the
// target. The scales come from the core: a generator is no oracle.

#include <algorithm>
#include <array>
#include <cmath>

#include "conformance/cases/matrix_cases.hpp"
#include "fuzz/targets/quantize_parts.hpp"

namespace zeroulp::fuzz {
namespace {

/// Returns the code of `from` nearest to x.
std::uint64_t code_near(format from, double x) {
  return encode(from, decode(x), {}, ocp_saturate);
}

/// Returns FP32 bits of an amax at a boundary:
///   - max(to) * 2^e, or that times sqrt(2), where pow2_nearest turns;
///   - a floor, or below one; where max / amax or BF16 overflows;
///   - subnormal, 0, Inf, NaN.
std::uint32_t draw_boundary(format to, counter_rng& rng) {
  const double max = to_double(decode(to, to.max_code()));
  constexpr std::uint32_t tops[] = {fp32_max, 0x7f7f0000, 0x7f7f7fff,
                                    0x7f7f8000};
  constexpr std::uint32_t floors[] = {floor_1e_4, floor_1e_10, floor_1e_12};
  const int e = rng.one_in(2) ? rng.between(-20, 7) : rng.between(-160, 127);
  const auto bits = [](double x) {
    return static_cast<std::uint32_t>(code_near(fp32, x));
  };
  switch (rng.below(12)) {
    case 0:
      return 0;
    case 1:
      return 1 + rng.below(0x007fffff);
    case 2:
    case 3:
      return one_of(floors, rng);
    case 4: {
      const std::uint32_t floor = one_of(floors, rng);
      return floor - rng.below(20u << 23);
    }
    case 5:
      return fp32_infinity;
    case 6:
      return fp32_infinity + 1 + rng.below(0x007fffff);
    case 7:
      return one_of(tops, rng);
    case 8:
      return bits(max / 0x1.fffffep127);
    case 9:
      return bits(std::ldexp(max * 1.4142135623730951, e));
    default:
      return bits(std::ldexp(max, e));
  }
}

}  // namespace

void fill_amax(const settings& s, matrix& x, counter_rng& rng) {
  const std::uint64_t sign = s.from.sign_mask();
  const auto infinity = s.from.infinity_code();
  // Few, as they cost more than elements.
  std::array<std::uint64_t, 8> drawn{};
  for (auto& amax : drawn) {
    amax = recode(fp32, draw_boundary(s.to, rng), s.from, {}, ocp_nonsaturate);
    if (amax > 1 && amax < infinity) amax += rng.below(3) - std::uint64_t{1};
  }
  for_each_view(s, x, [&](words group) {
    const std::uint64_t amax = drawn[rng.below(8)];
    const auto most = amax > infinity ? infinity - 1 : amax;
    const auto span = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        most + 1, std::uint64_t{12} << s.from.man_bits));
    fill_view(group, [&] {
      const std::uint64_t word = rng.next();
      return (most - ((word >> 32) * span >> 32)) | (word & sign);
    });
    const auto size = static_cast<std::uint32_t>(group.rows * group.cols);
    const auto at = static_cast<std::ptrdiff_t>(rng.below(size));
    group(at / group.cols, at % group.cols) = amax | (rng.next() & sign);
  });
}

namespace {

/// Returns FP32 bits of an amax: one whose scale makes quotients exact, or one
/// on which the conventions disagree, or any.
std::uint32_t draw_tie_amax(const settings& s, counter_rng& rng) {
  switch (rng.below(4)) {
    case 0:
    case 1: {
      const int most = s.from == fp32 && rng.one_in(2) ? 12 : 3;
      const int bits = rng.between(1, most);
      const int exponent = rng.between(-14, 3);
      return std::min(fp32_max,
                      conformance::exact_amax(s.to, bits, exponent, rng));
    }
    case 2:
      return conformance::disputed_amax(s.to, rng);
    default:
      return 0x38000000 + rng.below(0x08000000);
  }
}

/// An amax, and elements that its scale puts next to midpoints: codes of the
/// source format.
struct tie_group {
  static constexpr std::size_t count = 16;
  std::uint64_t amax;
  std::array<std::uint64_t, count> points;
};

tie_group draw_tie_group(const settings& s, counter_rng& rng) {
  const quantizer q = quantizer_of(s);
  tie_group t{};
  t.amax = recode(fp32, draw_tie_amax(s, rng), s.from);
  const auto scale = make_scale(
      q, group_amax(q, matrix_view<const std::uint64_t>(&t.amax, 1, 1)));
  const bool divides = q.how.element != element_rule::inverse;
  const auto factor =
      to_double(decode(fp32, divides ? scale.scale : scale.inverse));
  const auto max = static_cast<std::uint32_t>(s.to.max_code());
  // Under some scales elements lie beyond the largest code, too.
  const std::uint32_t near_zero = std::min(max, 2u << s.to.man_bits);
  for (auto& point : t.points) {
    const auto below = rng.one_in(8)   ? max - 1
                       : rng.one_in(3) ? rng.below(near_zero + 1)
                                       : rng.below(max + 1);
    unpacked middle = decode(s.to, below);
    if (middle.is_zero()) middle.exponent = s.to.quantum_exponent();
    middle = {2 * middle.significand + 1, middle.exponent - 1, kind::finite,
              false};
    const double v = to_double(middle);
    point = code_near(s.from, divides ? v * factor : v / factor);
  }
  return t;
}

}  // namespace

void fill_ties(const settings& s, matrix& x, counter_rng& rng) {
  // Few, as they cost more than elements.
  std::array<tie_group, 2> drawn;
  for (auto& t : drawn) t = draw_tie_group(s, rng);
  constexpr int beside[] = {0, 0, 0, 0, 1, -1, 2, -2};
  const std::uint64_t sign = s.from.sign_mask();
  for_each_view(s, x, [&](words group) {
    const tie_group& t = drawn[rng.below(2)];
    std::uint64_t word = 0;
    int left = 0;
    fill_view(group, [&] {
      if (left-- == 0) {
        word = rng.next();
        left = 7;
      }
      const auto point = static_cast<std::int64_t>(t.points[word & 15]);
      const auto moved =
          std::max<std::int64_t>(0, point + beside[word >> 4 & 7]);
      const bool minus = (word >> 7 & 1) != 0;
      word >>= 8;
      return std::min(static_cast<std::uint64_t>(moved), t.amax) |
             (minus ? sign : 0);
    });
    const auto size = static_cast<std::uint32_t>(group.rows * group.cols);
    const auto at = static_cast<std::ptrdiff_t>(rng.below(size));
    group(at / group.cols, at % group.cols) = t.amax | (rng.next() & sign);
  });
}

}  // namespace zeroulp::fuzz
