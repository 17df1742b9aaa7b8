// FP32 numbers to codes: the core's encode on the bits of 32-bit lanes.
//
//   significand = 1.F or 0.F as an integer of 24 bits, exponent E (at least 1)
//   step        = how far E is above the format's smallest; below: fewer bits
//   code        = (step << man_bits) + rounded(significand >> shift)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/arrays/encode.cpp"
#include "src/base/simd.hpp"
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on

#include "src/arrays/kernels.hpp"
#include "src/arrays/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp::engine {
namespace HWY_NAMESPACE {
namespace {

/// Returns `significand` / 2^`shift`, rounded; shift >= 1.
template <rounding Mode>
HWY_INLINE int_lanes round_lanes(int_lanes significand, int_lanes shift,
                                 int_lanes x, int_lanes random) {
  const ints d;
  const auto one = hn::Set(d, 1);
  // Shifted by 25 all 24 bits are gone, and none makes half a unit.
  const auto cut = hn::Min(shift, hn::Set(d, 25));
  const auto kept = hn::Shr(significand, cut);
  const auto mask = hn::Sub(hn::Shl(one, cut), one);
  const auto with = [&](int_lanes addend) HWY_ATTR {
    return hn::Shr(hn::Add(significand, addend), cut);
  };
  switch (Mode) {
    case rounding::nearest_even:
      return with(hn::Add(hn::ShiftRight<1>(mask), hn::And(kept, one)));
    case rounding::nearest_away:
      return with(hn::Sub(mask, hn::ShiftRight<1>(mask)));
    case rounding::toward_zero:
      return kept;
    case rounding::up:
      return with(hn::AndNot(hn::BroadcastSignBit(x), mask));
    case rounding::down:
      return with(hn::And(hn::BroadcastSignBit(x), mask));
    case rounding::to_odd: {
      const auto exact = hn::Eq(hn::Shl(kept, cut), significand);
      return hn::IfThenElse(exact, kept, hn::Or(kept, one));
    }
    case rounding::stochastic:
      break;
  }
  // The 32 bits below the cut, against the random ones; unsigned.
  const auto beyond = hn::Sub(shift, hn::Set(d, 32));
  const auto left = hn::Shl(significand, hn::Max(hn::Neg(beyond), hn::Zero(d)));
  const auto right = hn::Shr(
      significand, hn::Min(hn::Max(beyond, hn::Zero(d)), hn::Set(d, 31)));
  const auto fraction =
      hn::IfThenElse(hn::Gt(beyond, hn::Zero(d)), right, left);
  const auto top = hn::Set(d, INT32_MIN);
  const auto away =
      hn::Gt(hn::Xor(fraction, top), hn::Xor(hn::Not(random), top));
  return hn::Sub(kept, hn::VecFromMask(d, away));
}

template <rounding Mode>
HWY_INLINE int_lanes encode_lanes(const encoding& f, int_lanes x,
                                  int_lanes random) {
  const ints d;
  const words du;
  const auto magnitude = hn::And(x, hn::Set(d, 0x7fffffff));
  const auto exponent = hn::Max(hn::ShiftRight<23>(magnitude), hn::Set(d, 1));
  const auto significand =
      hn::Sub(magnitude, hn::ShiftLeft<23>(hn::Sub(exponent, hn::Set(d, 1))));
  const auto above = hn::Sub(exponent, hn::Set(d, f.min_exponent));
  const auto step = hn::Max(above, hn::Zero(d));
  const auto shift = hn::Add(hn::Sub(step, above), hn::Set(d, f.dropped));
  const auto rounded = round_lanes<Mode>(significand, shift, x, random);
  const auto code = hn::Add(hn::ShiftLeftSame(step, f.man_bits), rounded);
  const auto sign = hn::ShiftRightSame(
      hn::And(hn::BitCast(du, x), hn::Set(du, 0x80000000u)), f.sign_shift);
  auto result = hn::Or(code, hn::BitCast(d, sign));
  if (!f.has_negative_zero) {
    result = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(d)), result);
  }
  const auto infinity = hn::Set(d, 0x7f800000);
  const auto beyond = hn::Gt(code, hn::Set(d, f.max_code));
  const auto special = hn::Not(hn::Lt(magnitude, infinity));
  if (HWY_LIKELY(hn::AllFalse(d, hn::Or(beyond, special)))) return result;
  result = hn::IfThenElse(beyond, by_sign(x, f.overflow), result);
  result = hn::IfThenElse(special, by_sign(x, f.infinite), result);
  return hn::IfThenElse(hn::Gt(magnitude, infinity), by_sign(x, f.nan), result);
}

template <rounding Mode, class T>
void encode_as(const encoding& to, const std::uint32_t* x,
               const std::uint32_t* random, T* codes, std::size_t n) {
  const encoding f = to;  // codes may be bytes, which may alias anything
  for_vectors(n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    auto bits = hn::Zero(ints());
    if (Mode == rounding::stochastic) bits = load(random + i, count);
    store(encode_lanes<Mode>(f, load(x + i, count), bits), codes + i, count);
  });
}

template <rounding Mode>
void encode_mode(const encoding& to, const std::uint32_t* x,
                 const std::uint32_t* random, void* codes, int bytes,
                 std::size_t n) {
  switch (bytes) {
    case 1:
      return encode_as<Mode>(to, x, random, static_cast<std::uint8_t*>(codes),
                             n);
    case 2:
      return encode_as<Mode>(to, x, random, static_cast<std::uint16_t*>(codes),
                             n);
    default:
      return encode_as<Mode>(to, x, random, static_cast<std::uint32_t*>(codes),
                             n);
  }
}

void encode_any(const encoding& to, rounding mode, const std::uint32_t* x,
                const std::uint32_t* random, void* codes, int bytes,
                std::size_t n) {
  const auto run = [&](auto encode_one) {
    encode_one(to, x, random, codes, bytes, n);
  };
  switch (mode) {
    case rounding::nearest_even:
      return run(encode_mode<rounding::nearest_even>);
    case rounding::nearest_away:
      return run(encode_mode<rounding::nearest_away>);
    case rounding::toward_zero:
      return run(encode_mode<rounding::toward_zero>);
    case rounding::up:
      return run(encode_mode<rounding::up>);
    case rounding::down:
      return run(encode_mode<rounding::down>);
    case rounding::to_odd:
      return run(encode_mode<rounding::to_odd>);
    case rounding::stochastic:
      return run(encode_mode<rounding::stochastic>);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroulp::engine {

void encode_line(const encoding& to, rounding mode, const std::uint32_t* x,
                 const std::uint32_t* random, void* codes, int bytes,
                 std::size_t n) {
  (*ZEROULP_SIMD_DISPATCH(encode_any))(to, mode, x, random, codes, bytes, n);
}

}  // namespace zeroulp::engine
#endif
