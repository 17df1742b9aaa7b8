// Defines quantization for products with block scales as clauses Q15 to Q18
// read: exponents by comparing FP64 numbers, bytes of UE4M3 and elements by
// exact midpoints, fl() by the host's FP32.

#ifndef ZEROULP_CONFORMANCE_ORACLES_BLOCK_QUANTIZER_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_BLOCK_QUANTIZER_ORACLE_HPP_

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/block_quantize.hpp"

namespace zeroulp::oracle {

struct quantized_blocks {
  grid codes;
  grid scales;  ///< bytes
  grid second;  ///< FP32 bits; empty without a second level
};

/// A whole matrix of codes of q.from.
quantized_blocks quantize_blocks(const block_quantizer& q, const grid& x);

/// Q17: the byte of UE4M3 for a block's amax under t and T. For the tests of
/// given scales.
std::uint32_t e4m3_byte(const block_quantizer& q, float t, float inverse,
                        float amax);

/// The bytes in the order of Q18, 1 x n.
grid interleave(const grid& scales);

/// The value of an element, rounded once to FP32: its bits.
std::uint32_t dequantize_block_element(format f, std::uint32_t code,
                                       block_scale kind, std::uint32_t byte,
                                       std::uint32_t second);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_BLOCK_QUANTIZER_ORACLE_HPP_
