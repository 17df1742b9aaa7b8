// Defines multi-head latent attention (MLA) and the two orders of its products:
// keys and values are made of a latent row that all heads share.
//
//   unabsorbed   k = c W_k^T, v = c W_v^T; attention of q and [k | k_rope], v
//   absorbed     a = q W_k; attention of [a | q_rope] and [c | k_rope], c;
//                o = (e c / l) W_v^T
//
// In exact numbers they are the same; each rounds in other places. There is no
// arithmetic here besides that of attention.hpp and of products. Source: SPEC
// clause N27; DeepSeek-V2's report, 2.1.

#ifndef ZEROULP_CORE_MODEL_MLA_HPP_
#define ZEROULP_CORE_MODEL_MLA_HPP_

#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// Keys and values of each head, as in training; or the latent row instead, as
/// in decoding.
enum class mla_order : std::uint8_t { unabsorbed, absorbed };

/// Sequences of `length` tokens, heads beside each other.
struct mla_shape {
  std::ptrdiff_t length;
  std::ptrdiff_t heads;
  std::ptrdiff_t depth;        ///< of a head's q and k without position
  std::ptrdiff_t rope_depth;   ///< of those with position
  std::ptrdiff_t value_depth;  ///< of a head's v and output
  std::ptrdiff_t rank;         ///< of the latent row
  std::uint32_t scale;         ///< of the scores, FP32 bits, above 0
};

/// m tokens, all BF16.
struct mla_tokens {
  /// m x heads (depth + rope_depth), rope's elements turned.
  matrix_view<const std::uint16_t> q;
  matrix_view<const std::uint16_t> latent;    ///< m x rank
  matrix_view<const std::uint16_t> rope_key;  ///< m x rope_depth, turned
  /// heads (depth + value_depth) x rank: of each head W_k, then W_v.
  matrix_view<const std::uint16_t> up;
};

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_MLA_HPP_
