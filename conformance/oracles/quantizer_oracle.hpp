// Defines quantization as clauses Q1 to Q10 read, on the host's own FP32: fl()
// is one float operation of IEEE 754 (no fast-math, no contraction); exact
// comparisons are in FP64, where every product that occurs is exact.
//
// `rational_*` are a second, slow path in rational numbers: the tests hold the
// first against it.

#ifndef ZEROULP_CONFORMANCE_ORACLES_QUANTIZER_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_QUANTIZER_ORACLE_HPP_

#include "conformance/oracles/grid.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::oracle {

float to_float(std::uint32_t bits);
/// The bits of `x`; every NaN is 0x7fffffff.
std::uint32_t to_bits(float x);

/// The exponent e of Q5 for positive, finite a and max of at most 24 bits, kept
/// within -127..127.
int pow2_exponent(double a, double max, scale_kind kind);

/// Q3, Q4, Q5, Q12. `amax` is FP32 bits, not negative.
group_scale make_scale(const quantizer& q, std::uint32_t amax);

/// Q6: the code of an element.
std::uint32_t quantize_element(const quantizer& q, group_scale s, float x);

/// Q6: what is rounded to an element's code is `value` / `by`, exactly.
struct exact_element {
  double value;
  double by;
};
exact_element element_of(const quantizer& q, group_scale s, float x);

struct quantized {
  grid codes;
  grid scales;
};

/// Q1, Q2: a whole matrix of codes of q.from.
quantized quantize(const quantizer& q, const grid& x);

/// Q14: the codes by given scales.
grid quantize_by_scale(const quantizer& q, const grid& x, const grid& scales);

/// Q9.
std::uint32_t delayed_amax(const std::uint32_t* history, std::ptrdiff_t count,
                           std::uint32_t current, history_rule rule,
                           std::uint32_t decay);

/// Q10.
grid dequantize(format from, group_shape group, const grid& codes,
                const grid& scales);

/// The exponent of Q5, by comparing rational numbers.
int rational_pow2_exponent(double a, double max, scale_kind kind);
/// The code nearest to x / s (both finite, s > 0): of all codes, that at the
/// least rational distance. Slow; for formats of at most 12 bits.
std::uint64_t rational_nearest_code(format f, double x, double s, policy p);
/// fl(a / b), fl(a * b), fl(a * b + c) of finite numbers, from the exact value.
float rational_divide(float a, float b);
float rational_multiply(float a, float b);
float rational_fma(float a, float b, float c);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_QUANTIZER_ORACLE_HPP_
