// Defines the compiled conversions, quantizers, re-tiling and packing over
// matrices: the bits of the core's functions of the same names, with SIMD and
// on all cores.
//
//   engine::recode(fp32, x, e4m3, codes)                  encode or decode
//   engine::quantize(q, x, codes, scales)                 core/quantize.hpp
//   engine::retile(r, codes, scales, out, out_scales)     core/retile.hpp
//
// Errors: input_error for shapes that do not fit each other and for element
// types too narrow for their format.

#ifndef ZEROULP_ARRAYS_HPP_
#define ZEROULP_ARRAYS_HPP_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/retile.hpp"

#pragma GCC visibility push(default)
namespace zeroulp::engine {

/// A matrix of codes whose element is an unsigned integer of 1, 2 or 4 bytes, a
/// size known at run time. `T` is `void` or `const void`; strides count
/// elements.
template <class T>
struct basic_code_view {
  T* data = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t col_stride = 1;
  int bytes = 4;  ///< of an element

  constexpr basic_code_view() = default;
  constexpr basic_code_view(T* p, std::ptrdiff_t m, std::ptrdiff_t n,
                            std::ptrdiff_t row, std::ptrdiff_t col, int size)
      : data(p),
        rows(m),
        cols(n),
        row_stride(row),
        col_stride(col),
        bytes(size) {}
  template <class Code>
  constexpr basic_code_view(const matrix_view<Code>& v)  // NOLINT: converts
      : basic_code_view(v.data, v.rows, v.cols, v.row_stride, v.col_stride,
                        sizeof(Code)) {
    static_assert(std::is_unsigned_v<Code> && sizeof(Code) <= 4);
  }
  template <class U>
  constexpr basic_code_view(const basic_code_view<U>& v)  // NOLINT: converts
      : basic_code_view(v.data, v.rows, v.cols, v.row_stride, v.col_stride,
                        v.bytes) {}

  constexpr bool is_empty() const { return rows == 0 || cols == 0; }
};
using code_view = basic_code_view<void>;
using const_code_view = basic_code_view<const void>;

/// out(i, j) = recode(from, in(i, j), to, {mode, random(i, j)}, how), m x n.
/// Only stochastic rounding reads `random`, which may have null data otherwise.
void recode(format from, const_code_view in, format to, code_view out,
            rounding mode = rounding::nearest_even, policy how = cuda_satfinite,
            matrix_view<const std::uint32_t> random = {});

/// Quantizes an m x n matrix online, each group by its own amax; one scale
/// (FP32 bits) for each group.
void quantize(const quantizer& q, const_code_view x, code_view codes,
              matrix_view<std::uint32_t> scales);

/// Quantizes each group by the given amax (FP32 bits): delayed scaling.
void quantize(const quantizer& q, const_code_view x,
              matrix_view<const std::uint32_t> amax, code_view codes,
              matrix_view<std::uint32_t> scales);

/// Quantizes each group by a given scale (FP32 bits): static scaling. By 1 it
/// is a cast.
void quantize_by_scale(const quantizer& q, const_code_view x,
                       matrix_view<const std::uint32_t> scales,
                       code_view codes);

/// The amax (FP32 bits) of each group, by the convention's rule.
void group_amaxes(const quantizer& q, const_code_view x,
                  matrix_view<std::uint32_t> amax);

/// fl(code * scale), FP32 bits, m x n.
void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales,
                matrix_view<std::uint32_t> out);

/// code * scale, exact, rounded once to `to`: nearest-even, what is too large
/// by cuda_nosat; m x n. BF16 of the FP32 number above is rounded twice.
void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales, format to,
                code_view out);

/// Re-tiles an m x n matrix to n x m: see zeroulp::retile.
void retile(const retiling& r, const_code_view codes,
            matrix_view<const std::uint32_t> scales, code_view out,
            matrix_view<std::uint32_t> out_scales);

/// 12-bit codes, both layouts of core/pack.hpp; packed rows are bytes.
void pack_bytes(const_code_view codes, matrix_view<std::uint8_t> out);
void unpack_bytes(matrix_view<const std::uint8_t> packed, code_view codes);
void pack_words(const_code_view codes, matrix_view<std::uint8_t> out);
void unpack_words(matrix_view<const std::uint8_t> packed, code_view codes);

}  // namespace zeroulp::engine
#pragma GCC visibility pop

#endif  // ZEROULP_ARRAYS_HPP_
