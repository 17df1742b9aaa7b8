// Defines the values that a call of the C ABI is made of, drawn by name and
// later disturbed: formats, quantizers, paths, recipes, layers.

#ifndef ZEROULP_FUZZ_LIBFUZZER_C_ABI_VALUES_HPP_
#define ZEROULP_FUZZ_LIBFUZZER_C_ABI_VALUES_HPP_

#include <cstdint>

#include "fuzz/libfuzzer/c_abi_arguments.hpp"
#include "zeroulp/zeroulp_model.h"

namespace zeroulp::fuzz {

inline const char* name_in(source& s, std::int32_t table) {
  std::int64_t count = 0;
  while (zeroulp_name(table, count) != nullptr) ++count;
  return zeroulp_name(table, s.byte() % count);
}

inline zeroulp_format format_of(const char* name) {
  zeroulp_format f{};
  zeroulp_format_from_name(name, &f);
  return f;
}
inline zeroulp_format any_format(source& s) {
  constexpr const char* common[] = {"e4m3", "bf16", "fp32", "e5m6"};
  return format_of(s.rarely(3) ? name_in(s, ZEROULP_FORMATS)
                               : common[s.below(4)]);
}

inline zeroulp_quantizer any_quantizer(source& s) {
  constexpr const char* from[] = {"bf16", "fp32", "fp16"};
  constexpr const char* groups[] = {"1x128",  "128x1", "128x128",
                                    "tensor", "1x3",   "2x2"};
  zeroulp_quantizer q{};
  zeroulp_quantizer_from_names(
      from[s.below(3)], s.rarely(3) ? name_in(s, ZEROULP_FORMATS) : "e4m3",
      name_in(s, ZEROULP_CONVENTIONS), name_in(s, ZEROULP_SCALE_KINDS),
      groups[s.below(6)], &q);
  return q;
}

/// The number of groups of `by` elements; one group if `by` is 0 or less.
inline std::int64_t groups(std::int64_t length, std::int32_t by) {
  return by <= 0 ? (length > 0 ? 1 : 0) : (length + by - 1) / by;
}

inline zeroulp_path any_path(source& s) {
  zeroulp_path p{};
  zeroulp_path_from_name(name_in(s, ZEROULP_PATHS), &p);
  return p;
}
inline zeroulp_recipe any_recipe(source& s) {
  zeroulp_recipe r{};
  zeroulp_recipe_from_name(name_in(s, ZEROULP_RECIPES), &r);
  return r;
}

/// Dimensions; arguments that fit get their sizes from them.
struct shape {
  std::int64_t m, n, k;
};

/// For x.n experts and x.k slots.
inline zeroulp_router any_router(source& s, const shape& x) {
  return {static_cast<std::int32_t>(s.below(2)),
          static_cast<std::int32_t>(x.k),
          s.rarely(3) && x.n % 2 == 0 ? 2 : 1,
          1,
          static_cast<std::int32_t>(s.below(2)),
          static_cast<std::int32_t>(s.below(2)),
          s.word()};
}

/// One sequence and head.
inline zeroulp_attention any_attention(source& s, const shape& x) {
  return {s.rarely(4) ? 1 : x.m, 1, s.rarely(8) ? s.word() : 0x3f000000};
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_LIBFUZZER_C_ABI_VALUES_HPP_
