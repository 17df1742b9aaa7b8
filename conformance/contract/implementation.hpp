// Defines `implementation`: one table of functions that can be held against the
// specification. The core, an engine, a GPU, a peer, a mutant: each is one.
//
// Codes travel as uint64_t one by one and as uint32_t in matrices.

#ifndef ZEROULP_CONFORMANCE_CONTRACT_IMPLEMENTATION_HPP_
#define ZEROULP_CONFORMANCE_CONTRACT_IMPLEMENTATION_HPP_

#include <cstdint>
#include <string>

#include "zeroulp/core/block_quantize.hpp"
#include "zeroulp/core/block_scaled.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/hadamard.hpp"
#include "zeroulp/core/pack.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/retile.hpp"
#include "zeroulp/core/training_matrices.hpp"

namespace zeroulp::conformance {

enum class operation : std::uint8_t {
  add,
  subtract,
  multiply,
  fma,
  divide,
  square_root,
};

enum class pack_layout : std::uint8_t { bytes, words };

using codes_in = matrix_view<const std::uint32_t>;
using codes_out = matrix_view<std::uint32_t>;
using bytes_in = matrix_view<const std::uint8_t>;
using bytes_out = matrix_view<std::uint8_t>;
using slots_in = matrix_view<const std::int32_t>;
using quantized_out = quantized_matrix<std::uint32_t>;
using quantized_in = quantized_matrix<const std::uint32_t, const std::uint32_t>;

/// What the suite calls. Every pointer is set.
struct implementation {
  std::string name;
  unpacked (*decode)(format, std::uint64_t code);
  std::uint64_t (*recode)(format from, std::uint64_t code, format to, rounder,
                          policy);
  /// Unused operands are 0.
  std::uint64_t (*arithmetic)(operation, format, std::uint64_t a,
                              std::uint64_t b, std::uint64_t c, rounder);
  /// Operands are codes of path.a and path.b.
  std::uint64_t (*step)(const path&, const std::uint64_t* a,
                        const std::uint64_t* b, int count, std::uint64_t c);
  group_scale (*make_scale)(const quantizer&, std::uint32_t amax);
  std::uint32_t (*delayed_amax)(const std::uint32_t* history,
                                std::ptrdiff_t count, std::uint32_t current,
                                history_rule, std::uint32_t decay);
  void (*quantize)(const quantizer&, codes_in x, codes_out codes,
                   codes_out scales);
  void (*quantize_by_scale)(const quantizer&, codes_in x, codes_in scales,
                            codes_out codes);
  void (*dequantize)(format, group_shape, codes_in codes, codes_in scales,
                     codes_out out);
  void (*lay_out_scales)(scale_layout, codes_in scales, codes_out out);
  std::uint32_t (*scale_at)(scale_layout, codes_in stored, std::ptrdiff_t i,
                            std::ptrdiff_t k);
  /// Packed rows are bytes in both layouts (words: little end first).
  void (*pack)(pack_layout, codes_in codes, bytes_out out);
  void (*unpack)(pack_layout, bytes_in packed, codes_out codes);
  void (*retile)(const retiling&, codes_in codes, codes_in scales,
                 codes_out out, codes_out out_scales);
  void (*gemm)(const recipe&, const gemm_operand<std::uint32_t>& a,
               const gemm_operand<std::uint32_t>& b, codes_in c, codes_out d);
  /// FP32 bits; PTX div.full.
  std::uint32_t (*approximate_quotient)(std::uint32_t x, std::uint32_t s);
  void (*swiglu_forward)(const swiglu_layer&, codes_in g, codes_in u,
                         codes_out h, quantized_out h_out,
                         quantized_out g_cache, quantized_out u_cache);
  void (*swiglu_backward)(const swiglu_layer&, format from, codes_in dh,
                          quantized_in g_cache, quantized_in u_cache,
                          codes_out h, codes_out dg, codes_out du,
                          quantized_out dg_out, quantized_out du_out);
  void (*rms_norm)(const rms_layer&, codes_in x, codes_in w, codes_out y,
                   codes_out rstd, quantized_out out);
  void (*adamw)(const adamw_step&, codes_in g, codes_out m, codes_out v,
                codes_out w, codes_out copy);
  void (*combine)(combine_rule, codes_in x, slots_in slots, codes_in weights,
                  codes_out out);
  void (*dispatch)(const quantizer&, codes_in x, slots_in rows, codes_out codes,
                   codes_out scales);
  /// Operands are codes of the path's formats, scales those of their blocks.
  std::uint64_t (*block_scaled_step)(const block_scaled_path&,
                                     const std::uint64_t* a,
                                     const std::uint64_t* b,
                                     const std::uint64_t* scales_a,
                                     const std::uint64_t* scales_b, int count,
                                     std::uint64_t c);
  /// `random` may have no data: nearest-even.
  void (*quantize_blocks)(const block_quantizer&, codes_in x, codes_in random,
                          codes_out codes, bytes_out scales, codes_out second);
  /// `second` is 1 x 1 or m x 1.
  void (*dequantize_blocks)(format, block_scale, int block, codes_in codes,
                            bytes_in scales, codes_in second, format to,
                            codes_out out);
  void (*interleave_scales)(bytes_in scales, std::uint8_t* out);
  void (*separate_scales)(const std::uint8_t* interleaved, bytes_out scales);
  /// By butterflies, or by the path `by`; `signs` may be null.
  void (*hadamard)(const hadamard_transform&, const path* by,
                   const std::int8_t* signs, codes_in x, codes_out y);
};

/// The core, as the headers define it.
implementation core_implementation();

/// The oracles: MPFR and GMP, rational numbers, the host's FP32. They share no
/// code with the core; approximate quotients, which have no such oracle, are
/// the core's.
implementation oracle_implementation();

/// The core, with the compiled library's functions where it has its own.
implementation engine_implementation();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CONTRACT_IMPLEMENTATION_HPP_
