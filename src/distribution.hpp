// Defines seeded random matrices whose bits are the same on every machine: a
// counter-based generator and distributions made of + - * / and sqrt alone.
//
// Internal.

#ifndef ZEROULP_SRC_DISTRIBUTION_HPP_
#define ZEROULP_SRC_DISTRIBUTION_HPP_

#include <cstdint>
#include <string_view>

namespace zeroulp {

/// mean + spread * z, with z from N(0, 1), or uniform in (-1, 1).
struct distribution {
  const char* name;
  bool normal;
  double mean;
  double spread;
};

/// The inputs of the study, named as in the report.
inline constexpr distribution named_distributions[] = {
    {"N(0,1)", true, 0, 1},
    {"U(0,1)", false, 0.5, 0.5},
    {"U(-1,1)", false, 0, 1},
    {"N(0.5,1)", true, 0.5, 1},
};

/// Returns the 64 random bits of (seed, index).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index);

/// Returns element `index` of the stream `seed`.
double draw(const distribution& d, std::uint64_t seed, std::uint64_t index);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_DISTRIBUTION_HPP_
