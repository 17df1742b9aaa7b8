// Makes the numbers of retile. In most profiles the first row of each tile
// holds the largest code under the largest scale, and so decides the result's
// scale. The other rows are 2^0 to 2^12 below it.

#include <algorithm>

#include "fuzz/targets/retile_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  plain,
  shifts,
  ties,
  underflow,
  zeros,
  bad_scales,
  specials,
  any_bits,
};

struct shape {
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
};

/// A shape of some hundred elements, long where the result's tiles are long.
shape draw_shape(std::int32_t tile, counter_rng& rng) {
  constexpr int few[] = {0, 1, 2, 3, 5, 7};
  constexpr int many[] = {64, 100, 127, 128, 129, 130, 255, 256, 257};
  if (rng.one_in(24)) return {one_of(few, rng), one_of(few, rng)};
  if (tile > 0 && tile <= 32) {
    return {rng.between(1, 2 * tile + 8), rng.between(1, tile + 8)};
  }
  // One shape in 16 is wide: it shows where a tile of the source ends.
  if (rng.one_in(16)) return {rng.between(1, 5), one_of(many, rng)};
  return {one_of(many, rng), rng.between(1, 6)};
}

/// Returns a scale 2^-`down` times `top`, with a random fraction where scales
/// have one.
std::uint32_t scale_below(const settings& s, std::uint32_t top, int down,
                          counter_rng& rng) {
  const auto e = static_cast<int>(top >> 23) - down;
  if (e <= 0) return e >= -22 ? std::uint32_t{1} << (22 + e) : 1;
  const bool exact = s.scale != scale_kind::float32 || rng.one_in(3);
  const auto bits = static_cast<std::uint32_t>(e) << 23;
  return exact ? bits | (top & 0x007fffff) : bits | rng.below(0x00800000);
}

/// Returns the result's scale for a tile of the largest code under `top`.
std::uint32_t retiled_scale(const settings& s, std::uint32_t top) {
  const std::uint64_t code = s.from.max_code();
  return detail::retiled_scale(retiling_of(s),
                               matrix_view<const std::uint64_t>(&code, 1, 1),
                               matrix_view<const std::uint32_t>(&top, 1, 1));
}

/// A midpoint of the target: half of an odd number of its last place.
unpacked draw_middle(format to, counter_rng& rng) {
  const auto max = static_cast<std::uint32_t>(to.max_code());
  const std::uint32_t near_zero = std::min(max, 2u << to.man_bits);
  unpacked x = decode(to, rng.below(rng.one_in(2) ? near_zero : max));
  if (x.is_zero()) x.exponent = to.quantum_exponent();
  return {2 * x.significand + 1, x.exponent - 1, kind::finite, false};
}

/// Fills row i so that values lie on midpoints of the target, under the scale
/// `t` of the result.
void fill_tie_row(const settings& s, problem& p, std::ptrdiff_t i,
                  std::uint32_t top, std::uint32_t t, counter_rng& rng) {
  matrix& x = p.in[0];
  matrix& scales = p.in[1];
  const std::uint64_t sign = s.from.sign_mask();
  const int e_top = static_cast<int>(top >> 23);
  const int e_t = static_cast<int>(t >> 23);
  // The least distance below t at which no scale exceeds that of the first row.
  const int least = std::max(0, e_t - e_top);
  if (s.scale == scale_kind::float32 && rng.one_in(2)) {
    // The scale is the midpoint times t, as near as it can be, or one beside
    // that; the codes are powers of two.
    const unpacked middle = draw_middle(s.to, rng);
    const int e = msb(middle.significand) + middle.exponent;
    const unpacked part{middle.significand,
                        -msb(middle.significand) - 1 - least, kind::finite,
                        false};
    const auto by = static_cast<std::uint32_t>(
        encode(fp32, product(part, decode(fp32, t))));
    for (std::ptrdiff_t g = 0; g < scales.cols; ++g) {
      scales(i, g) = std::max(by, 1u) + rng.below(3) - 1;
    }
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const int lower = rng.one_in(2) ? 0 : rng.between(0, 3);
      x(i, j) = encode(s.from, unpacked{1, e + 1 + least - lower, kind::finite,
                                        rng.one_in(2)});
    }
    return;
  }
  for (std::ptrdiff_t g = 0; g < scales.cols; ++g) {
    const int down = least + rng.between(0, 12);
    const int e = e_t - down;
    scales(i, g) = e > 0
                       ? static_cast<std::uint32_t>(e) << 23 | (t & 0x007fffff)
                       : 1u << 22;
    const std::ptrdiff_t begin = g * (s.tile > 0 ? s.tile : x.cols);
    const std::ptrdiff_t end =
        s.tile > 0 ? std::min(begin + s.tile, x.cols) : x.cols;
    for (std::ptrdiff_t j = begin; j < end; ++j) {
      unpacked v = draw_middle(s.to, rng);
      v.exponent += down;
      const std::uint64_t code = encode(s.from, v);
      const std::uint64_t beside = rng.below(8);
      const std::uint64_t moved = beside == 0
                                      ? std::min(code + 1, s.from.max_code())
                                  : beside == 1 ? code - (code > 1 ? 1 : 0)
                                                : code;
      x(i, j) = moved != 0 && rng.one_in(2) ? moved | sign : moved;
    }
  }
}

