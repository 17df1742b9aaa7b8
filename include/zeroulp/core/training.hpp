// Defines the equations of the training path: SwiGLU, RMSNorm, AdamW, combine.
//
//   h = g sigmoid(g) u            y = x / sqrt(mean(x^2) + eps) w
//   m' = m + (1 - beta1) (g - m),  v' = v + (1 - beta2) (g^2 - v),
//   w' = w - decay w - step m' / (sqrt(v') / sqrt(1 - beta2^t) + eps)
//
// Each is a function of FP32 numbers, written once over an arithmetic `A`
// (elementary.hpp); kernels call it. Source: SPEC clauses S1 to S10. Left out:
// matrices, and what is quantized (training_matrices.hpp).

#ifndef ZEROULP_CORE_TRAINING_HPP_
#define ZEROULP_CORE_TRAINING_HPP_

#include "zeroulp/core/elementary.hpp"
#include "zeroulp/core/scale.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp {

/// Returns fl(fl(g * sigmoid(g)) * u).
template <class A>
ZEROULP_HD constexpr typename A::number swiglu_value(typename A::number g,
                                                     typename A::number u) {
  return A::multiply(A::multiply(g, sigmoid<A>(g)), u);
}

/// The gradients of SwiGLU, and its value again.
template <class A>
struct swiglu_gradients {
  typename A::number h;
  typename A::number dg;
  typename A::number du;
};

/// `s` is sigmoid(g).
template <class A>
ZEROULP_HD constexpr swiglu_gradients<A> swiglu_gradient_of(
    typename A::number g, typename A::number s, typename A::number u,
    typename A::number dh) {
  const auto one = A::from_bits(fp32_one);
  const auto silu = A::multiply(g, s);
  // silu'(g) = s (1 + g (1 - s))
  const auto slope = A::multiply(s, A::fma(g, A::subtract(one, s), one));
  return {A::multiply(silu, u), A::multiply(A::multiply(dh, u), slope),
          A::multiply(dh, silu)};
}

template <class A>
ZEROULP_HD constexpr swiglu_gradients<A> swiglu_gradient(
    typename A::number g, typename A::number u, typename A::number dh) {
  return swiglu_gradient_of<A>(g, sigmoid<A>(g), u, dh);
}

/// The partial sums of RMSNorm: p[t] takes the elements 2048 i + 8 t + (0..7).
inline constexpr std::ptrdiff_t rms_lanes = 256;
inline constexpr std::ptrdiff_t rms_run = 8;

/// Returns lane t of the sum of squares of x(0) to x(n - 1), numbers: their
/// chain of fma, ascending, from +0.
template <class A, class Row>
ZEROULP_HD constexpr typename A::number rms_partial(const Row& x,
                                                    std::ptrdiff_t n,
                                                    std::ptrdiff_t lane) {
  auto p = A::from_bits(0);
  for (std::ptrdiff_t j = rms_run * lane; j < n; j += rms_run * rms_lanes) {
    const std::ptrdiff_t end = n - j < rms_run ? n : j + rms_run;
    for (std::ptrdiff_t k = j; k < end; ++k) {
      const auto value = x(k);
      p = A::fma(value, value, p);
    }
  }
  return p;
}

/// Returns the sum of a row's partial sums, added as a tree of neighbours,
/// p[2t] + p[2t + 1]. Overwrites them.
template <class A>
ZEROULP_HD constexpr typename A::number rms_tree(
    typename A::number (&p)[rms_lanes]) {
  for (std::ptrdiff_t count = rms_lanes / 2; count > 0; count /= 2) {
    for (std::ptrdiff_t t = 0; t < count; ++t) {
      p[t] = A::add(p[2 * t], p[2 * t + 1]);
    }
  }
  return p[0];
}

/// Returns the sum of squares of a row.
template <class A, class Row>
ZEROULP_HD constexpr typename A::number sum_of_squares(const Row& x,
                                                       std::ptrdiff_t n) {
  typename A::number p[rms_lanes]{};
  for (std::ptrdiff_t t = 0; t < rms_lanes; ++t) p[t] = rms_partial<A>(x, n, t);
  return rms_tree<A>(p);
}

/// Returns 1 / sqrt(sum / n + eps), n as an FP32 number.
template <class A>
ZEROULP_HD constexpr typename A::number rms_rstd(typename A::number sum,
                                                 typename A::number n,
                                                 typename A::number eps) {
  return rsqrt<A>(A::add(A::divide(sum, n), eps));
}

template <class A>
ZEROULP_HD constexpr typename A::number rms_value(typename A::number x,
                                                  typename A::number rstd,
                                                  typename A::number w) {
  return A::multiply(A::multiply(x, rstd), w);
}

/// The FP32 number nearest to n >= 0.
ZEROULP_HD constexpr std::uint32_t count_as_fp32(std::ptrdiff_t n) {
  return n == 0 ? 0
                : static_cast<std::uint32_t>(
                      encode(fp32, unpacked{static_cast<std::uint64_t>(n), 0,
                                            kind::finite, false}));
}

/// What AdamW multiplies by at one step, FP32 bits.
struct adamw_factors {
  std::uint32_t one_minus_beta1;
  std::uint32_t one_minus_beta2;
  std::uint32_t inverse_sqrt_bias2;  ///< 1 / sqrt(1 - beta2^t)
  std::uint32_t eps;
  std::uint32_t decay;  ///< rate * weight decay
  std::uint32_t step;   ///< rate / (1 - beta1^t)

