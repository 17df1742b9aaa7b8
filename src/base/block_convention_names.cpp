// The names of quantizers and recipes with block scales.

#include <fmt/format.h>

#include <algorithm>

#include "src/base/fields.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

std::vector<named_block_recipe> make_block_recipes() {
  constexpr auto ue8m0_scale = block_scale::power_of_two;
  constexpr auto products = block_terms::products;
  constexpr auto sums = block_terms::sums;
  constexpr auto one = second_level::none;
  return {
      {"mxfp8",
       {e4m3, e5m2},
       ue8m0_scale,
       32,
       products,
       "mx.rceil",
       one,
       "kind::mxf8f6f4, scales of UE8M0 per 32"},
      {"mxfp6",
       {e2m3, e3m2},
       ue8m0_scale,
       32,
       products,
       "mx.rceil",
       one,
       "kind::mxf8f6f4, scales of UE8M0 per 32"},
      {"mxf8f6f4",
       {e4m3, e5m2, e3m2, e2m3, e2m1},
       ue8m0_scale,
       32,
       products,
       "mx.rceil",
       one,
       "kind::mxf8f6f4: any two formats"},
      {"mxfp4",
       {e2m1},
       ue8m0_scale,
       32,
       sums,
       "mx.rceil",
       one,
       "kind::mxf4, scales of UE8M0 per 32"},
      {"nvfp4",
       {e2m1},
       block_scale::unsigned_e4m3,
       16,
       sums,
       "nvfp4",
       second_level::tensor,
       "kind::mxf4nvf4, scales of UE4M3 per 16"},
  };
}

}  // namespace

named_block_convention parse_block_convention(std::string_view text) {
  return row_named(named_block_conventions, "convention of blocks", text);
}

const std::vector<named_block_recipe>& all_block_recipes() {
  static const auto recipes = make_block_recipes();
  return recipes;
}

block_recipe parse_block_recipe(std::string_view text, format a, format b) {
  const auto& row =
      row_named(all_block_recipes(), "recipe with block scales", text);
  for (const format f : {a, b}) {
    if (std::find(row.takes.begin(), row.takes.end(), f) != row.takes.end()) {
      continue;
    }
    std::string known;
    for (const format taken : row.takes) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(taken));
    }
    throw input_error(fmt::format("recipe {}: an operand is {}, it takes {}",
                                  text, name_of(f), known));
  }
  return {row.terms == block_terms::products
              ? mxf8f6f4(a, b)
              : fp4_by_blocks(row.scale, row.block)};
}

}  // namespace zeroulp
