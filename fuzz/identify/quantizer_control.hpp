// Defines what identify_quantizer holds its nearest against: how many of its
// scales and codes agree by chance. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_QUANTIZER_CONTROL_HPP_
#define ZEROULP_FUZZ_IDENTIFY_QUANTIZER_CONTROL_HPP_

#include "fuzz/identify/quantizer_search.hpp"

namespace zeroulp::fuzz {

/// How many scales would agree if they stood in any order. Powers of two are
/// few, so that many do.
agreement chance_of_scales(const quantizer_evidence& e,
                           const quantizer_grid& grid,
                           const judged_scales& nearest);

/// How many codes agree under other scales than those of the nearest: all of
/// them times the same power of 2^(1/4), the best of these. Of many codes, some
/// are looked at.
agreement chance_of_codes(const quantizer_evidence& e,
                          const quantizer_grid& grid,
                          const judged_scales& nearest, element_rule element,
                          const policy& conversion);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_QUANTIZER_CONTROL_HPP_
