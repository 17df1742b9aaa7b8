// Makes the numbers of quantize: shapes around the edges of groups, and for
// each profile a family of matrices. Most matrices take several elements from
// each random word, as a case costs little more than its numbers.

#include <algorithm>

#include "fuzz/targets/quantize_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  normal,
  ties,
  amax,
  outliers,
  zeros,
  subnormal,
  specials,
  wide,
  any_bits,
};

struct shape {
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
};

/// A shape of some hundred elements, long where the group is long.
shape draw_shape(group_shape g, counter_rng& rng) {
  constexpr int few[] = {0, 1, 2, 3, 5, 7};
  constexpr int many[] = {31,  32,  33,  100, 127, 128, 129,
                          130, 255, 256, 257, 300, 384};
  if (rng.one_in(24)) return {one_of(few, rng), one_of(few, rng)};
  const bool square = g.rows == g.cols;
  if (square && g.rows > 1 && rng.one_in(48)) {
    return {rng.between(127, 130), rng.between(127, 130)};
  }
  const int along = one_of(many, rng);
  const int least = std::min(g.rows, g.cols);
  const int across = rng.between(1, least > 1 && least < 16 ? least + 2 : 4);
  const bool down = square ? rng.one_in(2) : g.rows > g.cols;
  return down ? shape{along, across} : shape{across, along};
}

/// Sets each word to make(bits), from 32 random bits.
template <class Make>
void fill_from_halves(matrix& x, counter_rng& rng, Make make) {
  const std::size_t size = x.words.size();
  for (std::size_t i = 0; i < size; i += 2) {
    const std::uint64_t both = rng.next();
    x.words[i] = make(static_cast<std::uint32_t>(both));
    if (i + 1 < size) {
      x.words[i + 1] = make(static_cast<std::uint32_t>(both >> 32));
    }
  }
}

/// Nearly N(0, 1) times 37837: the sum of four uniform 16-bit numbers.
float bell(std::uint64_t word) {
  const std::uint64_t pairs =
      (word & 0x0000ffff0000ffff) + (word >> 16 & 0x0000ffff0000ffff);
  const auto sum =
      static_cast<std::int32_t>((pairs & 0xffffffff) + (pairs >> 32));
  return static_cast<float>(sum - 131070);
}

template <class Encode>
void fill_bell_as(matrix& x, counter_rng& rng, Encode encoded) {
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    // A magnitude for the row; its fraction fills the low bits of products.
    const std::uint32_t exponent = 127 - 24 + rng.below(17);
    const std::uint32_t fraction = rng.below(0x00800000);
    const auto factor = bit_cast<float>(exponent << 23 | fraction);
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const float v = bell(rng.next()) * factor;
      x(i, j) = encoded(bit_cast<std::uint32_t>(v));
    }
  }
}

/// Bell-shaped numbers. A generator may truncate where it narrows a format.
void fill_bell(const settings& s, matrix& x, counter_rng& rng) {
  if (s.from == fp32) {
    fill_bell_as(x, rng, [](std::uint32_t bits) { return bits; });
  } else if (s.from == bf16) {
    fill_bell_as(x, rng, [](std::uint32_t bits) { return bits >> 16; });
  } else {
    fill_bell_as(x, rng, [](std::uint32_t bits) -> std::uint64_t {
      const std::uint32_t sign = bits >> 16 & 0x8000;
      const std::uint32_t magnitude = bits & 0x7fffffff;
      const bool normal = magnitude >= 0x38800000 && magnitude < 0x47800000;
      return normal ? sign | (magnitude - 0x38000000) >> 13
                    : recode(fp32, bits, fp16);
    });
  }
}

/// Makes one element in 50 larger, by up to 2^20.
void strew_outliers(const settings& s, matrix& x, counter_rng& rng) {
  const auto size = static_cast<std::uint32_t>(x.words.size());
  for (std::uint32_t i = 0; size > 0 && i <= size / 50; ++i) {
    auto& word = x.words[rng.below(size)];
    const std::uint64_t magnitude =
        (word & s.from.magnitude_mask()) +
        (std::uint64_t{1 + rng.below(20)} << s.from.man_bits);
    word = (word & s.from.sign_mask()) | std::min(magnitude, s.from.max_code());
  }
}