  friend constexpr bool operator==(const adamw_factors&,
                                   const adamw_factors&) = default;
};

/// The state of a parameter: moments and weight.
template <class A>
struct adamw_state {
  typename A::number m;
  typename A::number v;
  typename A::number w;
};

/// Returns the state after a gradient. With 0 <= 1 - beta2 <= 1 a v that is not
/// negative stays so: what is added is at least -v.
template <class A>
ZEROULP_HD constexpr adamw_state<A> adamw_update(const adamw_factors& f,
                                                 const adamw_state<A>& old,
                                                 typename A::number g) {
  const auto k = [](std::uint32_t bits) { return A::from_bits(bits); };
  const auto m = A::fma(k(f.one_minus_beta1), A::subtract(g, old.m), old.m);
  const auto v = A::fma(k(f.one_minus_beta2),
                        A::subtract(A::multiply(g, g), old.v), old.v);
  const auto denominator =
      A::add(A::multiply(A::square_root(v), k(f.inverse_sqrt_bias2)), k(f.eps));
  const auto decayed = A::fma(A::negate(k(f.decay)), old.w, old.w);
  const auto w =
      A::fma(A::negate(k(f.step)), A::divide(m, denominator), decayed);
  return {m, v, w};
}

/// Returns the 64 random bits of an element: word `index` of splitmix64 from
/// `seed`. Its low half rounds m, its high half v.
ZEROULP_HD constexpr std::uint64_t adamw_random(std::uint64_t seed,
                                                std::uint64_t index) {
  return mix64(seed + (index + 1) * golden);
}

/// AdamW's settings as one writes them; FP64 bits but for the step, t >= 1.
struct adamw_settings {
  double rate;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  std::int64_t t;
};

/// Returns the factors of a step. FP64 operations of the core, each rounded
/// once; then each factor is rounded to FP32. beta^t by squaring, from the
/// lowest bit of t.
ZEROULP_HD constexpr adamw_factors make_adamw_factors(const adamw_settings& s) {
  const auto number = [](double x) { return bit_cast<std::uint64_t>(x); };
  const auto narrow = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(recode(fp64, x, fp32, {}, cuda_nosat));
  };
  constexpr std::uint64_t one = 0x3ff0000000000000;
  const auto minus = [](std::uint64_t x) { return subtract(fp64, one, x); };
  const auto power = [](std::uint64_t base, std::int64_t t) {
    std::uint64_t result = one;
    for (; t > 0; t >>= 1) {
      if ((t & 1) != 0) result = multiply(fp64, result, base);
      base = multiply(fp64, base, base);
    }
    return result;
  };
  const std::uint64_t beta1 = number(s.beta1);
  const std::uint64_t beta2 = number(s.beta2);
  const std::uint64_t rate = number(s.rate);
  const std::uint64_t bias1 = minus(power(beta1, s.t));
  const std::uint64_t bias2 = minus(power(beta2, s.t));
  return {narrow(minus(beta1)),
          narrow(minus(beta2)),
          narrow(divide(fp64, one, square_root(fp64, bias2))),
          narrow(number(s.eps)),
          narrow(multiply(fp64, rate, number(s.weight_decay))),
          narrow(divide(fp64, rate, bias1))};
}

/// In which order, and with which roundings, a token's contributions become
/// their sum; they are BF16 numbers, as is the sum.
enum class combine_rule : std::uint8_t {
  fp32_slots,  ///< an FP32 sum in slot order, rounded once at the end
  bf16_hops,   ///< the sum is rounded to BF16 at each slot
  bf16_pair,   ///< at most two, without weights: one BF16 addition
};

struct named_combine_rule {
  const char* name;
  combine_rule value;
};

inline constexpr named_combine_rule named_combine_rules[] = {
    {"fp32_slots", combine_rule::fp32_slots},
    {"bf16_hops", combine_rule::bf16_hops},
    {"bf16_pair", combine_rule::bf16_pair},
};

/// The sum of a token's contributions so far.
template <class A>
struct combined {
  typename A::number sum;
  bool any;
};

template <class A>
ZEROULP_HD constexpr combined<A> no_contribution() {
  return {A::from_bits(0), false};
}

/// Returns the sum with one contribution more. (Two BF16 numbers that FP32
/// adds and BF16 rounds are those that BF16 adds: FP32 has bits to spare.)
template <class A>
ZEROULP_HD constexpr combined<A> contribute(combine_rule rule,
                                            const combined<A>& c,
                                            typename A::number x) {
  const auto sum = c.any ? A::add(c.sum, x) : x;
  return {rule == combine_rule::fp32_slots ? sum : A::round_to_bf16(sum), true};
}

/// The same with a weight, an FP32 number.
template <class A>
ZEROULP_HD constexpr combined<A> contribute(combine_rule rule,
                                            const combined<A>& c,
                                            typename A::number x,
                                            typename A::number weight) {
  const auto sum = A::fma(weight, x, c.sum);
  return {rule == combine_rule::fp32_slots ? sum : A::round_to_bf16(sum), true};
}

static_assert(adamw_random(0, 0) == 0xe220a8397b1dcdaf);  // of splitmix64
static_assert(make_adamw_factors({1e-3, 0.9, 0.95, 1e-8, 0.1, 1}) ==
              adamw_factors{0x3dcccccd, 0x3d4ccccd, 0x408f1bbd, 0x322bcc77,
                            0x38d1b717, 0x3c23d70a});

}  // namespace zeroulp

#endif  // ZEROULP_CORE_TRAINING_HPP_
