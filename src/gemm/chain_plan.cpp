#include "src/gemm/chain_plan.hpp"

namespace zeroulp {
namespace {

/// Returns true iff places of products fit 8 bits and significands of products
/// are small beside a window of float.
bool is_small(format f) {
  return f.bits() <= 8 && f.man_bits <= 3 && f.quantum_exponent() >= -32 &&
         f.min_exponent() + (1 << f.exp_bits) <= 32;
}

/// Returns true iff FP16 holds every finite number of a small format.
bool is_half(format f) {
  const unpacked max = decode(f, f.max_code());
  return f.quantum_exponent() >= fp16.quantum_exponent() &&
         msb(max.significand) + max.exponent <= 15;
}

/// Both sums of a step stay within twice M, and M is a number: see tile.hpp.
bool fits_window(const accumulator& acc, int fraction) {
  return acc.exponent_floor <= 100 && acc.length >= 1 &&
         acc.length <= max_step && acc.fraction_bits >= 0 &&
         acc.fraction_bits <= 44 &&
         std::int64_t{acc.length + 1} << (acc.fraction_bits + 2) <=
             std::int64_t{1} << fraction;
}

bool is_fp32_like(format f) {
  return f.kind == specials::ieee && f.exp_bits == 8 && f.bias == 127 &&
         f.man_bits <= 23;
}

/// The products k mod 4 in {0, 1} of 32, then the others.
step_order lowered_order() {
  step_order order;
  order.parts = 2;
  order.advance = 32;
  for (int part = 0; part < 2; ++part) {
    for (int i = 0; i < 16; ++i) {
      order.order[part][i] =
          static_cast<std::uint8_t>(i / 2 * 4 + i % 2 + 2 * part);
    }
  }
  return order;
}

step_order plain_order(int length) {
  step_order order;
  order.advance = length;
  for (int i = 0; i < length; ++i) {
    order.order[0][i] = static_cast<std::uint8_t>(i);
  }
  return order;
}

/// Fills in the rule of a step that cuts toward zero; false if there is none.
bool plan_step(const path& p, chain_plan& plan) {
  const accumulator& acc = p.acc;
  const bool aligned = acc.cut == rounding::toward_zero &&
                       acc.c == addend::aligned && !acc.renormalized;
  const bool single = acc.stored == fp32 &&
                      acc.conversion == rounding::toward_zero &&
                      is_fp32_like(acc.output);
  const bool half = acc.stored == fp16 && acc.output == fp16 &&
                    acc.conversion == rounding::nearest_even;
  if (!aligned || !(single || half) || !fits_window(acc, 52)) return false;
  const bool lowered = p.lowering != lowering::direct;
  const bool wide =
      lowered || !is_small(p.a) || !is_small(p.b) || !fits_window(acc, 23);
  plan.rule = {acc.length,
               acc.fraction_bits,
               acc.exponent_floor,
               acc.stored.min_exponent(),
               wide,
               half,
               ~std::uint32_t{0} << (23 - (single ? acc.output.man_bits : 23))};
  plan.order = lowered ? lowered_order() : plain_order(acc.length);
  plan.min_exponent_a = lowered ? fp16.min_exponent() : p.a.min_exponent();
  plan.min_exponent_b = lowered ? fp16.min_exponent() : p.b.min_exponent();
  return true;
}

}  // namespace

bool is_exact_in_double(format a, format b, std::ptrdiff_t k) {
  const auto range = [](format f) {
    const unpacked max = decode(f, f.max_code());
    return msb(max.significand) + 1 + max.exponent - f.quantum_exponent();
  };
  const int carries = k > 1 ? msb(static_cast<std::uint64_t>(k - 1)) + 1 : 0;
  return range(a) + range(b) + carries <= 53;
}

chain_plan plan_chain(const path& p, std::ptrdiff_t k) {
  chain_plan plan;
  // E5M2's and E4M3's numbers are FP16's; with others the lowering is not
  // Hopper's.
  const bool lowered = p.lowering != lowering::direct;
  if (lowered && !(is_small(p.a) && is_small(p.b) && is_half(p.a) &&
                   is_half(p.b) && p.acc.length == 16)) {
    return plan;
  }
  if (plan_step(p, plan)) {
    plan.by = chain_plan::kernel::steps;
  } else if (!lowered && p.acc == fp32_sequential) {
    plan.by = chain_plan::kernel::sums;
  } else if (!lowered && p.acc == exact_f32 &&
             is_exact_in_double(p.a, p.b, k)) {
    plan.by = chain_plan::kernel::exact_sums;
  }
  return plan;
}

}  // namespace zeroulp
