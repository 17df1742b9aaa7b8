// Defines the compiled GEMM: the bits of core/gemm.hpp, faster, on all cores.
//
//   prepared_operand a(e4m3, codes_a), b(e4m3, codes_b);   decoded once
//   engine::gemm(recipe, a, scales_a, b, scales_b, c, d);

#ifndef ZEROULP_ENGINE_HPP_
#define ZEROULP_ENGINE_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/core/gemm.hpp"

namespace zeroulp {

/// An operand of a GEMM, mn x k, decoded. Formats of up to 8 bits are kept as
/// significands and exponents (4 bytes an element), others as exact values.
class prepared_operand {
 public:
  template <class Code>
  prepared_operand(format f, matrix_view<const Code> codes)
      : prepared_operand(f, codes.rows, codes.cols) {
    for (std::ptrdiff_t i = 0; i < rows_; ++i) {
      for (std::ptrdiff_t k = 0; k < cols_; ++k) set(i, k, codes(i, k));
    }
  }

  format element() const { return format_; }
  std::ptrdiff_t rows() const { return rows_; }
  std::ptrdiff_t cols() const { return cols_; }

  /// One element as the fast chain reads it: sign * magnitude * 2^exponent; a
  /// zero has an exponent so low that it never is the largest.
  struct small {
    std::uint8_t magnitude;
    std::int8_t sign;  ///< 0 or -1
    std::int16_t exponent;
  };
  /// Row i of small elements, zeros up to a multiple of 32; null if the format
  /// is too wide or the row holds a NaN or Inf.
  const small* small_row(std::ptrdiff_t i) const;

  /// Element (i, k), exact.
  unpacked value(std::ptrdiff_t i, std::ptrdiff_t k) const {
    return decode(format_, codes_[static_cast<std::size_t>(i * cols_ + k)]);
  }

 private:
  prepared_operand(format f, std::ptrdiff_t rows, std::ptrdiff_t cols);
  void set(std::ptrdiff_t i, std::ptrdiff_t k, std::uint64_t code);

  format format_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t cols_;
  std::ptrdiff_t padded_;
  std::vector<std::uint32_t> codes_;
  std::vector<small> small_;
  std::vector<char> special_;
};

namespace engine {

/// D = A B^T by `r`, as core/gemm.hpp defines it, with r.acc for whatever
/// operands (see for_operands). Scales (FP32 bits) are of the
/// recipe's granularity; a view with null data means none. `c` (m x n, FP32
/// bits) may have null data unless the epilogue accumulates; `d` is m x n.
/// Throws input_error if the recipe is not valid or shapes do not fit.
void gemm(const recipe& r, const prepared_operand& a,
          matrix_view<const std::uint32_t> scales_a, const prepared_operand& b,
          matrix_view<const std::uint32_t> scales_b,
          matrix_view<const std::uint32_t> c, matrix_view<std::uint32_t> d);

/// Returns `r` with the accumulator that Hopper has for these operands: the FP8
/// one of the named recipes stands for it. BF16 or FP16 on both sides have
/// their own; a recipe with another accumulator keeps it. Throws input_error
/// for operands that Hopper's tensor core does not take.
recipe for_operands(const recipe& r, format a, format b);

/// The exact products of the codes, without scales, each rounded once to FP64
/// (m x n): what errors are measured against. For E4M3 up to K = 2^17 the
/// results themselves are exact.
void exact_products(const prepared_operand& a, const prepared_operand& b,
                    matrix_view<double> out);

}  // namespace engine
}  // namespace zeroulp

#endif  // ZEROULP_ENGINE_HPP_
