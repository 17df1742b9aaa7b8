// Defines the named rows: accumulators of GPUs and what-ifs, and the families
// of paths that combine them with operand formats.
//
//   path name = family . A . B . D          e.g. hopper.wgmma.e4m3.e4m3.f32
//
// Source: SPEC clauses T12 and T13 to T16 (Hopper: measured on an H200; other
// GPUs: as published). A new GPU is a new row.

#ifndef ZEROULP_CORE_PATH_HPP_
#define ZEROULP_CORE_PATH_HPP_

#include "zeroulp/core/accumulate.hpp"

namespace zeroulp {

/// FP8 wgmma with FP32 result: 13 fraction bits, truncated to e8m13.
inline constexpr accumulator hopper_fp8_f32{.length = 32,
                                            .fraction_bits = 13,
                                            .exponent_floor = no_floor,
                                            .output = e8m13,
                                            .conversion = rounding::toward_zero,
                                            .stored = fp32};
/// FP8 wgmma with FP16 result.
inline constexpr accumulator hopper_fp8_f16{
    .length = 32,
    .fraction_bits = 13,
    .exponent_floor = no_floor,
    .output = fp16,
    .conversion = rounding::nearest_even,
    .stored = fp16};
/// BF16 and FP16 with FP32 result, wgmma and mma.sync.
inline constexpr accumulator hopper_half_f32{
    .length = 16,
    .fraction_bits = 25,
    .exponent_floor = -133,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};
inline constexpr accumulator hopper_half_f16{
    .length = 16,
    .fraction_bits = 25,
    .exponent_floor = -21,
    .output = fp16,
    .conversion = rounding::nearest_even,
    .stored = fp16};
inline constexpr accumulator hopper_tf32_f32{
    .length = 8,
    .fraction_bits = 25,
    .exponent_floor = -133,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};
inline constexpr accumulator ada_fp8_f32{.length = 16,
                                         .fraction_bits = 13,
                                         .exponent_floor = no_floor,
                                         .output = e8m13,
                                         .conversion = rounding::toward_zero,
                                         .stored = fp32};
/// FP8 tcgen05 (sm_100a) and mma.sync of RTX Blackwell (sm_120). mma.sync of
/// sm_100 is lowered to FP16, whose accumulators there are Hopper's.
inline constexpr accumulator blackwell_fp8_f32{
    .length = 32,
    .fraction_bits = 25,
    .exponent_floor = -133,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};
inline constexpr accumulator volta_half_f32{.length = 4,
                                            .fraction_bits = 23,
                                            .exponent_floor = no_floor,
                                            .output = fp32,
                                            .conversion = rounding::toward_zero,
                                            .stored = fp32};
inline constexpr accumulator ampere_half_f32{
    .length = 8,
    .fraction_bits = 24,
    .exponent_floor = -132,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};

/// What Hopper's FP8 unit would be with `fraction_bits` (8 to 34).
ZEROULP_HD constexpr accumulator what_if_fraction(int fraction_bits) {
  const int kept = fraction_bits < 23 ? fraction_bits : 23;
  return {32,
          static_cast<std::int16_t>(fraction_bits),
          no_floor,
          {8, static_cast<std::uint8_t>(kept), 127, specials::ieee},
          rounding::toward_zero,
          fp32};
}

/// "Sign-fill right shift" read as two's complement: cut toward -infinity.
inline constexpr accumulator what_if_sign_fill{
    .length = 32,
    .fraction_bits = 13,
    .exponent_floor = no_floor,
    .output = e8m13,
    .conversion = rounding::toward_zero,
    .stored = fp32,
    .cut = rounding::down};
/// "The highest 14 bits": the window hangs from the largest product's top bit.
inline constexpr accumulator what_if_top14{.length = 32,
                                           .fraction_bits = 13,
                                           .exponent_floor = no_floor,
                                           .output = e8m13,
                                           .conversion = rounding::toward_zero,
                                           .stored = fp32,
                                           .cut = rounding::toward_zero,
                                           .c = addend::aligned,
                                           .renormalized = true};
/// c joins after the products are summed and converted.
inline constexpr accumulator what_if_c_last{.length = 32,
                                            .fraction_bits = 13,
                                            .exponent_floor = no_floor,
                                            .output = e8m13,
                                            .conversion = rounding::toward_zero,
                                            .stored = fp32,
                                            .cut = rounding::toward_zero,
                                            .c = addend::last};
/// One FP32 fused multiply-add after the other, nearest-even.
inline constexpr accumulator fp32_sequential{
    .length = 1,
    .fraction_bits = uncut,
    .exponent_floor = no_floor,
    .output = fp32,
    .conversion = rounding::nearest_even,
    .stored = fp32};
/// The exact dot product over all of K, rounded once to FP32.
inline constexpr accumulator exact_f32{.length = 0,
                                       .fraction_bits = uncut,
                                       .exponent_floor = no_floor,
                                       .output = fp32,
                                       .conversion = rounding::nearest_even,
                                       .stored = fp32};

/// Which operand formats a family takes.
enum class operands : std::uint8_t {
  fp8,   ///< e4m3 or e5m2, each operand its own
  half,  ///< both bf16 or both fp16
  fp16_only,
  bf16_only,
  tf32_only,
  any,  ///< fp8, half, tf32 and fp32
};

/// A row of the table of paths.
struct path_family {
  const char* name;
  operands takes;
  accumulator acc;
  zeroulp::lowering lowering;
  const char* source;
};

inline constexpr path_family path_families[] = {
    {"hopper.wgmma", operands::fp8, hopper_fp8_f32, lowering::direct, "H200"},
    {"hopper.wgmma", operands::fp8, hopper_fp8_f16, lowering::direct, "H200"},
    {"hopper.wgmma", operands::half, hopper_half_f32, lowering::direct, "H200"},
    {"hopper.wgmma", operands::fp16_only, hopper_half_f16, lowering::direct,
     "H200"},
    {"hopper.wgmma", operands::tf32_only, hopper_tf32_f32, lowering::direct,
     "H200"},
    {"hopper.mma", operands::half, hopper_half_f32, lowering::direct, "H200"},
    {"hopper.mma", operands::fp16_only, hopper_half_f16, lowering::direct,
     "H200"},
    {"hopper.mma", operands::tf32_only, hopper_tf32_f32, lowering::direct,
     "H200"},
    {"hopper.mma", operands::fp8, hopper_half_f32, lowering::hmma_chained,
     "H200, nvcc 13.0"},
    {"hopper.mma", operands::fp8, hopper_half_f16, lowering::hmma_chained,
     "H200, nvcc 13.0"},
    {"hopper.mma_zero", operands::fp8, hopper_half_f32, lowering::hmma_zero,
     "published: nvcc 12.4"},
    {"ada.mma", operands::fp8, ada_fp8_f32, lowering::direct, "published"},
    {"blackwell.mma", operands::fp8, hopper_half_f32, lowering::hmma_chained,
     "public vectors of a B200"},
    {"blackwell.mma", operands::fp8, hopper_half_f16, lowering::hmma_chained,
     "public vectors of a B200"},
    {"blackwell.tcgen05", operands::fp8, blackwell_fp8_f32, lowering::direct,
     "published"},
    {"rtx_blackwell.mma", operands::fp8, blackwell_fp8_f32, lowering::direct,
     "published"},
    {"volta.mma", operands::fp16_only, volta_half_f32, lowering::direct,
     "published"},
    {"ampere.mma", operands::half, ampere_half_f32, lowering::direct,
     "published"},
    {"whatif.sign_fill", operands::fp8, what_if_sign_fill, lowering::direct,
     "refuted on the H200"},
    {"whatif.top14", operands::fp8, what_if_top14, lowering::direct,
     "refuted on the H200"},
    {"whatif.c_last", operands::fp8, what_if_c_last, lowering::direct,
     "refuted on the H200"},
    {"sequential", operands::any, fp32_sequential, lowering::direct,
     "FP32 fused multiply-adds in k order"},
    {"exact", operands::any, exact_f32, lowering::direct,
     "the exact sum, rounded once"},
};

/// The path that FP8 training GEMMs on Hopper use.
inline constexpr path hopper_wgmma_e4m3{e4m3, e4m3, hopper_fp8_f32};

}  // namespace zeroulp

#endif  // ZEROULP_CORE_PATH_HPP_
