// Defines the named rows: accumulators of GPUs and what-ifs, the rules by which
// instructions combine them with operand formats, and the families of paths
// that follow.
//
//   path name = GPU . instruction . A . B . D   e.g. hopper.wgmma.e4m3.e4m3.f32
//
// Source: SPEC clauses T12 and T13 to T16. Left out: how each row is known
// (zeroulp/evidence.hpp). A new GPU is rules, and rows of `instructions`.

#ifndef ZEROULP_CORE_PATH_HPP_
#define ZEROULP_CORE_PATH_HPP_

#include <array>
#include <cstddef>
#include <span>

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
/// FP8 mma.sync of Ada: Hopper's FP8 unit, half as long.
inline constexpr accumulator ada_fp8_f32{.length = 16,
                                         .fraction_bits = 13,
                                         .exponent_floor = no_floor,
                                         .output = e8m13,
                                         .conversion = rounding::toward_zero,
                                         .stored = fp32};
inline constexpr accumulator ada_fp8_f16{.length = 16,
                                         .fraction_bits = 13,
                                         .exponent_floor = no_floor,
                                         .output = fp16,
                                         .conversion = rounding::nearest_even,
                                         .stored = fp16};
/// FP8, FP6 and FP4 (kind::f8f6f4) of tcgen05 (sm_100a) and of mma.sync of RTX
/// Blackwell (sm_120). FP8 mma.sync of sm_100 is lowered to FP16, whose
/// accumulators there are Hopper's.
inline constexpr accumulator blackwell_fp8_f32{
    .length = 32,
    .fraction_bits = 25,
    .exponent_floor = -133,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};
inline constexpr accumulator blackwell_fp8_f16{
    .length = 32,
    .fraction_bits = 25,
    .exponent_floor = -21,
    .output = fp16,
    .conversion = rounding::nearest_even,
    .stored = fp16};
inline constexpr accumulator volta_half_f32{.length = 4,
                                            .fraction_bits = 23,
                                            .exponent_floor = no_floor,
                                            .output = fp32,
                                            .conversion = rounding::toward_zero,
                                            .stored = fp32};
inline constexpr accumulator volta_half_f16{
    .length = 4,
    .fraction_bits = 23,
    .exponent_floor = -19,
    .output = fp16,
    .conversion = rounding::nearest_even,
    .stored = fp16};
/// BF16 and FP16 with FP32 result, of Turing (FP16 alone), Ampere and Ada.
inline constexpr accumulator ampere_half_f32{
    .length = 8,
    .fraction_bits = 24,
    .exponent_floor = -132,
    .output = fp32,
    .conversion = rounding::toward_zero,
    .stored = fp32};
inline constexpr accumulator ampere_half_f16{
    .length = 8,
    .fraction_bits = 24,
    .exponent_floor = -20,
    .output = fp16,
    .conversion = rounding::nearest_even,
    .stored = fp16};