/// How many binades a row's scale is below the largest scale.
int draw_shift(profile how, counter_rng& rng) {
  switch (how) {
    case profile::shifts:
      return rng.between(0, 12);
    case profile::underflow:
      return rng.between(4, 40);
    default:
      return rng.one_in(2) ? 0 : rng.between(0, 3);
  }
}

/// The exponent field of the largest scale.
int draw_top(profile how, counter_rng& rng) {
  if (how == profile::underflow) return rng.between(1, 40);
  return rng.one_in(16) ? rng.between(1, 254) : rng.between(100, 150);
}

void fill_codes(profile how, matrix& x, counter_rng& rng) {
  const std::uint64_t mask = low_bits(x.type.bits());
  for (auto& code : x.words) {
    code = how == profile::any_bits ? rng.next() & mask
                                    : finite_code(x.type, rng.next32());
  }
  if (how == profile::specials) strew_specials(x, 20, rng);
}

/// Makes columns zeros of one sign, from the top or from some row on.
void strew_zeros(const settings& s, matrix& x, counter_rng& rng) {
  const bool signed_zero = s.from.kind != specials::fnuz;
  for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
    if (rng.one_in(3)) continue;
    const bool minus = signed_zero && rng.one_in(2);
    const auto begin = static_cast<std::ptrdiff_t>(
        rng.one_in(2) ? 0 : rng.below(static_cast<std::uint32_t>(x.rows + 1)));
    for (std::ptrdiff_t i = begin; i < x.rows; ++i) {
      x(i, j) = minus ? s.from.sign_mask() : 0;
    }
  }
}

/// Replaces some scales by any scale that FP32 has.
void strew_bad_scales(matrix& scales, counter_rng& rng) {
  for (auto& word : scales.words) {
    if (rng.one_in(2)) word = draw_scale(rng);
  }
}

}  // namespace

void fill_retile(problem& p, int profile_index, counter_rng& rng) {
  const settings& s = p.with;
  const auto how = static_cast<profile>(profile_index);
  const shape size = draw_shape(s.tile, rng);
  p.in.clear();
  for (const auto& spec : retile_operands(s)) {
    p.in.push_back(make_operand(spec, size.rows, size.cols, 0));
  }
  matrix& x = p.in[0];
  matrix& scales = p.in[1];
  fill_codes(how, x, rng);
  const auto top = scale_below(
      s, static_cast<std::uint32_t>(draw_top(how, rng)) << 23, 0, rng);
  const std::uint32_t t = retiled_scale(s, top);
  const bool led = how == profile::ties || how == profile::shifts ||
                   how == profile::underflow || rng.one_in(4);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    const bool first = s.tile > 0 ? i % s.tile == 0 : i == 0;
    if (led && first) {
      for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
        x(i, j) = s.from.max_code() | (rng.one_in(2) ? s.from.sign_mask() : 0);
      }
      for (std::ptrdiff_t g = 0; g < scales.cols; ++g) scales(i, g) = top;
    } else if (how == profile::ties) {
      fill_tie_row(s, p, i, top, t, rng);
    } else {
      for (std::ptrdiff_t g = 0; g < scales.cols; ++g) {
        scales(i, g) = scale_below(s, top, draw_shift(how, rng), rng);
      }
    }
  }
  if (how == profile::zeros) strew_zeros(s, x, rng);
  if (how == profile::bad_scales) strew_bad_scales(scales, rng);
}

}  // namespace zeroulp::fuzz
