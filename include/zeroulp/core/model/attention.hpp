// Defines causal attention between its products: softmax by an exact maximum,
// and the elementwise parts of the backward pass.
//
//   S = q k^T    e = exp(c S - max)    l = e 1    O = e v / l
//   dP = dO v^T  dS = P (dP - dO . O)  P = e / l
//
// The products (S; e with ones and v; dP; dQ, dK, dV) are GEMMs of BF16
// operands on the tensor core: their bits depend on no tile, as every sum runs
// over all of its keys in order and the maximum is exact. Templates over an
// arithmetic `A` (elementary.hpp); elements of a row are adjacent. Source: SPEC
// clauses N5 to N7.

#ifndef ZEROULP_CORE_MODEL_ATTENTION_HPP_
#define ZEROULP_CORE_MODEL_ATTENTION_HPP_

#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// The keys of one step of tiles: K of a product ends, or begins, at a multiple
/// of it.
inline constexpr std::ptrdiff_t attention_range = 64;

/// Sequences of `length` tokens, heads beside each other.
struct attention_shape {
  std::ptrdiff_t length;
  std::ptrdiff_t heads;
  std::ptrdiff_t depth;        ///< of a head's q and k
  std::ptrdiff_t value_depth;  ///< of a head's v and output
  std::uint32_t scale;         ///< of the scores, FP32 bits, above 0
};

/// Returns fl(1 / sqrt(n)), the usual scale of n elements, by FP64 operations.
ZEROULP_HD constexpr std::uint32_t attention_scale(std::ptrdiff_t n) {
  const std::uint64_t count = encode(
      fp64, unpacked{static_cast<std::uint64_t>(n), 0, kind::finite, false});
  return static_cast<std::uint32_t>(
      recode(fp64, divide(fp64, 0x3ff0000000000000, square_root(fp64, count)),
             fp32, {}, cuda_nosat));
}

/// Returns the largest scaled score of the keys that a query sees, FP32 bits.
template <class A>
ZEROULP_HD constexpr std::uint32_t attention_largest(
    std::uint32_t scale, const std::uint32_t* scores, std::ptrdiff_t seen) {
  const auto c = A::from_bits(scale);
  return A::bits(row_maximum<A>(seen, [scores, c](std::ptrdiff_t j) {
    return A::multiply(A::from_bits(scores[j]), c);
  }));
}

/// e of one query, from the scores of its n keys and the largest scaled one:
/// BF16 codes, +0 from `seen` on.
template <class A>
ZEROULP_HD constexpr void attention_weights(
    std::uint32_t scale, std::uint32_t largest, const std::uint32_t* scores,
    std::ptrdiff_t seen, std::ptrdiff_t n, std::uint16_t* e) {
  const auto c = A::from_bits(scale);
  const auto m = A::from_bits(largest);
  for (std::ptrdiff_t j = 0; j < seen; ++j) {
    const auto z = A::multiply(A::from_bits(scores[j]), c);
    e[j] = bf16_code<A>(exp<A>(A::subtract(z, m)));
  }
  for (std::ptrdiff_t j = seen; j < n; ++j) e[j] = 0;
}

/// Returns fl(1 / l), FP32 bits, and the output of one query, n elements, BF16.
template <class A>
ZEROULP_HD constexpr std::uint32_t attention_output(std::uint32_t l,
                                                    const std::uint32_t* sums,
                                                    std::ptrdiff_t n,
                                                    std::uint16_t* o) {
  const auto r = A::divide(A::from_bits(fp32_one), A::from_bits(l));
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    o[j] = bf16_code<A>(A::multiply(A::from_bits(sums[j]), r));
  }
  return A::bits(r);
}

/// D of one query and head: n elements of dO (BF16) and of the output as it was
/// kept (FP32).
template <class A>
ZEROULP_HD constexpr std::uint32_t attention_dot(const std::uint16_t* d_o,
                                                 const std::uint32_t* o,
                                                 std::ptrdiff_t n) {
  return A::bits(row_dot<A>(
      n, [d_o](std::ptrdiff_t j) { return bf16_number<A>(d_o[j]); },
      [o](std::ptrdiff_t j) { return A::from_bits(o[j]); }));
}

/// P and dS of one query, BF16 codes, +0 from `seen` on. p: e on entry.
template <class A>
ZEROULP_HD constexpr void attention_gradients(std::uint32_t r, std::uint32_t d,
                                              const std::uint32_t* dp,
                                              std::ptrdiff_t seen,
                                              std::ptrdiff_t n,
                                              std::uint16_t* p,
                                              std::uint16_t* ds) {
  const auto inverse = A::from_bits(r);
  const auto along = A::from_bits(d);
  for (std::ptrdiff_t j = 0; j < seen; ++j) {
    const auto share = A::multiply(bf16_number<A>(p[j]), inverse);
    p[j] = bf16_code<A>(share);
    ds[j] = bf16_code<A>(
        A::multiply(share, A::subtract(A::from_bits(dp[j]), along)));
  }
  for (std::ptrdiff_t j = seen; j < n; ++j) p[j] = ds[j] = 0;
}

/// n elements of dQ or dK from their product: bf(fl(c x)).
template <class A>
ZEROULP_HD constexpr void attention_scaled(std::uint32_t scale,
                                           const std::uint32_t* x,
                                           std::ptrdiff_t n,
                                           std::uint16_t* out) {
  const auto c = A::from_bits(scale);
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    out[j] = bf16_code<A>(A::multiply(c, A::from_bits(x[j])));
  }
}

static_assert(attention_scale(1) == fp32_one);
static_assert(attention_scale(64) == 0x3e000000);
static_assert(attention_scale(192) == 0x3d93cd3a);

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_ATTENTION_HPP_
