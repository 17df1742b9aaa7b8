// Defines the operators of a training step as SPEC section N and clauses E6 to
// E8 read, on the host's own floats (no fast-math, no contraction); products
// are in integers. It shares no code with what it is held against: structs are
// read for their fields only.
//
//   model_oracle.cpp             E6, E8, N1 to N4, N15 to N18, N26
//   model_oracle_attention.cpp   N5 to N7, and the products
//   model_oracle_router.cpp      N8 to N14, N25
//   training_mpfr.cpp            E6 (f), E7
//
// A grid has BF16 codes or FP32 bits in its words, as its SPEC clause says;
// indices are in two's complement. Every NaN is 0x7fffffff, or 0x7fff.

#ifndef ZEROULP_CONFORMANCE_ORACLES_MODEL_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_MODEL_ORACLE_HPP_

#include <cstdint>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/model/attention.hpp"
#include "zeroulp/core/model/gradient_norm.hpp"
#include "zeroulp/core/model/rope.hpp"
#include "zeroulp/core/model/router.hpp"

namespace zeroulp::oracle {

// E6
std::uint32_t logarithm(std::uint32_t x);
/// |result - log(x)| in ulps of log(x), as exponential_error().
double logarithm_error(std::uint32_t x, std::uint32_t result);

// E7
struct angle {
  std::uint32_t cosine, sine;
};
/// Of position times frequency, 0 or at least 2^-126.
angle turn(double frequency, std::ptrdiff_t position);
double frequency_of(std::ptrdiff_t n, std::ptrdiff_t i);

// E8
std::uint32_t usual_scale(std::ptrdiff_t n);

// N1, N2
float dot(const std::vector<float>& x, const std::vector<float>& y);
float row_sum(const std::vector<float>& x);
float token_sum(const std::vector<float>& x, const std::vector<float>& y);

/// The largest number: N5 (b).
float largest_of(const std::vector<float>& x);

// N3
struct norm_inputs {
  grid dy, x, w, rstd;
  grid residual;  ///< no rows: there is none
};
struct norm_outputs {
  grid dx, dw;
};
norm_outputs norm_backward(const norm_inputs& t);

// N4
struct rope_inputs {
  rope_pairs pairs;
  bool backward;
  std::ptrdiff_t heads;
  grid x, cosines, sines;
};
grid turned(const rope_inputs& t);

/// T1 to T9 for BF16 operands and FP32 results: FP32 bits of the product of
/// two rows of codes.
std::uint32_t product(const std::vector<std::uint32_t>& a,
                      const std::vector<std::uint32_t>& b);
/// The same by rational_step.hpp.
std::uint32_t rational_product(const std::vector<std::uint32_t>& a,
                               const std::vector<std::uint32_t>& b);

// N5, N6
struct attention_tokens {
  grid q, k, v;
};
struct attended {
  grid o, largest, inverse;
};
attended attend(const attention_shape& shape, const attention_tokens& t);

// N7
struct attention_gradients_of {
  grid dq, dk, dv;
};
/// kept.o: FP32 bits.
attention_gradients_of attend_backward(const attention_shape& shape,
                                       const attention_tokens& t,
                                       const attended& kept, const grid& d_o);

// N8, N9, N10
struct routed {
  grid scores, experts, weights;
};
/// `bias` of no rows: there is none.
routed route(const router& r, const grid& logits, const grid& bias);

// N11
grid route_backward(const router& r, const grid& scores, const grid& experts,
                    const grid& dweights);

// N12
grid updated_bias(const grid& experts, std::uint32_t speed, const grid& bias);

// N13
struct planned {
  grid rows, slots, ends;
};
/// `capacity` rows, -1 beyond the last end.
planned plan(const grid& experts, std::ptrdiff_t count, std::ptrdiff_t align,
             std::ptrdiff_t capacity);

// N14
struct slot_outputs {
  grid d_rows, dweights;
};
slot_outputs slot_backward(const grid& dy, const grid& slots,
                           const grid& weights, const grid& y);

// N15
struct entropy {
  grid losses, dlogits;
};
entropy cross_entropy(const grid& logits, const grid& targets,
                      std::uint32_t factor);
double loss_sum(const grid& losses);

// N25
struct balance_inputs {
  router_score score;
  std::ptrdiff_t length;
  std::uint32_t alpha;
  grid scores, experts;
};
struct balance_outputs {
  grid losses, dlogits;
};
balance_outputs balance(const balance_inputs& t);

// N26
grid averaged(const grid& average, const grid& weights, std::uint32_t rate);

// N16
grid shard_sum(const std::vector<grid>& shards);

// N17
double square_sum(const grid& g);
std::uint32_t clipping(double norm, double clip);

// N18
double rate(const rate_schedule& s, std::int64_t t);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_MODEL_ORACLE_HPP_
