#include "conformance/cases/step_cases.hpp"

#include <algorithm>

namespace zeroulp::conformance {
namespace {

int code_bits(format f) { return 1 + f.exp_bits + f.man_bits; }

std::uint64_t sign_bit(format f) {
  return std::uint64_t{1} << (f.exp_bits + f.man_bits);
}

int highest_exponent(format f) { return (1 << f.exp_bits) - 1; }

std::uint64_t any_code(format f, counter_rng& rng) {
  return rng.next() >> (64 - code_bits(f));
}

std::uint64_t random_sign(format f, counter_rng& rng) {
  return rng.one_in(2) ? sign_bit(f) : 0;
}

/// A finite code whose biased exponent is in [low, high].
std::uint64_t code_within(format f, int low, int high, counter_rng& rng) {
  const int e =
      rng.between(std::max(low, 0), std::min(high, highest_exponent(f)));
  const std::uint64_t m = rng.next() >> (64 - f.man_bits);
  const std::uint64_t magnitude = std::min(
      static_cast<std::uint64_t>(e) << f.man_bits | m, largest_code(f));
  return random_sign(f, rng) | magnitude;
}

std::uint64_t finite_code(format f, counter_rng& rng) {
  return code_within(f, 0, highest_exponent(f), rng);
}

/// Magnitudes as a normal distribution with deviation 1 has them, or nearly.
std::uint64_t normal_code(format f, counter_rng& rng) {
  int e = f.bias + 1;
  while (e > 0 && !rng.one_in(2)) --e;
  return code_within(f, e, e, rng);
}

std::uint64_t small_code(format f, counter_rng& rng) {
  return code_within(f, 0, rng.one_in(2) ? 0 : 3, rng);
}

std::uint64_t special_code(format f, counter_rng& rng) {
  const std::uint64_t infinity = static_cast<std::uint64_t>(highest_exponent(f))
                                 << f.man_bits;
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  const std::uint64_t list[] = {0,
                                1,
                                hidden - 1,
                                hidden,
                                infinity,
                                infinity | (rng.next() % (hidden - 1) + 1),
                                infinity - 1,
                                infinity - 2,
                                infinity | 1,
                                infinity | (hidden - 1)};
  return random_sign(f, rng) | list[rng.below(10)];
}

int place_of(format f, std::uint64_t code) {
  const int e = static_cast<int>(code >> f.man_bits) & highest_exponent(f);
  return std::max(e, 1) - f.bias;
}

/// A c whose place is from 40 below to 40 above the largest product's.
std::uint64_t c_near(const path& p, const step_case& s, counter_rng& rng) {
  const format f = p.acc.stored;
  int place = -1000;
  for (int k = 0; k < s.count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    if (s.a[i] % sign_bit(p.a) == 0 || s.b[i] % sign_bit(p.b) == 0) continue;
    place = std::max(place, place_of(p.a, s.a[i]) + place_of(p.b, s.b[i]));
  }
  const int spread = rng.one_in(2) ? 3 : 40;
  const int e = std::clamp(place + rng.between(-spread, spread) + f.bias, 0,
                           highest_exponent(f) - 1);
  return code_within(f, e, e, rng);
}

/// Later products undo earlier ones; one may be off by a bit.
void cancel(const path& p, step_case& s, counter_rng& rng) {
  if (s.count < 2) return;
  const auto half = static_cast<std::size_t>(s.count / 2);
  for (std::size_t k = 0; k < half; ++k) {
    s.a[half + k] = s.a[k] ^ sign_bit(p.a);
    s.b[half + k] = s.b[k];
  }
  for (std::size_t k = 2 * half; k < static_cast<std::size_t>(s.count); ++k) {
    s.a[k] = 0;
  }
  for (std::size_t k = half; k > 0; --k) {
    const std::size_t other = half + rng.below(static_cast<std::uint32_t>(k));
    std::swap(s.a[half + k - 1], s.a[other]);
    std::swap(s.b[half + k - 1], s.b[other]);
  }
  if (rng.one_in(2)) {
    auto& code = s.a[rng.below(static_cast<std::uint32_t>(s.count))];
    // The last bit, but never from a finite code to NaN.
    if ((code ^ 1) % sign_bit(p.a) <= largest_code(p.a)) code ^= 1;
  }
}

std::uint64_t product_code(format f, step_family family, counter_rng& rng) {
  switch (family) {
    case step_family::bits:
      return any_code(f, rng);
    case step_family::sparse:
      return rng.one_in(4) ? finite_code(f, rng) : random_sign(f, rng);
    case step_family::normal:
    case step_family::special_c:
      return normal_code(f, rng);
    case step_family::tiny:
      return rng.one_in(8) ? finite_code(f, rng) : small_code(f, rng);
    case step_family::huge:
      return code_within(f, highest_exponent(f) - 2, highest_exponent(f), rng);
    case step_family::finite:
    case step_family::cancelling:
    case step_family::near_c:
    case step_family::zeros:
      break;
  }
  return finite_code(f, rng);
}

std::uint64_t c_code(const path& p, step_family family, const step_case& s,
                     counter_rng& rng) {
  const format f = p.acc.stored;
  switch (family) {
    case step_family::bits:
      return any_code(f, rng);
    case step_family::normal:
      return normal_code(f, rng);
    case step_family::tiny:
      return rng.one_in(2) ? 0 : small_code(f, rng);
    case step_family::special_c:
      return special_code(f, rng);
    case step_family::huge:
      return code_within(f, highest_exponent(f) - 1, highest_exponent(f), rng);
    case step_family::zeros:
      return rng.one_in(4) ? finite_code(f, rng) : random_sign(f, rng);
    case step_family::finite:
    case step_family::sparse:
    case step_family::cancelling:
    case step_family::near_c:
      break;
  }
  if (family != step_family::near_c && rng.one_in(3)) {
    return random_sign(f, rng);
  }
  return c_near(p, s, rng);
}

}  // namespace

std::uint64_t largest_code(format f) {
  const std::uint64_t all = sign_bit(f) - 1;
  switch (f.kind) {
    case specials::ieee:
      return sign_bit(f) - (std::uint64_t{1} << f.man_bits) - 1;
    case specials::fn:
      return all - 1;
    case specials::fnuz:
    case specials::finite:
    case specials::scale:
      break;
  }
  return all;
}

std::optional<std::uint64_t> code_for(format f, bool negative, std::uint64_t u,
                                      int exponent) {
  if (u == 0) return std::nullopt;
  for (; u % 2 == 0; u /= 2) ++exponent;
  int top = exponent;
  for (std::uint64_t rest = u; rest > 1; rest /= 2) ++top;
  const int place = std::max(top, 1 - f.bias);
  const int shift = exponent - (place - f.man_bits);
  if (shift < 0 || place + f.bias > highest_exponent(f)) return std::nullopt;
  const std::uint64_t m = u << shift;
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  const auto e = static_cast<std::uint64_t>(place + f.bias);
  const std::uint64_t magnitude = m < hidden ? m : e << f.man_bits | m % hidden;
  if (magnitude > largest_code(f)) return std::nullopt;
  return magnitude | (negative ? sign_bit(f) : 0);
}

step_case make_step_case(const path& p, step_family family, counter_rng rng) {
  int length = p.acc.length;
  if (p.lowering != lowering::direct) length *= 2;
  step_case s;
  if (length == 0) {
    s.count = rng.between(0, 40);
  } else {
    s.count = rng.one_in(4) ? rng.between(0, length) : length;
  }
  constexpr int beyond = 3;
  for (int k = 0; k < s.count + beyond; ++k) {
    s.a.push_back(k < s.count ? product_code(p.a, family, rng)
                              : largest_code(p.a) + rng.below(2));
    s.b.push_back(k < s.count ? product_code(p.b, family, rng)
                              : largest_code(p.b) + rng.below(2));
  }
  if (family == step_family::cancelling) cancel(p, s, rng);
  if (family == step_family::zeros) {
    for (int k = 0; k < s.count; ++k) {
      const auto i = static_cast<std::size_t>(k);
      if (rng.one_in(2)) {
        s.a[i] = random_sign(p.a, rng);
      } else {
        s.b[i] = random_sign(p.b, rng);
      }
    }
    // All -0.
    if (rng.one_in(4)) {
      for (int k = 0; k < s.count; ++k) {
        const auto i = static_cast<std::size_t>(k);
        s.b[i] = s.b[i] % sign_bit(p.b) |
                 (s.a[i] >= sign_bit(p.a) ? 0 : sign_bit(p.b));
      }
    }
  }
  s.c = c_code(p, family, s, rng);
  return s;
}

}  // namespace zeroulp::conformance