/// Turns some groups into zeros, of both signs or of one.
void strew_zeros(const settings& s, matrix& x, counter_rng& rng) {
  for_each_view(s, x, [&](words group) {
    const std::uint64_t bits = rng.next();
    if (bits % 3 == 0) return;
    const std::uint64_t minus = s.from.sign_mask();
    const std::uint64_t choices[] = {0, minus, 0, minus};
    const bool mixed = (bits >> 8 & 3) == 0;
    const std::uint64_t one = choices[bits >> 10 & 3];
    fill_view(group, [&] { return mixed ? rng.next() & minus : one; });
  });
}

/// Puts Inf and NaN into single elements and into whole groups.
void strew_special_groups(const settings& s, matrix& x, counter_rng& rng) {
  strew_specials(x, 60, rng);
  for_each_view(s, x, [&](words group) {
    if (!rng.one_in(8)) return;
    // All Inf, or all NaN, of one sign.
    const std::uint64_t code = draw_special_code(s.from, rng);
    fill_view(group, [code] { return code; });
  });
}

void fill_history(matrix& history, counter_rng& rng) {
  const std::uint32_t near = rng.below(0x7f000000);
  const bool special = rng.one_in(4);
  for (auto& amax : history.words) {
    amax = near + rng.below(0x00800000);
    if (rng.one_in(4)) amax = rng.below(fp32_infinity);
    if (rng.one_in(10)) amax = 0;
    if (special && rng.one_in(4)) {
      amax = rng.one_in(2) ? fp32_infinity : 0x7fffffff;
    }
  }
}

void fill_matrix(const settings& s, matrix& x, profile how, counter_rng& rng) {
  const format from = s.from;
  const auto mask = static_cast<std::uint32_t>(low_bits(from.bits()));
  switch (how) {
    case profile::ties:
      return fill_ties(s, x, rng);
    case profile::amax:
      return fill_amax(s, x, rng);
    case profile::wide:
      return fill_from_halves(x, rng, [from](std::uint32_t bits) {
        return finite_code(from, bits);
      });
    case profile::any_bits:
      return fill_from_halves(
          x, rng, [mask](std::uint32_t bits) { return bits & mask; });
    case profile::subnormal: {
      const auto fraction = (1u << rng.between(1, from.man_bits + 1)) - 1;
      const auto kept = static_cast<std::uint32_t>(from.sign_mask()) | fraction;
      return fill_from_halves(
          x, rng, [kept](std::uint32_t bits) { return bits & kept; });
    }
    case profile::normal:
    case profile::outliers:
    case profile::zeros:
    case profile::specials:
      break;
  }
  fill_bell(s, x, rng);
  if (how == profile::outliers) strew_outliers(s, x, rng);
  if (how == profile::zeros) strew_zeros(s, x, rng);
  if (how == profile::specials) strew_special_groups(s, x, rng);
}

}  // namespace

void fill_quantize(problem& p, int profile_index, counter_rng& rng) {
  const settings& s = p.with;
  const shape x = draw_shape(s.group, rng);
  const auto k = rng.one_in(2) ? rng.between(0, 3) : rng.between(4, 17);
  p.in.clear();
  for (const auto& spec : quantize_operands(s)) {
    p.in.push_back(make_operand(spec, x.rows, x.cols, k));
  }
  fill_matrix(s, p.in[0], static_cast<profile>(profile_index), rng);
  fill_history(p.in[1], rng);
  constexpr std::uint32_t odd[] = {0, fp32_infinity, 0x7fffffff};
  p.in[2].words[0] =
      rng.one_in(4) ? one_of(odd, rng) : rng.below(fp32_infinity);
}

}  // namespace zeroulp::fuzz
