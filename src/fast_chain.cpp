#include "fast_chain.hpp"

#include <algorithm>

namespace zeroulp {
namespace {

constexpr int fraction_bits = hopper_fp8_f32.fraction_bits;

/// What one step makes of its products, aligned with a term at `c_place`.
struct step_sum {
  std::int32_t total;  ///< of the products, in units of 2^(largest - F)
  int largest;         ///< place; far below any number if there is no term
};

// A product has at most 8 significant bits, point of them below the point: it
// fits in F + 2 = 15 bits when aligned, and 32 of them in 20.
[[gnu::always_inline]] inline step_sum sum_products(
    const prepared_operand::small* a, const prepared_operand::small* b,
    int point, int c_place) {
  std::int32_t exponent[fast_length];
  std::int32_t largest = c_place - point;
  for (int k = 0; k < fast_length; ++k) {
    exponent[k] = a[k].exponent + b[k].exponent;
    largest = std::max(largest, exponent[k]);
  }
  std::int32_t total = 0;
  for (int k = 0; k < fast_length; ++k) {
    const std::int32_t shift = std::min(largest - exponent[k], 31);
    const std::int32_t product = a[k].magnitude * b[k].magnitude;
    const std::int32_t cut = product << (fraction_bits - point) >> shift;
    const std::int32_t sign = a[k].sign ^ b[k].sign;
    total += (cut ^ sign) - sign;
  }
  return {total, largest + point};
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512vl"))) step_sum
sum_products_avx512(const prepared_operand::small* a,
                    const prepared_operand::small* b, int point, int c_place) {
  return sum_products(a, b, point, c_place);
}

__attribute__((target("avx2"))) step_sum sum_products_avx2(
    const prepared_operand::small* a, const prepared_operand::small* b,
    int point, int c_place) {
  return sum_products(a, b, point, c_place);
}
#endif

step_sum sum_products_portable(const prepared_operand::small* a,
                               const prepared_operand::small* b, int point,
                               int c_place) {
  return sum_products(a, b, point, c_place);
}

using kernel = step_sum (*)(const prepared_operand::small*,
                            const prepared_operand::small*, int, int);

kernel choose_kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return sum_products_avx512;
  }
  if (__builtin_cpu_supports("avx2")) return sum_products_avx2;
#endif
  return sum_products_portable;
}

}  // namespace

bool has_fast_chain(const path& p) {
  const auto fits = [](format f) {
    // Exponents near 0 keep every result far from e8m13's ends.
    return f.bits() <= 8 && f.exp_bits <= 5 && f.man_bits <= 3 &&
           f.has_sign() && f.quantum_exponent() >= -32 &&
           f.min_exponent() + (1 << f.exp_bits) <= 32;
  };
  return fits(p.a) && fits(p.b) && p.acc == hopper_fp8_f32 &&
         p.lowering == lowering::direct;
}

std::uint32_t fast_chain(const prepared_operand::small* a,
                         const prepared_operand::small* b, std::ptrdiff_t count,
                         int point) {
  static const kernel sum = choose_kernel();
  // Between steps the result is total * 2^unit, at most 14 significant bits.
  unpacked c{};
  for (std::ptrdiff_t k = 0; k < count; k += fast_length) {
    constexpr int nowhere = 2 * zero_exponent + 500;
    // e8m13 numbers here are far from subnormal: their place is that of the
    // highest bit.
    const int c_place = c.is_zero() ? nowhere : msb(c.significand) + c.exponent;
    const auto [products, largest] = sum(a + k, b + k, point, c_place);
    if (largest == nowhere) continue;
    const int unit = largest - fraction_bits;
    std::int64_t total = products;
    if (!c.is_zero()) {
      const auto kept = static_cast<std::int64_t>(
          round_shift(c.significand, unit - c.exponent, c.negative,
                      {rounding::toward_zero}));
      total += c.negative ? -kept : kept;
    }
    if (total == 0) {
      c = {};
      continue;
    }
    auto magnitude = static_cast<std::uint64_t>(total < 0 ? -total : total);
    const int excess = std::max(msb(magnitude) - fraction_bits, 0);
    c = {magnitude >> excess, unit + excess, kind::finite, total < 0};
  }
  return static_cast<std::uint32_t>(encode(fp32, c));
}

}  // namespace zeroulp
