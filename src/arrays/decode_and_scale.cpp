// Codes to FP32 numbers, and what quantizers do with FP32 numbers: scaling and
// the largest magnitude.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/arrays/decode_and_scale.cpp"
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

HWY_INLINE int_lanes decode_lanes(const decoding& f, int_lanes code) {
  const ints d;
  const auto magnitude = hn::And(code, hn::Set(d, f.magnitude_mask));
  const auto sign =
      hn::ShiftLeftSame(hn::And(code, hn::Set(d, f.sign_mask)), f.sign_shift);
  const auto number =
      hn::Mul(hn::BitCast(floats(), hn::ShiftLeftSame(magnitude, f.shift)),
              hn::Set(floats(), f.factor));
  auto result = hn::Or(hn::BitCast(d, number), sign);
  auto special = hn::Gt(magnitude, hn::Set(d, f.max_code));
  if (!f.has_negative_zero) {
    const auto only_sign =
        hn::Eq(hn::Or(magnitude, sign), hn::Set(d, INT32_MIN));
    special = hn::Or(special, only_sign);
  }
  if (HWY_LIKELY(hn::AllFalse(d, special))) return result;
  const auto infinite = hn::Eq(magnitude, hn::Set(d, f.infinity_code));
  return hn::IfThenElse(
      special,
      hn::IfThenElse(infinite, by_sign(sign, f.infinite), by_sign(sign, f.nan)),
      result);
}

template <class T>
void decode_as(const decoding& from, const T* codes, std::uint32_t* out,
               std::size_t n) {
  const decoding f = from;
  for_vectors(n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    store(decode_lanes(f, load(codes + i, count)), out + i, count);
  });
}

void decode_any(const decoding& from, const void* codes, int bytes,
                std::uint32_t* out, std::size_t n) {
  switch (bytes) {
    case 1:
      return decode_as(from, static_cast<const std::uint8_t*>(codes), out, n);
    case 2:
      return decode_as(from, static_cast<const std::uint16_t*>(codes), out, n);
    default:
      return decode_as(from, static_cast<const std::uint32_t*>(codes), out, n);
  }
}

/// Returns x - q * s with the right sign, whatever its size.
HWY_INLINE float_lanes residual(float_lanes x, float_lanes q, float_lanes s) {
#if HWY_TARGET == HWY_EMU128
  // No fused operation here, but all products of FP32 are exact in FP64.
  const floats d;
  constexpr std::size_t lanes = hn::MaxLanes(floats());
  HWY_ALIGN float a[lanes];
  HWY_ALIGN float b[lanes];
  HWY_ALIGN float c[lanes];
  hn::Store(x, d, a);
  hn::Store(q, d, b);
  hn::Store(s, d, c);
  for (std::size_t i = 0; i < lanes; ++i) {
    const double rest = static_cast<double>(a[i]) -
                        static_cast<double>(b[i]) * static_cast<double>(c[i]);
    a[i] = rest > 0 ? 1.0f : rest < 0 ? -1.0f : 0.0f;
  }
  return hn::Load(d, a);
#else
  return hn::NegMulAdd(q, s, x);
#endif
}

template <scaling How>
HWY_INLINE int_lanes scale_lanes(int_lanes x, int_lanes s) {
  const ints d;
  const auto fx = hn::BitCast(floats(), x);
  const auto fs = hn::BitCast(floats(), s);
  const auto infinity = hn::Set(d, 0x7f800000);
  const auto magnitude_of = [d](int_lanes v) HWY_ATTR {
    return hn::And(v, hn::Set(d, 0x7fffffff));
  };
  constexpr bool divides =
      How == scaling::divide || How == scaling::divide_exactly;
  const auto fq = divides ? hn::Div(fx, fs) : hn::Mul(fx, fs);
  const auto q = hn::BitCast(d, fq);
  if (How == scaling::divide || How == scaling::multiply) {
    return hn::IfThenElse(hn::Gt(magnitude_of(q), infinity),
                          hn::Set(d, 0x7fffffff), q);
  }
  // What rounding took; a product's has the other sign.
  const auto rest =
      divides ? residual(fx, fq, fs) : hn::Neg(residual(fq, fx, fs));
  // Where q is too large in magnitude the one below; then odd. An Inf that
  // overflowed is too large, too.
  const auto cut =
      hn::Add(q, hn::BroadcastSignBit(hn::Xor(hn::BitCast(d, rest), q)));
  const auto inexact = hn::Ne(rest, hn::Zero(floats()));
  const auto odd =
      hn::IfThenElse(hn::RebindMask(d, inexact), hn::Or(cut, hn::Set(d, 1)), q);
  return hn::IfThenElse(hn::Lt(magnitude_of(x), infinity), odd, x);
}

