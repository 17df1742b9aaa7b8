// Defines how lines enter and leave vectors of 32-bit lanes, whole or in part.
// Included once for each set of vector instructions. Internal.

#if defined(ZEROULP_SRC_ARRAYS_LANES_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZEROULP_SRC_ARRAYS_LANES_HPP_
#undef ZEROULP_SRC_ARRAYS_LANES_HPP_
#else
#define ZEROULP_SRC_ARRAYS_LANES_HPP_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace zeroulp::engine {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using ints = hn::ScalableTag<std::int32_t>;
using words = hn::ScalableTag<std::uint32_t>;
using floats = hn::ScalableTag<float>;
using int_lanes = hn::Vec<ints>;
using float_lanes = hn::Vec<floats>;

/// Calls step(i, count) for the vectors of a line; the last may be in part.
template <class Step>
HWY_INLINE void for_vectors(std::size_t n, Step step) {
  const std::size_t lanes = hn::Lanes(ints());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) step(i, lanes);
  if (i < n) step(i, n - i);
}

/// Loads `count` elements of 1, 2 or 4 bytes, zero-extended; the others are 0.
template <class T>
HWY_INLINE int_lanes load(const T* p, std::size_t count) {
  const ints d;
  const hn::Rebind<T, ints> narrow;
  HWY_ALIGN T few[hn::MaxLanes(ints())];
  if (count != hn::Lanes(d)) {
    std::memset(few, 0, sizeof(few));
    std::memcpy(few, p, count * sizeof(T));
    p = few;
  }
  if constexpr (sizeof(T) == 4) {
    return hn::BitCast(d, hn::LoadU(narrow, p));
  } else {
    return hn::PromoteTo(d, hn::LoadU(narrow, p));
  }
}

/// Stores the low bits of the first `count` lanes.
template <class T>
HWY_INLINE void store(int_lanes v, T* p, std::size_t count) {
  const hn::Rebind<T, ints> narrow;
  const auto put = [&](T* to) HWY_ATTR {
    const auto bits = hn::BitCast(words(), v);
    if constexpr (sizeof(T) == 4) {
      hn::StoreU(bits, narrow, to);
    } else {
      hn::StoreU(hn::TruncateTo(narrow, bits), narrow, to);
    }
  };
  if (count == hn::Lanes(ints())) {
    put(p);
  } else {
    HWY_ALIGN T few[hn::MaxLanes(ints())];
    put(few);
    std::memcpy(p, few, count * sizeof(T));
  }
}

/// Of a pair, the first for lanes that are not negative, else the second.
HWY_INLINE int_lanes by_sign(int_lanes x, const std::int32_t (&pair)[2]) {
  const ints d;
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Set(d, pair[1]),
                        hn::Set(d, pair[0]));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#endif  // ZEROULP_SRC_ARRAYS_LANES_HPP_
