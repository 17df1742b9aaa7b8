// Defines `counter_rng`: random numbers that are a function of (seed, index).
// Any single case can be made again on any machine, on host or device, in any
// order.
//
//   word n of case i = mix(key(seed, i) + n * golden)          (splitmix64)
//
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// 2014. Left out: the distributions of <random>, which differ between
// libraries. Also here: the words that stochastic rounding takes (SPEC Q20).

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

/// Four words: a counter, or the random ones made of it.
struct four_words {
  std::uint32_t word[4];

  friend constexpr bool operator==(const four_words&,
                                   const four_words&) = default;
};

/// Philox4x32-10, a bijection of the counter for each key, the lower half of
/// which comes first. Source: Salmon, Moraes, Dror, Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3", 2011; it is cuRAND's, too.
ZEROULP_HD constexpr four_words philox4x32_10(four_words counter,
                                              std::uint64_t key) {
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  };
  const auto& c = counter.word;
  std::uint32_t first = low(key);
  std::uint32_t second = low(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p = std::uint64_t{0xd2511f53} * c[0];
    const std::uint64_t r = std::uint64_t{0xcd9e8d57} * c[2];
    counter = {{low(r >> 32) ^ c[1] ^ first, low(r),
                low(p >> 32) ^ c[3] ^ second, low(p)}};
    first += 0x9e3779b9;
    second += 0xbb67ae85;
  }
  return counter;
}

/// Where the random bits of stochastic rounding come from.
enum class random_source : std::uint8_t {
  philox4x32_10,  ///< four words for each counter
  splitmix64,     ///< the low word of the output `index`
};

struct named_random_source {
  const char* name;
  random_source value;
};
inline constexpr named_random_source named_random_sources[] = {
    {"philox4x32_10", random_source::philox4x32_10},
    {"splitmix64", random_source::splitmix64},
};

/// Returns the word `index` of a source: of Philox the word index mod 4 of the
/// counter index / 4, whose upper half is 0, under the key `seed`.
ZEROULP_HD constexpr std::uint32_t random_word(random_source s,
                                               std::uint64_t seed,
                                               std::uint64_t index) {
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  };
  if (s == random_source::splitmix64) {
    return low(mix64(seed + (index + 1) * golden));
  }
  const std::uint64_t counter = index / 4;
  return philox4x32_10({{low(counter), low(counter >> 32), 0, 0}}, seed)
      .word[index % 4];
}

/// Keeps the highest `bits` bits of a word, 1 to 32: as many take part in
/// stochastic rounding.
ZEROULP_HD constexpr std::uint32_t top_bits(std::uint32_t word, int bits) {
  return word & 0xffffffffu << (32 - bits);
}

// The authors' known answers.
static_assert(philox4x32_10({}, 0) ==
              four_words{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
static_assert(philox4x32_10({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                            0x299f31d0a4093822) ==
              four_words{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
static_assert(top_bits(0xdeadbeef, 8) == 0xde000000);
static_assert(random_word(random_source::splitmix64, 0, 0) == 0x7b1dcdaf);

static_assert(counter_rng(1, 0).next() == counter_rng(1, 0).next());
static_assert(counter_rng(1, 0).next() != counter_rng(1, 1).next());
static_assert(counter_rng(1, 0).next() != counter_rng(2, 0).next());

}  // namespace zeroulp

#endif  // ZEROULP_RANDOM_HPP_
