// Defines layouts of scales (Q11) and packings of 12-bit codes (P1, P2) as maps
// of positions: each scale or bit has one place, everything else is padding.

#ifndef ZEROULP_CONFORMANCE_ORACLES_LAYOUT_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_LAYOUT_ORACLE_HPP_

#include "conformance/contract/implementation.hpp"
#include "conformance/oracles/grid.hpp"

namespace zeroulp::oracle {

/// What mn x k scales look like in memory.
grid lay_out_scales(scale_layout layout, const grid& scales);

/// What reading the stored scale gives: `s`, or through ue8m0 NaN (0x7fffffff)
/// where `s` has no byte.
std::uint32_t scale_read_back(scale_layout layout, std::uint32_t s);

/// A bit of a packed row.
struct bit_place {
  std::ptrdiff_t byte;
  int bit;
};

/// Where bit `bit` of code `j` of a row lies.
bit_place place_of(conformance::pack_layout layout, std::ptrdiff_t j, int bit);

/// Bytes of a packed row of n codes.
std::ptrdiff_t packed_width(conformance::pack_layout layout, std::ptrdiff_t n);

/// The packed rows, a byte a word of the grid.
grid pack(conformance::pack_layout layout, const grid& codes);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_LAYOUT_ORACLE_HPP_
