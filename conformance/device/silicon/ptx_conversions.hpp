// Defines every cvt between FP32, TF32, BF16, FP16 and FP8 that ptxas 13.0
// takes for sm_90a, each a row of ZEROULP_CONVERSIONS:
//
//   ROW(OPERANDS, TO, FROM, ROUND, MODIFIERS)
//
// and with each row the struct cvt_TO_FROM_ROUND_MODIFIERS, whose run() is the
// instruction on raw bits. OPERANDS is `two` where PTX takes the two numbers of
// a pair from two registers, the high one first.
//
// Source: PTX ISA 9.0, "cvt". Left out: .sat (clamps to [0, 1]), .ftz, rounding
// modes of exact conversions, conversions of a type to itself, other orders of
// the modifiers. ptxas refuses for sm_90a: .rm and .rp of pairs, of tf32 and
// with .relu or .satfinite; .satfinite of tf32 with .rn and .rz; .relu with
// .rna; modifiers between f16 and bf16; bf16x2 to or from FP8 and f16x2;
// ue8m0x2; .rs.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SILICON_PTX_CONVERSIONS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SILICON_PTX_CONVERSIONS_HPP_

#include <cstdint>
#include <type_traits>

#include "zeroulp/core/format.hpp"
#include "zeroulp/core/round.hpp"

#define ZEROULP_ROUNDED_FROM_F32(ROW, OPERANDS, TO, ROUND) \
  ROW(OPERANDS, TO, f32, ROUND, plain)                     \
  ROW(OPERANDS, TO, f32, ROUND, relu)                      \
  ROW(OPERANDS, TO, f32, ROUND, satfinite)                 \
  ROW(OPERANDS, TO, f32, ROUND, relu_satfinite)

// clang-format off
#define ZEROULP_OF_16_BITS(ROW, ONE, PAIR, OTHER)  \
  ZEROULP_ROUNDED_FROM_F32(ROW, one, ONE, rn)      \
  ZEROULP_ROUNDED_FROM_F32(ROW, one, ONE, rz)      \
  ZEROULP_ROUNDED_FROM_F32(ROW, two, PAIR, rn)     \
  ZEROULP_ROUNDED_FROM_F32(ROW, two, PAIR, rz)     \
  ROW(one, ONE, f32, rm, plain)                    \
  ROW(one, ONE, f32, rp, plain)                    \
  ROW(one, f32, ONE, exact, plain)                 \
  ROW(one, ONE, OTHER, rn, plain)                  \
  ROW(one, ONE, OTHER, rz, plain)                  \
  ROW(one, ONE, OTHER, rm, plain)                  \
  ROW(one, ONE, OTHER, rp, plain)

#define ZEROULP_OF_FP8(ROW, PAIR)                  \
  ROW(two, PAIR, f32, rn, satfinite)               \
  ROW(two, PAIR, f32, rn, satfinite_relu)          \
  ROW(one, PAIR, f16x2, rn, satfinite)             \
  ROW(one, PAIR, f16x2, rn, satfinite_relu)        \
  ROW(one, f16x2, PAIR, rn, plain)                 \
  ROW(one, f16x2, PAIR, rn, relu)

#define ZEROULP_CONVERSIONS(ROW)                   \
  ZEROULP_OF_FP8(ROW, e4m3x2)                      \
  ZEROULP_OF_FP8(ROW, e5m2x2)                      \
  ZEROULP_OF_16_BITS(ROW, f16, f16x2, bf16)        \
  ZEROULP_OF_16_BITS(ROW, bf16, bf16x2, f16)       \
  ROW(one, tf32, f32, rn, plain)                   \
  ROW(one, tf32, f32, rn, relu)                    \
  ROW(one, tf32, f32, rz, plain)                   \
  ROW(one, tf32, f32, rz, relu)                    \
  ROW(one, tf32, f32, rna, plain)                  \
  ROW(one, tf32, f32, rna, satfinite)
// clang-format on

