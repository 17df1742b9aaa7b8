// Defines what happens to gradients before the optimizer: sums over shards, the
// norm of all of them, the factor that clips it; and the rate of a step.
//
// Templates over an arithmetic `D` (elementary_fp64.hpp). Source: SPEC clauses
// N16 to N18.

#ifndef ZEROULP_CORE_MODEL_GRADIENT_NORM_HPP_
#define ZEROULP_CORE_MODEL_GRADIENT_NORM_HPP_

#include "zeroulp/core/model/elementary_fp64.hpp"
#include "zeroulp/core/model/row_sums.hpp"

namespace zeroulp {

/// The elements of a chunk of a sum of squares.
inline constexpr std::ptrdiff_t norm_chunk = 65536;

/// Returns the sum of squares of a chunk of n FP32 numbers.
template <class D>
ZEROULP_HD constexpr typename D::number chunk_of_squares(const std::uint32_t* g,
                                                         std::ptrdiff_t n) {
  const auto number = [g](std::ptrdiff_t j) { return D::widen(g[j]); };
  return row_dot<D>(n, number, number);
}

/// Returns what gradients of this norm are multiplied by, FP32 bits: clip /
/// norm if the norm is above `clip`, else 1.
ZEROULP_HD constexpr std::uint32_t clip_factor(double norm, double clip) {
  if (!(norm > clip)) return fp32_one;
  return core_fp64::narrow(core_fp64::divide({bit_cast<std::uint64_t>(clip)},
                                             {bit_cast<std::uint64_t>(norm)}));
}

/// The rate of learning, as one writes it.
struct rate_schedule {
  double rate;
  std::int64_t warmup;  ///< steps of linear growth
  std::int64_t hold;    ///< the last step of the full rate
  std::int64_t steps;   ///< the last step, of `last` times the rate
  double last;
};

/// Returns the rate of step t >= 1, FP64 operations of the core.
ZEROULP_HD constexpr double rate_of(const rate_schedule& s, std::int64_t t) {
  const auto bits = [](double x) { return bit_cast<std::uint64_t>(x); };
  // n > 0.
  const auto count = [](std::int64_t n) {
    return encode(
        fp64, unpacked{static_cast<std::uint64_t>(n), 0, kind::finite, false});
  };
  constexpr std::uint64_t one = 0x3ff0000000000000;
  std::uint64_t result = bits(s.rate);
  if (t <= s.warmup) {
    result = divide(fp64, multiply(fp64, result, count(t)), count(s.warmup));
  } else if (t > s.hold) {
    const std::uint64_t fall = divide(
        fp64,
        multiply(fp64, subtract(fp64, one, bits(s.last)), count(t - s.hold)),
        count(s.steps - s.hold));
    result = multiply(fp64, result, subtract(fp64, one, fall));
  }
  return bit_cast<double>(result);
}

static_assert(rate_of({1e-3, 10, 90, 100, 0.1}, 5) == 5e-4);
static_assert(rate_of({1e-3, 10, 90, 100, 0.1}, 90) == 1e-3);
static_assert(rate_of({1e-3, 10, 90, 100, 0.5}, 100) == 5e-4);
static_assert(clip_factor(1, 1) == fp32_one);
static_assert(clip_factor(4, 1) == 0x3e800000);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_GRADIENT_NORM_HPP_
