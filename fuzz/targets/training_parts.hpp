// Defines what the targets swiglu, adamw, dispatch, combine and rms_norm share:
// formats and numbers of training, and the kinds of numbers.

#ifndef ZEROULP_FUZZ_TARGETS_TRAINING_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_TRAINING_PARTS_HPP_

#include <string>

#include "fuzz/targets/parts.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {

/// Formats that moments have, in the order of the bins.
inline constexpr named_number_format moment_formats[] = {{"bf16", bf16},
                                                         {"fp32", fp32},
                                                         {"fp16", fp16},
                                                         {"e4m3", e4m3},
                                                         {"e5m2", e5m2}};

/// Returns fp32, bf16 or fp16; bf16 mostly.
inline format draw_number_format(counter_rng& rng) {
  constexpr format all[] = {bf16, bf16, bf16, fp32, fp32, fp16};
  return one_of(all, rng);
}

/// Lengths at and beside those of a tile.
inline constexpr int edge_lengths[] = {127, 128, 129, 256, 257};

/// The factors of AdamW, each an operand after g, m, v and w.
struct adamw_factor {
  const char* name;
  std::uint32_t adamw_factors::*field;
};
inline constexpr adamw_factor adamw_factor_list[] = {
    {"one_minus_beta1", &adamw_factors::one_minus_beta1},
    {"one_minus_beta2", &adamw_factors::one_minus_beta2},
    {"inverse_sqrt_bias2", &adamw_factors::inverse_sqrt_bias2},
    {"eps", &adamw_factors::eps},
    {"decay", &adamw_factors::decay},
    {"step", &adamw_factors::step}};
inline constexpr std::size_t first_factor = 4;

inline adamw_factors factors_in(const problem& p) {
  adamw_factors f{};
  std::size_t i = first_factor;
  for (const auto& factor : adamw_factor_list) {
    f.*factor.field = static_cast<std::uint32_t>(p.in[i++].words[0]);
  }
  return f;
}

/// code_kind, with the largest number as a normal one.
inline int plain_kind(format f, std::uint64_t code) {
  constexpr int plain[] = {0, 1, 2, 2, 3, 4};
  return plain[static_cast<int>(code_kind_of(f, code))];
}
inline bin_axis plain_axis(const char* name) {
  return {name, {"zero", "subnormal", "normal", "inf", "nan"}};
}

inline int sign_of(format f, std::uint64_t code) {
  return (code & f.sign_mask()) != 0 ? 1 : 0;
}

/// Sets each word to a number of about 2^exponent, of either sign.
inline void fill_about(matrix& x, int exponent, int spread, counter_rng& rng) {
  for (auto& word : x.words) {
    const int e = exponent + rng.between(-spread, spread);
    word = with_any_sign(x.type, code_at(x.type, e, some_fraction(x.type, rng)),
                         rng);
  }
}

inline void fill_any(matrix& x, counter_rng& rng) {
  for (auto& word : x.words) word = any_code(x.type, rng);
}

/// Replaces some codes by zeros, subnormals, the largest, Inf and NaN.
inline void strew_kinds(matrix& x, std::uint32_t rarity, counter_rng& rng) {
  for (auto& word : x.words) {
    if (!rng.one_in(rarity)) continue;
    word = code_of_kind(x.type, static_cast<code_kind>(rng.below(code_kinds)),
                        rng);
  }
}

/// Where x, FP32 bits, lies between the codes of `f`.
inline position position_in(format f, std::uint32_t x) {
  const auto fine = recode(fp32, x, refined(f), {}, keep_specials);
  return position_of(f, fine, (x & 0x7fffffff) != 0);
}

/// zero, number, inf or nan; subnormals are numbers.
inline int sort_of(std::uint64_t fp32_bits) {
  const int kind = plain_kind(fp32, fp32_bits);
  return kind == 0 ? 0 : kind <= 2 ? 1 : kind - 1;
}
inline bin_axis sort_axis(const char* name) {
  return {name, {"zero", "number", "inf", "nan"}};
}

/// Returns a group that shares a scale; 1x128 mostly.
inline group_shape draw_group(counter_rng& rng) {
  constexpr group_shape all[] = {{1, 128}, {1, 128},   {1, 128}, {1, 32},
                                 {128, 1}, {128, 128}, {0, 0},   {2, 3}};
  return one_of(all, rng);
}

/// The index in group_axis.
inline int group_edge(std::int32_t group, std::ptrdiff_t length) {
  if (group == 0 || group > length) return 2;
  return length % group != 0 ? 1 : 0;
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_TRAINING_PARTS_HPP_