namespace zeroulp::conformance::device::ptx {

/// The content of a register of a PTX type: `count` codes of `element`, the
/// lowest of them at bit `low_bit`.
struct content {
  format element;
  int count;
  int low_bit;
};
inline constexpr content f32{zeroulp::fp32, 1, 0};
inline constexpr content tf32{zeroulp::tf32, 1, 13};
inline constexpr content f16{zeroulp::fp16, 1, 0};
inline constexpr content bf16{zeroulp::bf16, 1, 0};
inline constexpr content f16x2{zeroulp::fp16, 2, 0};
inline constexpr content bf16x2{zeroulp::bf16, 2, 0};
inline constexpr content e4m3x2{zeroulp::e4m3, 2, 0};
inline constexpr content e5m2x2{zeroulp::e5m2, 2, 0};

inline constexpr rounding rn = rounding::nearest_even;
inline constexpr rounding rna = rounding::nearest_away;
inline constexpr rounding rz = rounding::toward_zero;
inline constexpr rounding rm = rounding::down;
inline constexpr rounding rp = rounding::up;
inline constexpr rounding exact = rounding::nearest_even;

struct modifiers {
  bool satfinite;
  bool relu;
};
inline constexpr modifiers plain{false, false};
inline constexpr modifiers relu{false, true};
inline constexpr modifiers satfinite{true, false};
inline constexpr modifiers relu_satfinite{true, true};
inline constexpr modifiers satfinite_relu{true, true};

/// The C++ type of a register.
template <content C>
using register_of = std::conditional_t<
    C.element == zeroulp::fp32, float,
    std::conditional_t<C.element.bits() * C.count + C.low_bit == 32,
                       std::uint32_t, std::uint16_t>>;

template <content C>
__device__ register_of<C> to_register(std::uint32_t bits) {
  if constexpr (std::is_same_v<register_of<C>, float>) {
    return __uint_as_float(bits);
  } else {
    return static_cast<register_of<C>>(bits);
  }
}

template <class Register>
__device__ std::uint32_t to_bits(Register x) {
  if constexpr (std::is_same_v<Register, float>) {
    return __float_as_uint(x);
  } else {
    return x;
  }
}

#define ZEROULP_TEXT_rn ".rn"
#define ZEROULP_TEXT_rna ".rna"
#define ZEROULP_TEXT_rz ".rz"
#define ZEROULP_TEXT_rm ".rm"
#define ZEROULP_TEXT_rp ".rp"
#define ZEROULP_TEXT_exact ""
#define ZEROULP_TEXT_plain ""
#define ZEROULP_TEXT_relu ".relu"
#define ZEROULP_TEXT_satfinite ".satfinite"
#define ZEROULP_TEXT_relu_satfinite ".relu.satfinite"
#define ZEROULP_TEXT_satfinite_relu ".satfinite.relu"

// The asm constraint for a register of each type.
#define ZEROULP_LETTER_f32 "f"
#define ZEROULP_LETTER_tf32 "r"
#define ZEROULP_LETTER_f16 "h"
#define ZEROULP_LETTER_bf16 "h"
#define ZEROULP_LETTER_f16x2 "r"
#define ZEROULP_LETTER_bf16x2 "r"
#define ZEROULP_LETTER_e4m3x2 "h"
#define ZEROULP_LETTER_e5m2x2 "h"

#define ZEROULP_ASM_one(TO, FROM, TEXT) \
  asm(TEXT " %0, %1;"                   \
      : "=" ZEROULP_LETTER_##TO(d)      \
      : ZEROULP_LETTER_##FROM(to_register<FROM>(first)))
#define ZEROULP_ASM_two(TO, FROM, TEXT)                  \
  asm(TEXT " %0, %1, %2;"                                \
      : "=" ZEROULP_LETTER_##TO(d)                       \
      : ZEROULP_LETTER_##FROM(to_register<FROM>(first)), \
        ZEROULP_LETTER_##FROM(to_register<FROM>(second)))

#define ZEROULP_DEFINE(OPERANDS, TO, FROM, ROUND, MODIFIERS)              \
  struct cvt_##TO##_##FROM##_##ROUND##_##MODIFIERS {                      \
    static __device__ std::uint32_t run(                                  \
        std::uint32_t first, [[maybe_unused]] std::uint32_t second) {     \
      register_of<TO> d;                                                  \
      ZEROULP_ASM_##OPERANDS(                                             \
          TO, FROM,                                                       \
          "cvt" ZEROULP_TEXT_##ROUND ZEROULP_TEXT_##MODIFIERS "." #TO     \
                                                              "." #FROM); \
      return to_bits(d);                                                  \
    }                                                                     \
  };

ZEROULP_CONVERSIONS(ZEROULP_DEFINE)

#undef ZEROULP_DEFINE
#undef ZEROULP_ASM_two
#undef ZEROULP_ASM_one

}  // namespace zeroulp::conformance::device::ptx

#endif  // ZEROULP_CONFORMANCE_DEVICE_SILICON_PTX_CONVERSIONS_HPP_
