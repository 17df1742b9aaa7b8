// Defines seeded random matrices whose bits are the same on every machine: a
// counter-based generator and distributions made of + - * / and sqrt alone.
//
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_DISTRIBUTION_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_DISTRIBUTION_HPP_

#include <cstdint>
#include <string>
#include <string_view>

namespace zeroulp {

/// What a number is made of; z, z1, z2 are from N(0, 1).
enum class law : std::uint8_t {
  normal,     ///< mean + spread * z
  uniform,    ///< mean + spread * u, u uniform in (-1, 1)
  lognormal,  ///< exp(mean + spread * z): one sign
  swiglu,     ///< silu(g) * u, g = mean + spread * z1, u = mean + spread * z2
};

struct distribution {
  law kind;
  double mean;
  double spread;
};

/// The inputs of the study's table.
inline constexpr distribution standard_normal{law::normal, 0, 1};

inline constexpr distribution named_distributions[] = {
    standard_normal,
    {law::uniform, 0.5, 0.5},
    {law::uniform, 0, 1},
    {law::normal, 0.5, 1},
};

/// N(mean,spread), U(low,high), lognormal(spread) or swiglu(spread).
std::string name_of(const distribution& d);
/// Reads such a name. Throws input_error.
distribution parse_distribution(std::string_view text);

/// Returns the 64 random bits of (seed, index).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index);

/// Returns element `index` of the stream `seed`.
double draw(const distribution& d, std::uint64_t seed, std::uint64_t index);

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_ERROR_DISTRIBUTION_HPP_
