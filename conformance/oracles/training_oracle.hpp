// Defines the training path as clauses E1 to E3 and S1 to S11 read, on the
// host's own floats (no fast-math, no contraction); it shares no code with the
// core's equations. `*_error` hold a result against MPFR instead.

#ifndef ZEROULP_CONFORMANCE_ORACLES_TRAINING_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_TRAINING_ORACLE_HPP_

#include <cstdint>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/training_matrices.hpp"

namespace zeroulp::oracle {

/// FP32 bits; every NaN is 0x7fffffff.
std::uint32_t exponential(std::uint32_t x);
std::uint32_t logistic(std::uint32_t x);
std::uint32_t inverse_root(std::uint32_t x);

/// |result - f(x)| in ulps of f(x): of the gap between the FP32 numbers around
/// it, continued beyond the largest. A special result is 0 from what it should
/// be, and infinitely far from everything else.
double exponential_error(std::uint32_t x, std::uint32_t result);
double logistic_error(std::uint32_t x, std::uint32_t result);
double inverse_root_error(std::uint32_t x, std::uint32_t result);

/// FP32 bits of numbers become codes of a format, and back (C1, F5).
std::uint32_t code_of(format to, float x, rounder r = {});
float number_of(format from, std::uint32_t code);

struct gradients {
  float h, dg, du;
};
float swiglu(float g, float u);
gradients swiglu_gradients(float g, float u, float dh);

/// The factor of a row.
float rms_factor(const std::vector<float>& x, float eps);

struct moments {
  float m, v, w;
};
moments adamw(const adamw_factors& f, moments old, float g);
/// From FP64 arithmetic of the host.
adamw_factors factors(const adamw_settings& s);
/// The random bits of an element for m, or v.
std::uint32_t random_bits(std::uint64_t seed, std::uint64_t index, bool second);

/// BF16 codes of the sum of contributions (BF16 codes), each with its weight
/// unless there are none.
std::uint32_t combine(combine_rule rule,
                      const std::vector<std::uint32_t>& contributions,
                      const std::vector<float>& weights);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_TRAINING_ORACLE_HPP_
