// Defines the search of identify_quantizer: the grid it walks, and the
// definitions that come nearest to the data.
//
//   grid -> amaxes (distinct) -> scales judged -> scales (distinct) -> codes
//
// Members of the grid that have given the same numbers so far are treated as
// one. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_QUANTIZER_SEARCH_HPP_
#define ZEROULP_FUZZ_IDENTIFY_QUANTIZER_SEARCH_HPP_

#include <array>
#include <vector>

#include "fuzz/identify/quantizer.hpp"

namespace zeroulp::fuzz {

// The values of each field of a convention: all that named conventions have.
inline constexpr std::uint32_t grid_floors[] = {0, floor_1e_4, floor_1e_10,
                                                floor_1e_12};
inline constexpr scale_rule grid_scale_rules[] = {
    scale_rule::quotient, scale_rule::times_reciprocal,
    scale_rule::reciprocal_inverse, scale_rule::reciprocal_product};
inline constexpr element_rule grid_element_rules[] = {
    element_rule::exact_quotient, element_rule::quotient,
    element_rule::scale_reciprocal, element_rule::inverse,
    element_rule::approximate_quotient};
inline constexpr pre_rounding grid_pre_roundings[] = {
    pre_rounding::none, pre_rounding::to_bf16, pre_rounding::to_fp16};
/// Further rules of scales: of each convention those that it has.
inline constexpr convention grid_scale_extras[] = {
    zeroulp_convention,
    sglang_convention,
    vllm_per_token_convention,
    vllm_ue8m0_convention,
    vllm_indexer_convention,
    vllm_fnuz_convention,
    huggingface_unrounded_convention,
    torch_bf16_convention,
    huggingface_ue8m0_convention};
inline constexpr amax_rule grid_amax_rules[] = {
    amax_rule::finite_only, amax_rule::skip_nan, amax_rule::keep_nan};
inline constexpr scale_edges grid_edges[] = {
    no_scale_edges, trt_llm_convention.edges, huggingface_convention.edges,
    all_scale_edges};
inline constexpr std::size_t policy_count = std::size(named_policies);
/// Each element rule without and with each pre-rounding.
inline constexpr std::size_t element_count =
    std::size(grid_element_rules) * std::size(grid_pre_roundings);

/// Sets the element rule number `element` of these.
constexpr void set_element(convention& how, std::size_t element) {
  how.element = grid_element_rules[element % std::size(grid_element_rules)];
  how.through = grid_pre_roundings[element / std::size(grid_element_rules)];
}

/// The origin of an amax: indices into the grid.
struct amax_source {
  std::size_t floor;
  std::size_t rule;
  std::size_t bf16;
};

/// One amax for each group, FP32 bits, after the floor, and all its sources.
struct amax_vector {
  std::vector<std::uint32_t> amax;
  std::vector<amax_source> sources;
};

/// The matrix divided into groups of one shape.
struct grouping {
  struct box {
    std::ptrdiff_t gi, gj, i, j, rows, cols;
  };
  group_shape shape;
  std::vector<box> groups;
  std::vector<std::size_t> readings;  ///< of quantizer_grid
  std::vector<amax_vector> amaxes;
};

struct quantizer_grid {
  std::vector<format> formats;
  std::vector<scale_reading> readings;
  std::vector<grouping> groupings;
  format from;     ///< of the elements, whose largest number may matter
  oracle::grid x;  ///< FP32 bits
};

/// A definition of the scales.
struct scale_choice {
  std::size_t grouping;
  std::size_t amax;    ///< index in the grouping's amaxes
  std::size_t format;  ///< index in the grid's formats
  std::size_t kind;    ///< index in named_scale_kinds
  std::size_t rule;    ///< index in grid_scale_rules
  std::size_t edges;   ///< index in grid_edges
  std::size_t extra;   ///< index in grid_scale_extras

  /// Sets what a convention says of scales, but for floor and rule of amax.
  constexpr void set(convention& how) const {
    const convention& more = grid_scale_extras[extra];
    how.scale = grid_scale_rules[rule];
    how.edges = grid_edges[edges];
    how.scale_floor = more.scale_floor;
    how.exponent = more.exponent;
    how.bf16_scale = more.bf16_scale;
    how.unrounded_inverse = more.unrounded_inverse;
    how.largest = more.largest;
  }
};

/// A definition of the scales that fits the data best, in one reading of them.
struct judged_scales {
  scale_choice choice;
  std::size_t reading;
  tally result;
  std::size_t scaling;  ///< index in quantizer_search::codes
};

/// The codes that an element rule makes with one set of scales, by policy.
using judged_codes = std::array<tally, policy_count>;

struct quantizer_search {
  quantizer_grid grid;
  std::vector<judged_scales> scales;  ///< all with the fewest differences
  /// By scaling, by element rule. Tallies above the fewest differences may be
  /// incomplete.
  std::vector<std::array<judged_codes, element_count>> codes;
  std::uint64_t fewest_codes;
};

/// Returns the ways to read SCALES. Throws input_error if there is none.
std::vector<scale_reading> readings_of(const quantizer_evidence& e);
quantizer_grid make_quantizer_grid(const quantizer_evidence& e);

/// Returns the scale of a group, and the word for it in SCALES.
group_scale scale_of(const quantizer_grid& grid, const scale_choice& c,
                     std::size_t group);
std::uint32_t stored_word(scale_storage holds, group_scale s);

quantizer_search search_quantizers(const quantizer_evidence& e);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_QUANTIZER_SEARCH_HPP_
