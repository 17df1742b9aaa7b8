// Defines `wide<Words>`: the one multiword unsigned integer, for what 64 bits
// cannot hold: products of FP64, sums that must stay exact over the whole range
// of FP32. Arithmetic is modulo 2^(64 * Words).
//
// `msb`, `extract` and `any_below` are also defined for uint64_t, so that code
// that rounds or aligns is written once for both.

#ifndef ZEROULP_CORE_WIDE_HPP_
#define ZEROULP_CORE_WIDE_HPP_

#include "zeroulp/core/config.hpp"

namespace zeroulp {

/// Words * 64 bits, lowest word first.
template <int Words>
struct wide {
  std::uint64_t word[Words] = {};

  constexpr wide() = default;
  ZEROULP_HD constexpr explicit wide(std::uint64_t low) { word[0] = low; }

  ZEROULP_HD constexpr bool is_zero() const {
    std::uint64_t all = 0;
    for (int i = 0; i < Words; ++i) all |= word[i];
    return all == 0;
  }

  /// Adds `x` * 2^`position`; bits beyond the top are lost.
  ZEROULP_HD constexpr void add(std::uint64_t x, int position) {
    const int at = position / 64;
    const int shift = position % 64;
    const std::uint64_t low = x << shift;
    const std::uint64_t high = shift == 0 ? 0 : x >> (64 - shift);
    bool carry = false;
    for (int i = at; i < Words; ++i) {
      const std::uint64_t addend = i == at ? low : i == at + 1 ? high : 0;
      const std::uint64_t sum = word[i] + addend + (carry ? 1 : 0);
      carry = carry ? sum <= addend : sum < addend;
      word[i] = sum;
    }
  }
};

template <int Words>
ZEROULP_HD constexpr int msb(const wide<Words>& x) {
  for (int i = Words - 1; i >= 0; --i) {
    if (x.word[i] != 0) return i * 64 + msb(x.word[i]);
  }
  return -1;
}

/// Returns the 64 bits of `x` from `position` up; beyond either end are zeros.
ZEROULP_HD constexpr std::uint64_t extract(std::uint64_t x, int position) {
  return position >= 64 || position <= -64 ? 0
         : position >= 0                   ? x >> position
                                           : x << -position;
}

template <int Words>
ZEROULP_HD constexpr std::uint64_t extract(const wide<Words>& x, int position) {
  std::uint64_t bits = 0;
  for (int i = 0; i < Words; ++i) {
    bits |= extract(x.word[i], position - 64 * i);
  }
  return bits;
}

/// Returns true iff a bit of `x` below `position` is set.
ZEROULP_HD constexpr bool any_below(std::uint64_t x, int position) {
  return position > 0 && (x & low_bits(position)) != 0;
}

template <int Words>
ZEROULP_HD constexpr bool any_below(const wide<Words>& x, int position) {
  bool any = false;
  for (int i = 0; i < Words; ++i) {
    any = any || any_below(x.word[i], position - 64 * i);
  }
  return any;
}

/// Returns -1, 0 or 1 as `a` is below, equal to or above `b`.
template <int Words>
ZEROULP_HD constexpr int compare(const wide<Words>& a, const wide<Words>& b) {
  for (int i = Words - 1; i >= 0; --i) {
    if (a.word[i] != b.word[i]) return a.word[i] < b.word[i] ? -1 : 1;
  }
  return 0;
}

template <int Words>
ZEROULP_HD constexpr wide<Words> operator+(const wide<Words>& a,
                                           const wide<Words>& b) {
  wide<Words> sum = a;
  for (int i = 0; i < Words; ++i) sum.add(b.word[i], 64 * i);
  return sum;
}

template <int Words>
ZEROULP_HD constexpr wide<Words> operator-(const wide<Words>& a,
                                           const wide<Words>& b) {
  wide<Words> difference;
  bool borrow = false;
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t take = b.word[i] + (borrow ? 1 : 0);
    difference.word[i] = a.word[i] - take;
    borrow = a.word[i] < take || (borrow && take == 0);
  }
  return difference;
}

/// Returns `x` * 2^`shift` as a number of `Words` words; a negative shift
/// drops the bits that fall below the point.
template <int Words, class Significand>
ZEROULP_HD constexpr wide<Words> shifted(const Significand& x, int shift) {
  wide<Words> result;
  for (int i = 0; i < Words; ++i) result.word[i] = extract(x, 64 * i - shift);
  return result;
}

/// Returns the full product.
ZEROULP_HD constexpr wide<2> multiply(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t half = low_bits(32);
  wide<2> product;
  product.add((a & half) * (b & half), 0);
  product.add((a & half) * (b >> 32), 32);
  product.add((a >> 32) * (b & half), 32);
  product.add((a >> 32) * (b >> 32), 64);
  return product;
}

static_assert(multiply(~std::uint64_t{0}, ~std::uint64_t{0}).word[0] == 1);
static_assert(multiply(~std::uint64_t{0}, ~std::uint64_t{0}).word[1] ==
              ~std::uint64_t{1});
static_assert(msb(shifted<4>(std::uint64_t{5}, 100)) == 102);
static_assert(extract(shifted<4>(std::uint64_t{5}, 100), 100) == 5);
static_assert((shifted<2>(std::uint64_t{1}, 64) - wide<2>(1)).word[0] ==
              ~std::uint64_t{0});

}  // namespace zeroulp

#endif  // ZEROULP_CORE_WIDE_HPP_
