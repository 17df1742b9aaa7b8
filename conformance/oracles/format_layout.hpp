// Defines `layout`: what the four fields of a format imply. It shares no code
// with the core.
//
// Source: SPEC clauses F1 to F4.

#ifndef ZEROULP_CONFORMANCE_ORACLES_FORMAT_LAYOUT_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_FORMAT_LAYOUT_HPP_

#include <cstdint>

#include "zeroulp/core/format.hpp"

namespace zeroulp::oracle {

/// What the fields of a format imply.
struct layout {
  int magnitude_bits;
  std::uint64_t magnitude_mask;
  std::uint64_t sign_mask;  ///< 0 without sign
  std::uint64_t largest;    ///< the largest finite code
  std::uint64_t codes;      ///< how many codes there are; of up to 63 bits
  int bits;
};
layout layout_of(format f);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_FORMAT_LAYOUT_HPP_
