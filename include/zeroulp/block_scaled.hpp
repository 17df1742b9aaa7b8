// Defines the names of paths, quantizers and GEMM recipes with block scales,
// and all of them on all cores.
//
//   const auto p = parse_block_scaled_path(
//       "blackwell.tcgen05.mxf8f6f4.e4m3.e4m3.f32");
//   engine::multiply(p.value, a, scales_a, b, scales_b, c, d);
//
//   const auto how = parse_block_convention("transformer_engine.nvfp4").value;
//   engine::quantize_blocks({bf16, e2m1, how, second_level::tensor}, x, codes,
//                           scales, second);
//   engine::gemm(parse_block_recipe("nvfp4", e2m1, e2m1), a, b, c, d);
//
// Speed: the named paths have kernels. Outputs with NaN or Inf among their
// elements, with scales below 2^-50 or above 2^50, or near the ends of FP32's
// range take the core.

#ifndef ZEROULP_BLOCK_SCALED_HPP_
#define ZEROULP_BLOCK_SCALED_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/core/block_quantize.hpp"
#include "zeroulp/core/block_scaled.hpp"
#include "zeroulp/core/hadamard.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/evidence.hpp"

#pragma GCC visibility push(default)
namespace zeroulp {

/// A path with block scales and its name: family . A . B . D.
struct named_block_scaled_path {
  std::string name;
  block_scaled_path value;
  std::vector<evidence> known_by;  ///< the strongest first
};

/// Every such path of a GPU: each family with each pair of formats.
const std::vector<named_block_scaled_path>& all_block_scaled_paths();

/// A name of all_block_scaled_paths(), or whatif.block_scaled_fN.A.B.f32 with
/// 8 <= N <= 34. Throws input_error.
named_block_scaled_path parse_block_scaled_path(std::string_view text);

/// A name of named_block_conventions. Throws input_error.
named_block_convention parse_block_convention(std::string_view text);

/// A recipe of a GEMM with block scales: an instruction of tcgen05, whose bits
/// are those of sm_120's, and what quantizes for it where nothing is said.
struct named_block_recipe {
  const char* name;
  std::vector<format> takes;  ///< each operand any of them; the first is usual
  block_scale scale;
  int block;
  block_terms terms;
  const char* convention;
  second_level level;
  const char* source;
};
const std::vector<named_block_recipe>& all_block_recipes();

/// A name of all_block_recipes(), for operands of these formats. Throws
/// input_error: there is none, or it does not take them.
block_recipe parse_block_recipe(std::string_view text, format a, format b);

namespace engine {

/// Quantizes an m x k matrix: core's quantize_blocks. `scales` is
/// m x ceil(k / block); `second` 1 x 1 or m x 1, by q.level, null for none.
/// `random`, m x k, rounds elements stochastically; null: to nearest-even.
/// Throws input_error if `q` is not valid, a block has more than 1024 elements
/// or shapes do not fit.
void quantize_blocks(const block_quantizer& q, const_code_view x,
                     code_view codes, matrix_view<std::uint8_t> scales,
                     matrix_view<std::uint32_t> second,
                     random_view random = {});

/// The same by given scales of the second level, T being fl(1 / t).
void quantize_blocks_by_second(const block_quantizer& q, const_code_view x,
                               matrix_view<const std::uint32_t> second,
                               code_view codes,
                               matrix_view<std::uint8_t> scales,
                               random_view random = {});

/// Transforms an m x k matrix: core's hadamard, or, with `by`, the steps of
/// that path over each block, rounded to t.to. `signs` are t.size of 1 or -1,
/// or null. Throws input_error if `t` is not valid, k is no multiple of t.size,
/// `by` does not take t.from, or shapes do not fit.
void hadamard(const hadamard_transform& t, const path* by,
              const std::int8_t* signs, const_code_view x, code_view out);

/// code * scale * t, exact, rounded once to `to`: nearest-even, by cuda_nosat.
/// `second` may be null, 1 x 1 or m x 1.
void dequantize_blocks(format f, block_scale kind, int block,
                       const_code_view codes,
                       matrix_view<const std::uint8_t> scales,
                       matrix_view<const std::uint32_t> second, format to,
                       code_view out);

/// An operand of a GEMM with block scales: elements, a byte a block, and the
/// FP32 scales of the second level (null, 1 x 1 or rows x 1).
struct block_scaled_operand {
  const prepared_operand& elements;
  matrix_view<const std::uint8_t> scales;
  matrix_view<const std::uint32_t> second{};
};

/// D = A B^T by `r`, as SPEC G14 has it: m x n, bits of r.output. `c` (FP32
/// bits) may be null unless the epilogue accumulates. Throws input_error if `r`
/// is not valid or shapes or formats do not fit.
void gemm(const block_recipe& r, const block_scaled_operand& a,
          const block_scaled_operand& b, matrix_view<const std::uint32_t> c,
          matrix_view<std::uint32_t> d);

/// D = the chain of steps of `p` over K, starting from C. Scales are codes of
/// p.scale, one for each row and p.block elements of K, the last block in part.
/// C and D are m x n codes of p.unscaled.acc.stored; C may have null data (+0).
/// Throws input_error if `p` is not valid, or shapes or formats do not fit.
void multiply(const block_scaled_path& p, const prepared_operand& a,
              matrix_view<const std::uint8_t> scales_a,
              const prepared_operand& b,
              matrix_view<const std::uint8_t> scales_b,
              matrix_view<const std::uint32_t> c, matrix_view<std::uint32_t> d);

}  // namespace engine
}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_BLOCK_SCALED_HPP_