template <scaling How>
void scale_as(const std::uint32_t* x, const std::uint32_t* s,
              std::uint32_t* out, std::size_t n) {
  for_vectors(n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    store(scale_lanes<How>(load(x + i, count), load(s + i, count)), out + i,
          count);
  });
}

void scale_any(scaling how, const std::uint32_t* x, const std::uint32_t* s,
               std::uint32_t* out, std::size_t n) {
  switch (how) {
    case scaling::multiply:
      return scale_as<scaling::multiply>(x, s, out, n);
    case scaling::divide:
      return scale_as<scaling::divide>(x, s, out, n);
    case scaling::divide_exactly:
      return scale_as<scaling::divide_exactly>(x, s, out, n);
    case scaling::multiply_exactly:
      return scale_as<scaling::multiply_exactly>(x, s, out, n);
  }
}

using shorts = hn::ScalableTag<std::int16_t>;
using short_lanes = hn::Vec<shorts>;

/// Looks up codes of one scale. `normal`: the results of the exponent field 1,
/// less that exponent.
HWY_INLINE short_lanes look_up_lanes(const significand_lookup& f,
                                     short_lanes subnormal, short_lanes normal,
                                     short_lanes code, short_lanes magnitude) {
  const shorts d;
  const auto fraction = hn::And(magnitude, hn::Set(d, f.fraction_mask));
  // Both bytes of an element.
  const auto twice = hn::Add(fraction, fraction);
  const auto bytes =
      hn::Add(hn::Or(twice, hn::ShiftLeft<8>(twice)), hn::Set(d, 0x100));
  const auto exponent =
      hn::ShiftLeftSame(hn::Sub(magnitude, fraction), f.exponent_shift);
  const auto result =
      hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, f.fraction_mask)),
                     hn::Add(hn::TableLookupBytes(normal, bytes), exponent),
                     hn::TableLookupBytes(subnormal, bytes));
  const auto sign = hn::And(code, hn::Set(d, f.sign_mask));
  return hn::Or(result, hn::ShiftLeftSame(sign, f.sign_shift));
}

bool look_up_any(const significand_lookup& rule, const std::uint16_t* tables,
                 std::size_t first, std::size_t width,
                 const std::uint8_t* codes, std::uint16_t* out, std::size_t n) {
  const significand_lookup f = rule;
  const shorts d;
  const hn::Rebind<std::uint8_t, shorts> narrow;
  const hn::Rebind<std::uint16_t, shorts> wide;
  const std::size_t lanes = hn::Lanes(d);
  const auto one = hn::Set(
      d, static_cast<std::int16_t>((f.fraction_mask + 1) << f.exponent_shift));
  auto largest = hn::Zero(d);
  for (std::size_t i = 0, end = first; i < n; tables += 16, end += width) {
    const std::size_t stop = HWY_MIN(end, n);
    const auto subnormal = hn::BitCast(d, hn::LoadDup128(wide, tables));
    const auto normal =
        hn::Sub(hn::BitCast(d, hn::LoadDup128(wide, tables + 8)), one);
    const auto step = [&](const std::uint8_t* from,
                          std::uint16_t* to) HWY_ATTR {
      const auto code = hn::PromoteTo(d, hn::LoadU(narrow, from));
      const auto magnitude = hn::And(code, hn::Set(d, f.magnitude_mask));
      largest = hn::Max(largest, magnitude);
      const auto result = look_up_lanes(f, subnormal, normal, code, magnitude);
      hn::StoreU(hn::BitCast(wide, result), wide, to);
    };
    for (; i + lanes <= stop; i += lanes) step(codes + i, out + i);
    if (i < stop) {
      HWY_ALIGN std::uint8_t few[hn::MaxLanes(shorts())] = {};
      HWY_ALIGN std::uint16_t results[hn::MaxLanes(shorts())];
      std::memcpy(few, codes + i, stop - i);
      step(few, results);
      std::memcpy(out + i, results, (stop - i) * sizeof(*out));
      i = stop;
    }
  }
  return hn::AllFalse(d, hn::Gt(largest, hn::Set(d, f.max_code)));
}

