// Defines the inputs of one step: random families, and directed cases on which
// the neighbours of each parameter give another result.

#ifndef ZEROULP_CONFORMANCE_CASES_STEP_CASES_HPP_
#define ZEROULP_CONFORMANCE_CASES_STEP_CASES_HPP_

#include <functional>
#include <optional>
#include <vector>

#include "zeroulp/core/accumulate.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {

/// Operands and c. The arrays go on beyond `count` with codes that nobody may
/// read.
struct step_case {
  std::vector<std::uint64_t> a;
  std::vector<std::uint64_t> b;
  int count = 0;
  std::uint64_t c = 0;
};

enum class step_family : std::uint8_t {
  bits,        ///< any code
  finite,      ///< any finite code
  normal,      ///< as a normal distribution has them
  sparse,      ///< mostly zeros, of both signs
  cancelling,  ///< sums to 0 or a few quanta
  tiny,        ///< subnormal operands, results that vanish
  near_c,      ///< c above, at and below the largest place
  special_c,   ///< c subnormal, largest, Inf, NaN
  huge,        ///< overflow
  zeros,       ///< zero products only
};
inline constexpr int step_families = 10;

/// A random case of `family` for `p`.
step_case make_step_case(const path& p, step_family family, counter_rng rng);

/// The code of (-1)^negative * u * 2^exponent, u > 0; nothing where `f` does
/// not have that number.
std::optional<std::uint64_t> code_for(format f, bool negative, std::uint64_t u,
                                      int exponent);

/// The largest finite code, positive.
std::uint64_t largest_code(format f);

using step_visitor = std::function<void(const step_case&)>;

/// Calls `visit` with directed cases for every parameter of p.acc; from `level`
/// 1 with more of the same.
void directed_step_cases(const path& p, int level, const step_visitor& visit);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_STEP_CASES_HPP_
