// Defines `counter_rng`: random numbers that are a function of (seed, index).
// Any single case can be made again on any machine, on host or device, in any
// order.
//
//   word n of case i = mix(key(seed, i) + n * golden)          (splitmix64)
//
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// 2014. Left out: the distributions of <random>, which differ between
// libraries.

#ifndef ZEROULP_RANDOM_HPP_
#define ZEROULP_RANDOM_HPP_

#include "zeroulp/core/config.hpp"

namespace zeroulp {

/// The finalizer of splitmix64: a bijection of 64 bits.
ZEROULP_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// 2^64 / the golden ratio, odd.
inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

/// The random words of one case. A copy repeats them.
class counter_rng {
 public:
  ZEROULP_HD constexpr counter_rng(std::uint64_t seed, std::uint64_t index)
      : state_(mix64(mix64(seed + golden) ^ (index * golden + 1))) {}

  ZEROULP_HD constexpr std::uint64_t next() { return mix64(state_ += golden); }
  ZEROULP_HD constexpr std::uint32_t next32() {
    return static_cast<std::uint32_t>(next() >> 32);
  }
  /// Returns a number in [0, n), n > 0. The bias of at most n / 2^32 is of no
  /// concern to tests.
  ZEROULP_HD constexpr std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((std::uint64_t{next32()} * n) >> 32);
  }
  /// Returns a number in [low, high].
  ZEROULP_HD constexpr int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint32_t>(
                     static_cast<std::int64_t>(high) - low + 1)));
  }
  /// Returns true once in `n` times.
  ZEROULP_HD constexpr bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

static_assert(counter_rng(1, 0).next() == counter_rng(1, 0).next());
static_assert(counter_rng(1, 0).next() != counter_rng(1, 1).next());
static_assert(counter_rng(1, 0).next() != counter_rng(2, 0).next());

}  // namespace zeroulp

#endif  // ZEROULP_RANDOM_HPP_
