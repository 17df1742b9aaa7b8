// Defines the controls of identify_quantizer: how many scales and codes of its
// nearest member agree by chance. Internal.

#ifndef ZEROULP_FUZZ_IDENTIFY_QUANTIZER_CONTROL_HPP_
#define ZEROULP_FUZZ_IDENTIFY_QUANTIZER_CONTROL_HPP_

#include "fuzz/identify/quantizer_search.hpp"

namespace zeroulp::fuzz {

/// How many scales would agree if they stood in any other order. Many do if the
/// scales are powers of two, which are few.
agreement chance_of_scales(const quantizer_evidence& e,
                           const quantizer_grid& grid,
                           const judged_scales& nearest);

/// How many codes agree under other scales: those of the nearest member, all
/// multiplied by one power of 2^(1/4), for the best such power. If there are
/// many codes, only some are examined.
agreement chance_of_codes(const quantizer_evidence& e,
                          const quantizer_grid& grid,
                          const judged_scales& nearest, std::size_t element,
                          const policy& conversion);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_QUANTIZER_CONTROL_HPP_
