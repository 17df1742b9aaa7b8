// Defines quantization for products with block scales as clauses Q15 to Q19
// read: exponents by comparing FP64 numbers, bytes of UE4M3 and elements by
// exact midpoints, stochastic ones by rational numbers, fl() by the host's
// FP32.

#ifndef ZEROULP_CONFORMANCE_ORACLES_BLOCKS_BLOCK_QUANTIZER_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_BLOCKS_BLOCK_QUANTIZER_ORACLE_HPP_

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/block_quantize.hpp"

namespace zeroulp::oracle {

struct quantized_blocks {
  grid codes;
  grid scales;  ///< bytes
  grid second;  ///< FP32 bits; empty without a second level
};

/// A whole matrix of codes of q.from; by random words, one an element, if there
/// are any.
quantized_blocks quantize_blocks(const block_quantizer& q, const grid& x,
                                 const grid& random = {});

/// Q19: the code of `value` / `by` under 32 random bits.
std::uint32_t stochastic_code(format f, double value, double by,
                              std::uint32_t random, policy p);

/// Q17: the byte of UE4M3 for a block's amax under t and T. For the tests of
/// given scales.
std::uint32_t e4m3_byte(const block_quantizer& q, float t, float inverse,
                        float amax);

/// The bytes in the order of Q18, 1 x n, and back.
grid interleave(const grid& scales);
grid separate(const std::uint8_t* interleaved, std::ptrdiff_t rows,
              std::ptrdiff_t blocks);

/// Q15: the values of elements, rounded once to `to`. `second` is 1 x 1 or
/// m x 1; no finite value is below FP64's smallest normal number.
grid dequantize_blocks(format f, block_scale kind, int block, const grid& codes,
                       const grid& scales, const grid& second, format to);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_BLOCKS_BLOCK_QUANTIZER_ORACLE_HPP_
