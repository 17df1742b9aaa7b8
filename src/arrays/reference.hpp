// Defines the operations of arrays.hpp by the core's functions, on copies in
// words: what simd::reference means. Shapes have been checked. Internal.

#ifndef ZEROULP_SRC_ARRAYS_REFERENCE_HPP_
#define ZEROULP_SRC_ARRAYS_REFERENCE_HPP_

#include "zeroulp/arrays.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp::engine {

inline bool by_reference() { return current_simd() == simd::reference; }

/// code * scale, rounded once to `to`.
inline std::uint32_t dequantized(format from, std::uint32_t code,
                                 std::uint32_t scale, format to) {
  return static_cast<std::uint32_t>(encode(
      to, product(decode(from, code), decode(fp32, scale)), {}, cuda_nosat));
}

namespace reference {

void recode(format from, const_code_view in, format to, code_view out,
            rounding mode, policy how, matrix_view<const std::uint32_t> random);
/// By `given` amaxes or, if `by_scale`, scales; with null data: online. Without
/// codes, `amaxes` is filled.
void quantize(const quantizer& q, const_code_view x,
              matrix_view<const std::uint32_t> given, bool by_scale,
              code_view codes, matrix_view<std::uint32_t> scales,
              matrix_view<std::uint32_t> amaxes);
void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales, format to,
                code_view out);
void retile(const retiling& r, const_code_view codes,
            matrix_view<const std::uint32_t> scales, code_view out,
            matrix_view<std::uint32_t> out_scales);
void pack(bool words, const_code_view codes, matrix_view<std::uint8_t> out);
void unpack(bool words, matrix_view<const std::uint8_t> packed,
            code_view codes);

}  // namespace reference
}  // namespace zeroulp::engine

#endif  // ZEROULP_SRC_ARRAYS_REFERENCE_HPP_
