// Defines the compiled GEMM: the bits of core/gemm.hpp, faster, on all cores.
//
//   prepared_operand a(e4m3, codes_a), b(e4m3, codes_b);   unpacked once
//   engine::gemm(recipe, a, scales_a, b, scales_b, c, d);
//   engine::multiply(path, a, b, c, d);                    one instruction's
//
// Speed: the engine sums in floating point for every path of a tensor core and
// for similar accumulators. These take at most 32 products a step, cut toward
// zero; their result is FP32 and cut, or FP16 and rounded to nearest. The same
// arithmetic serves sequential sums and exact sums that fit 53 bits. Other
// what-ifs, and outputs with a NaN or Inf among their operands, take the core.

#ifndef ZEROULP_ENGINE_HPP_
#define ZEROULP_ENGINE_HPP_

#include <cstdint>
#include <vector>

#include "zeroulp/arrays.hpp"
#include "zeroulp/core/gemm.hpp"

#pragma GCC visibility push(default)
namespace zeroulp {

struct tile_side;

/// An operand of a GEMM, mn x k, that stores the exact value of each element.
/// A value takes 2 bytes for formats that BF16 holds (such as E4M3, E5M2,
/// E5M6), 4 for others. Formats of up to 32 bits.
class prepared_operand {
 public:
  /// Throws input_error if the format has more bits than that, or more than an
  /// element of `codes`.
  prepared_operand(format f, engine::const_code_view codes);
  template <class Code>
  prepared_operand(format f, const matrix_view<Code>& codes)
      : prepared_operand(f, engine::const_code_view(codes)) {}

  format element() const { return format_; }
  std::ptrdiff_t rows() const { return rows_; }
  std::ptrdiff_t cols() const { return cols_; }

  /// Element (i, k) as decode() has it.
  unpacked value(std::ptrdiff_t i, std::ptrdiff_t k) const;
  /// Returns true iff row i holds a NaN or Inf.
  bool is_special(std::ptrdiff_t i) const {
    return !special_.empty() && special_[static_cast<std::size_t>(i)] != 0;
  }
  /// Returns true iff the kernels can read it: there are elements, and FP32
  /// holds every value, as a subnormal only if it is one in the format.
  bool is_packed() const { return !bf16_.empty() || !fp32_.empty(); }
  /// Internal: up to 128 rows from `row`, a multiple of 64, for a kernel.
  tile_side side(std::ptrdiff_t row, int min_exponent) const;

 private:
  struct place {
    std::size_t at;
    int height;
  };
  place block_of(std::ptrdiff_t row) const;
  template <class Read>
  void pack(Read read);

  format format_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t cols_;
  std::ptrdiff_t depth_;  // elements of K of a block, padded with zeros
  // Blocks of 64 rows, fewer in the last: [block][k][row]. One of these two.
  std::vector<std::uint16_t> bf16_;
  std::vector<float> fp32_;
  std::vector<std::uint32_t> codes_;  // row-major
  std::vector<unsigned char> special_;
};

namespace engine {

/// D = A B^T by `r`, as core/gemm.hpp defines it. r.acc is used whatever the
/// operands are (see for_operands). Scales (FP32 bits) have the recipe's
/// granularity; a view with null data means none. `c` (m x n, FP32 bits) may
/// have null data unless the epilogue accumulates; `d` is m x n. Throws
/// input_error if the recipe is not valid or shapes do not fit.
void gemm(const recipe& r, const prepared_operand& a,
          matrix_view<const std::uint32_t> scales_a, const prepared_operand& b,
          matrix_view<const std::uint32_t> scales_b,
          matrix_view<const std::uint32_t> c, matrix_view<std::uint32_t> d);

/// D = the chain of steps of `p` over K, starting from C, as zeroulp::chain
/// defines it: what an instruction of this path computes. C and D are m x n
/// codes of p.acc.stored; C may have null data (+0). Throws input_error if
/// shapes or the operands' formats do not fit.
void multiply(const path& p, const prepared_operand& a,
              const prepared_operand& b, matrix_view<const std::uint32_t> c,
              matrix_view<std::uint32_t> d);

/// Returns `r` with the accumulator that Hopper has for these operands. The FP8
/// accumulator of the named recipes is replaced by it: BF16 or FP16 on both
/// sides have their own. A recipe with any other accumulator keeps that. Throws
/// input_error for operands that Hopper's tensor core does not take.
recipe for_operands(const recipe& r, format a, format b);

/// The exact products of the codes, without scales, each rounded once to FP64
/// (m x n): the reference for error measures. For E4M3 up to K = 2^17 the
/// results themselves are exact.
void exact_products(const prepared_operand& a, const prepared_operand& b,
                    matrix_view<double> out);

}  // namespace engine
}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_ENGINE_HPP_