inline constexpr accumulator ampere_tf32_f32{
    .length = 4,
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

/// Which operand formats a rule is for.
enum class operands : std::uint8_t {
  fp8,     ///< e4m3 or e5m2, each operand its own
  f8f6f4,  ///< FP8, e3m2, e2m3 or e2m1, each operand its own
  half,    ///< both bf16 or both fp16
  fp16_only,
  tf32_only,
  any,  ///< fp8, half, tf32 and fp32
};

struct operand_pair {
  format a;
  format b;
};

/// The pairs of formats that an `operands` stands for; on the host.
class operand_pairs {
 public:
  constexpr explicit operand_pairs(operands takes) {
    constexpr format fp8[] = {e4m3, e5m2};
    constexpr format f8f6f4[] = {e4m3, e5m2, e3m2, e2m3, e2m1};
    const bool any = takes == operands::any;
    const bool half = any || takes == operands::half;
    if (any || takes == operands::fp8) add_square(fp8);
    if (takes == operands::f8f6f4) add_square(f8f6f4);
    if (half) add(bf16, bf16);
    if (half || takes == operands::fp16_only) add(fp16, fp16);
    if (any || takes == operands::tf32_only) add(tf32, tf32);
    if (any) add(fp32, fp32);
  }
  constexpr const operand_pair* begin() const { return pairs_; }
  constexpr const operand_pair* end() const { return pairs_ + count_; }
  constexpr int size() const { return count_; }

 private:
  constexpr void add(format a, format b) { pairs_[count_++] = {a, b}; }
  constexpr void add_square(std::span<const format> formats) {
    for (const format a : formats) {
      for (const format b : formats) add(a, b);
    }
  }

  operand_pair pairs_[25]{};
  int count_ = 0;
};

/// A row of the table of paths.
struct path_family {
  const char* name;
  operands takes;
  accumulator acc;
  zeroulp::lowering lowering;
};

/// What an instruction does with operands of some formats.
struct path_rule {
  operands takes;
  accumulator acc;
  zeroulp::lowering lowering = zeroulp::lowering::direct;
};

inline constexpr path_rule hopper_fp8_rules[] = {
    {operands::fp8, hopper_fp8_f32}, {operands::fp8, hopper_fp8_f16}};
inline constexpr path_rule hopper_wide_rules[] = {
    {operands::half, hopper_half_f32},
    {operands::fp16_only, hopper_half_f16},
    {operands::tf32_only, hopper_tf32_f32}};
inline constexpr path_rule hopper_lowered_rules[] = {
    {operands::fp8, hopper_half_f32, lowering::hmma_chained},
    {operands::fp8, hopper_half_f16, lowering::hmma_chained}};
/// Only the result in FP32 is known of it.
inline constexpr path_rule hopper_zero_rules[] = {
    {operands::fp8, hopper_half_f32, lowering::hmma_zero}};
inline constexpr path_rule ampere_rules[] = {
    {operands::half, ampere_half_f32},
    {operands::fp16_only, ampere_half_f16},
    {operands::tf32_only, ampere_tf32_f32}};
inline constexpr path_rule ada_fp8_rules[] = {{operands::fp8, ada_fp8_f32},
                                              {operands::fp8, ada_fp8_f16}};
inline constexpr path_rule blackwell_f8f6f4_rules[] = {
    {operands::f8f6f4, blackwell_fp8_f32},
    {operands::f8f6f4, blackwell_fp8_f16}};
inline constexpr path_rule turing_rules[] = {
    {operands::fp16_only, ampere_half_f32},
    {operands::fp16_only, ampere_half_f16}};
inline constexpr path_rule volta_rules[] = {
    {operands::fp16_only, volta_half_f32},
    {operands::fp16_only, volta_half_f16}};
inline constexpr path_rule sign_fill_rules[] = {
    {operands::fp8, what_if_sign_fill}};
inline constexpr path_rule top14_rules[] = {{operands::fp8, what_if_top14}};
inline constexpr path_rule c_last_rules[] = {{operands::fp8, what_if_c_last}};
inline constexpr path_rule sequential_rules[] = {
    {operands::any, fp32_sequential}};
inline constexpr path_rule exact_rules[] = {{operands::any, exact_f32}};

/// An instruction of a GPU, or a what-if, and rules that it follows.
struct instruction {
  const char* name;
  std::span<const path_rule> rules;
};

/// An accumulator is called by the first that has it.
inline constexpr instruction instructions[] = {
    {"hopper.wgmma", hopper_fp8_rules},
    {"hopper.wgmma", hopper_wide_rules},
    {"hopper.mma", hopper_wide_rules},
    {"hopper.mma", hopper_lowered_rules},
    {"hopper.mma_zero", hopper_zero_rules},
    {"ampere.mma", ampere_rules},
    {"ada.mma", ampere_rules},
    {"ada.mma", ada_fp8_rules},
    {"blackwell.mma", hopper_wide_rules},
    {"blackwell.mma", hopper_lowered_rules},
    {"blackwell.tcgen05", hopper_wide_rules},
    {"blackwell.tcgen05", blackwell_f8f6f4_rules},
    {"rtx_blackwell.mma", hopper_wide_rules},
    {"rtx_blackwell.mma", blackwell_f8f6f4_rules},
    {"turing.mma", turing_rules},
    {"volta.mma", volta_rules},
    {"whatif.sign_fill", sign_fill_rules},
    {"whatif.top14", top14_rules},
    {"whatif.c_last", c_last_rules},
    {"sequential", sequential_rules},
    {"exact", exact_rules},
};

namespace detail {

consteval std::size_t count_rules() {
  std::size_t count = 0;
  for (const instruction& i : instructions) count += i.rules.size();
  return count;
}

consteval std::array<path_family, count_rules()> list_families() {
  std::array<path_family, count_rules()> all{};
  std::size_t count = 0;
  for (const instruction& i : instructions) {
    for (const path_rule& rule : i.rules) {
      all[count++] = {i.name, rule.takes, rule.acc, rule.lowering};
    }
  }
  return all;
}

}  // namespace detail

/// Each instruction with each of its rules.
inline constexpr auto path_families = detail::list_families();

/// The path that FP8 training GEMMs on Hopper use.
inline constexpr path hopper_wgmma_e4m3{e4m3, e4m3, hopper_fp8_f32};

static_assert(operand_pairs(operands::fp8).size() == 4);
static_assert(operand_pairs(operands::f8f6f4).size() == 25);
static_assert(path_families.size() == 43);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_PATH_HPP_
