// Defines what the core needs of the compiler: ZEROULP_HD (the same function on
// host and device), bit_cast, and the position of the highest set bit.
// The core includes nothing but <cstdint> and <cstddef>, never <cmath>.

#ifndef ZEROULP_CORE_CONFIG_HPP_
#define ZEROULP_CORE_CONFIG_HPP_

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define ZEROULP_HD __host__ __device__
#else
#define ZEROULP_HD
#endif

namespace zeroulp {

/// Returns the bits of `from` as a `To` of the same size.
template <class To, class From>
ZEROULP_HD constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// Returns the index of the highest set bit of `x`, or -1 for zero.
ZEROULP_HD constexpr int msb(std::uint64_t x) {
  return x == 0 ? -1 : 63 - __builtin_clzll(x);
}

/// Returns a word whose `count` lowest bits are set, 0 <= count <= 64.
ZEROULP_HD constexpr std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0}
                     : (std::uint64_t{1} << count) - std::uint64_t{1};
}

static_assert(msb(0) == -1 && msb(1) == 0 && msb(~std::uint64_t{0}) == 63);
static_assert(low_bits(0) == 0 && low_bits(3) == 7 && ~low_bits(64) == 0);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_CONFIG_HPP_
