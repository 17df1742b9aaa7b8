// Defines the exponential moving average of weights.
//
//   a' = a + (1 - beta) (w - a)
//
// A template over an arithmetic `A` (elementary.hpp). Source: SPEC clause N26.

#ifndef ZEROULP_CORE_MODEL_WEIGHT_AVERAGE_HPP_
#define ZEROULP_CORE_MODEL_WEIGHT_AVERAGE_HPP_

#include "zeroulp/core/elementary.hpp"

namespace zeroulp {

/// Returns the average of a weight after a step; `rate` is 1 - beta. A weight
/// that is its average leaves it as it is.
template <class A>
ZEROULP_HD constexpr typename A::number updated_average(
    typename A::number average, typename A::number weight,
    typename A::number rate) {
  return A::fma(rate, A::subtract(weight, average), average);
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_WEIGHT_AVERAGE_HPP_