/// Nearest-even to BF16; Inf and NaN stay what they are.
HWY_INLINE int_lanes round_to_bf16(int_lanes magnitude) {
  const ints d;
  const auto odd = hn::And(hn::ShiftRight<16>(magnitude), hn::Set(d, 1));
  const auto sum = hn::Add(hn::Add(magnitude, hn::Set(d, 0x7fff)), odd);
  return hn::IfThenElse(
      hn::Lt(magnitude, hn::Set(d, 0x7f800000)),
      hn::And(sum, hn::Set(d, static_cast<std::int32_t>(0xffff0000))),
      magnitude);
}

template <bool InBf16>
void fold_as(std::int32_t limit, const std::uint32_t* x, std::uint32_t* amax,
             std::size_t n) {
  const ints d;
  for_vectors(n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    auto v = hn::And(load(x + i, count), hn::Set(d, 0x7fffffff));
    if (InBf16) v = round_to_bf16(v);
    v = hn::IfThenZeroElse(hn::Gt(v, hn::Set(d, limit)), v);
    store(hn::Max(v, load(amax + i, count)), amax + i, count);
  });
}

void fold_any(amax_rule rule, bool in_bf16, const std::uint32_t* x,
              std::uint32_t* amax, std::size_t n) {
  const std::int32_t limit = rule == amax_rule::keep_nan   ? 0x7fffffff
                             : rule == amax_rule::skip_nan ? 0x7f800000
                                                           : 0x7f7fffff;
  return in_bf16 ? fold_as<true>(limit, x, amax, n)
                 : fold_as<false>(limit, x, amax, n);
}

std::uint32_t largest_any(const std::uint32_t* magnitudes, std::size_t n) {
  const ints d;
  auto largest = hn::Zero(d);
  for_vectors(n, [&](std::size_t i, std::size_t count) HWY_ATTR {
    largest = hn::Max(largest, load(magnitudes + i, count));
  });
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, largest)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroulp::engine {

void decode_line(const decoding& from, const void* codes, int bytes,
                 std::uint32_t* out, std::size_t n) {
  (*ZEROULP_SIMD_DISPATCH(decode_any))(from, codes, bytes, out, n);
}

void scale_line(scaling how, const std::uint32_t* x, const std::uint32_t* s,
                std::uint32_t* out, std::size_t n) {
  (*ZEROULP_SIMD_DISPATCH(scale_any))(how, x, s, out, n);
}

bool look_up_line(const significand_lookup& rule, const std::uint16_t* tables,
                  std::size_t first, std::size_t width,
                  const std::uint8_t* codes, std::uint16_t* out,
                  std::size_t n) {
  return (*ZEROULP_SIMD_DISPATCH(look_up_any))(rule, tables, first, width,
                                               codes, out, n);
}

void fold_line(amax_rule rule, bool in_bf16, const std::uint32_t* x,
               std::uint32_t* amax, std::size_t n) {
  (*ZEROULP_SIMD_DISPATCH(fold_any))(rule, in_bf16, x, amax, n);
}

std::uint32_t largest_of(const std::uint32_t* magnitudes, std::size_t n) {
  return (*ZEROULP_SIMD_DISPATCH(largest_any))(magnitudes, n);
}

}  // namespace zeroulp::engine
#endif
