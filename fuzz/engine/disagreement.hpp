// Defines the disagreement matrix: how often two quantizer conventions give
// different scales or different codes, and an example of each.
//
//   case (seed, index) -> one group -> each convention's scale and codes once
//   -> every pair compared
//
// A case is a function of its seed and index; no result depends on threads.
// Source: SPEC clause Q13 for the conventions.

#ifndef ZEROULP_FUZZ_ENGINE_DISAGREEMENT_HPP_
#define ZEROULP_FUZZ_ENGINE_DISAGREEMENT_HPP_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "zeroulp/core/quantize.hpp"

namespace zeroulp::fuzz {

inline constexpr std::size_t convention_count = std::size(named_conventions);

/// The kind of groups that are tried.
enum class group_data : std::uint8_t {
  normal,    ///< bell-shaped, of any magnitude
  boundary,  ///< amaxes on which rules differ, elements on code midpoints
};

struct disagreement_request {
  std::uint64_t cases = 2000;  ///< groups for each input and kind of data
  std::uint64_t seed = 1;
  format to = e4m3;
  group_shape group{1, 128};  ///< a dimension of 0 is 64 long
  /// Empty: each convention's own.
  std::optional<scale_kind> scale;
};

/// Where two conventions differ, with the fewest significant bits found.
struct disagreement_example {
  std::uint32_t amax;     ///< FP32 bits: the largest finite magnitude
  std::uint32_t special;  ///< FP32 bits: the NaN or Inf in the group, or 0
  std::uint32_t x;        ///< FP32 bits of the element, where codes differ
  std::uint64_t first;
  std::uint64_t second;
};

/// The comparison of two conventions.
struct convention_pair {
  std::size_t first;
  std::size_t second;
  std::uint64_t scales_differ = 0;
  std::uint64_t codes_differ = 0;
  std::optional<disagreement_example> scale;
  std::optional<disagreement_example> code;
};

/// All pairs on one kind of data.
struct disagreement {
  format from;
  group_data data;
  std::uint64_t scales = 0;
  std::uint64_t codes = 0;
  std::vector<convention_pair> pairs;  ///< first < second, in order
};

/// Called now and then with the number of cases done, and of all cases.
using disagreement_progress = std::function<void(double done, double total)>;

/// Returns one result each for FP32 and BF16, normal and boundary data.
std::vector<disagreement> find_disagreements(
    const disagreement_request& q, const disagreement_progress& progress = {});

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_DISAGREEMENT_HPP_
