// Defines `number`: an exact value on its way between formats, and `unpacked`,
// the one that decoding gives.
//
//   value = (-1)^negative * significand * 2^exponent        (kind finite)
//
// The exponent is that of the last bit of the significand. A decoded
// significand is not normalised: it keeps the format's place for every bit,
// because the tensor core aligns by the exponent field (accumulate.hpp).

#ifndef ZEROULP_CORE_UNPACKED_HPP_
#define ZEROULP_CORE_UNPACKED_HPP_

#include "zeroulp/core/config.hpp"

namespace zeroulp {

/// What a value is. Bit 1 is set for what is not a finite number.
enum class kind : std::uint8_t { zero = 0, finite = 1, infinite = 2, nan = 3 };

/// An exact value. The significand is nonzero iff the kind is finite; it is a
/// uint64_t or a wide<>. A NaN keeps its sign, its payload is dropped.
template <class Significand>
struct number {
  Significand significand{};
  std::int32_t exponent = 0;
  zeroulp::kind kind = zeroulp::kind::zero;
  bool negative = false;

  ZEROULP_HD constexpr bool is_zero() const {
    return kind == zeroulp::kind::zero;
  }
  ZEROULP_HD constexpr bool is_finite() const {
    return kind <= zeroulp::kind::finite;
  }
  ZEROULP_HD constexpr bool is_infinite() const {
    return kind == zeroulp::kind::infinite;
  }
  ZEROULP_HD constexpr bool is_nan() const {
    return kind == zeroulp::kind::nan;
  }
};

using unpacked = number<std::uint64_t>;

}  // namespace zeroulp

#endif  // ZEROULP_CORE_UNPACKED_HPP_
