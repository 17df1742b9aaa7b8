// block-conventions, block-recipes: quantizers and GEMMs with block scales.

#include <fmt/format.h>

#include "src/base/fields.hpp"
#include "tools/zeroulp/catalog.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/tensor/block_tensor.hpp"

namespace zeroulp::program {
namespace {

const char* rule_text(const block_convention& c) {
  switch (c.rule) {
    case block_rule::floor:
      return "2^(floor(log2(amax)) - floor(log2(max)))";
    case block_rule::ceil:
      return "2^(ceil(log2(amax)) - floor(log2(max)))";
    case block_rule::even:
      return "floor of amax rounded to the element's fraction bits";
    case block_rule::exact_quotient:
      return "amax/(max*t)";
    case block_rule::quotient:
      return "fl(amax/fl(max*t))";
    case block_rule::two_quotients:
      return "fl(fl(amax/max)/t)";
    case block_rule::product:
      return "fl(amax*fl(T*fl(1/max)))";
    case block_rule::round_up:
      break;
  }
  switch (c.how.exponent) {
    case exponent_rule::of_log2:
      return "2^ceil(fl(log2(s))), s the FP32 scale";
    case exponent_rule::of_scale:
      return "2^ceil(log2(s)), s the FP32 scale";
    case exponent_rule::exact:
      break;
  }
  return "2^ceil(log2(amax/max))";
}

const char* element_text(const block_convention& c) {
  switch (c.how.element) {
    case element_rule::exact_quotient:
      return "x/S";
    case element_rule::quotient:
      return "fl(x/S)";
    default:
      return c.split_inverse ? "fl(x*fl(fl(1/t)/s))" : "fl(x*fl(1/S))";
  }
}

entry show(const named_block_convention& row) {
  constexpr const char* amax_rules[] = {"finite only", "skip NaN", "keep NaN"};
  constexpr const char* ends[] = {"exact", "S at least 2^-126",
                                  "x*1 under byte 0"};
  const block_convention& c = row.value;
  const bool two = c.scale == block_scale::unsigned_e4m3;
  return {row.name,
          {{"scale", name_of(c.scale)},
           {"block", c.block},
           {"s", rule_text(c)},
           {"least", two ? json(c.least) : json("none")},
           {"second level", two ? "t of a tensor or row" : "none"},
           {"element", element_text(c)},
           {"ends", ends[static_cast<int>(c.ends)]},
           {"amax", amax_rules[static_cast<int>(c.how.amax)]},
           {"source", row.source}}};
}

constexpr std::string_view convention_legend =
    R"(
s           scale of a block, a byte; max is the largest number of the elements
t, T        FP32 scale of the second level, about amax/(448*max), and its inverse
least       the byte of s is at least this
S           what elements are divided by: fl(s*t)
ends        where s is 0 or NaN
)";

entry show(const named_block_recipe& row) {
  std::string takes;
  for (const format f : row.takes) {
    takes += takes.empty() ? "" : ", ";
    takes += name_of(f);
  }
  return {row.name,
          {{"operands", takes},
           {"scale", name_of(row.scale)},
           {"block", row.block},
           {"terms",
            row.terms == block_terms::products ? "products" : "sums of 16"},
           {"convention", row.convention},
           {"second level", name_of(row.level)},
           {"source", row.source}}};
}

}  // namespace

void add_block_catalogs(cli::app& app) {
  add_catalog_command(
      app, "block-conventions",
      "List the quantizers of MXFP8, MXFP6, MXFP4 and NVFP4",
      "zeroulp block-conventions transformer_engine.nvfp4 --diff nvfp4",
      {[] {
         std::vector<entry> all;
         for (const auto& row : named_block_conventions) {
           all.push_back(show(row));
         }
         return all;
       },
       [](const std::string& name) {
         return show(parse_block_convention(name));
       },
       convention_legend});
  add_catalog_command(
      app, "block-recipes", "List the GEMMs with block scales",
      "zeroulp block-recipes nvfp4",
      {[] {
         std::vector<entry> all;
         for (const auto& row : all_block_recipes()) all.push_back(show(row));
         return all;
       },
       [](const std::string& name) {
         return show(
             row_named(all_block_recipes(), "recipe with block scales", name));
       }});
}

}  // namespace zeroulp::program
