// Faults of the tensor-core step that change its operands, its result or one
// field of the accumulator. step_term_mutants.cpp has the others.

#include <cstddef>
#include <vector>

#include "conformance/mutants/step_parts.hpp"

namespace zeroulp::conformance {
namespace {

unpacked flushed(format f, unpacked x) {
  return is_subnormal(f, x) ? unpacked{0, 0, kind::zero, x.negative} : x;
}

unpacked normalized(format f, unpacked x) {
  if (!is_subnormal(f, x)) return x;
  const int shift = f.man_bits - msb(x.significand);
  return {x.significand << shift, x.exponent - shift, x.kind, x.negative};
}

unpacked cut_to_bf16(format f, unpacked x) {
  if (f != tf32) return x;
  return decode(bf16, encode(bf16, x, {rounding::toward_zero}, cuda_nosat));
}

template <int By>
void fraction(path& p) {
  const int f = p.acc.fraction_bits;
  if (f != uncut && f + By <= max_fraction_bits) {
    p.acc.fraction_bits = static_cast<std::int16_t>(f + By);
  }
}

template <int By>
void floor_by(path& p) {
  if (p.acc.exponent_floor == no_floor) return;
  p.acc.exponent_floor = static_cast<std::int16_t>(p.acc.exponent_floor + By);
}

void floor_missing(path& p) { p.acc.exponent_floor = no_floor; }

template <rounding Mode>
void cut_by(path& p) {
  p.acc.cut = Mode;
}

template <rounding From, rounding To>
void converted_by(path& p) {
  const bool tensor_core = p.acc.fraction_bits != uncut;
  if (tensor_core && p.acc.conversion == From) p.acc.conversion = To;
}

void renormalized(path& p) { p.acc.renormalized = true; }
void c_last(path& p) { p.acc.c = addend::last; }
void full_output(path& p) {
  if (p.acc.output == e8m13) p.acc.output = p.acc.stored;
}
void chained_for_zero(path& p) {
  if (p.lowering == lowering::hmma_zero) p.lowering = lowering::hmma_chained;
}
void zero_for_chained(path& p) {
  if (p.lowering == lowering::hmma_chained) p.lowering = lowering::hmma_zero;
}
void not_lowered(path& p) {
  if (p.lowering == lowering::direct) return;
  p.lowering = lowering::direct;
  p.acc.length = static_cast<std::int16_t>(2 * p.acc.length);
}

std::uint64_t all_negative_zero(const path& p, codes a, codes b, int count,
                                std::uint64_t c) {
  bool all = c == p.acc.stored.sign_mask() && count > 0;
  for (int k = 0; k < count; ++k) {
    const unpacked x = decode(p.a, a[k]);
    const unpacked y = decode(p.b, b[k]);
    all = all && x.is_finite() && y.is_finite() &&
          (x.is_zero() || y.is_zero()) && x.negative != y.negative;
  }
  return all ? c : step_of<same>(p, a, b, count, c);
}

std::uint64_t quiet_nan(const path& p, codes a, codes b, int count,
                        std::uint64_t c) {
  const format f = p.acc.stored;
  const auto result = step_of<same>(p, a, b, count, c);
  return decode(f, result).is_nan() ? nan_code(f, false, ocp_nonsaturate)
                                    : result;
}

std::uint64_t zero_times_infinity(const path& p, codes a, codes b, int count,
                                  std::uint64_t c) {
  std::vector<std::uint64_t> x(a, a + count);
  for (int k = 0; k < count; ++k) {
    if (decode(p.a, a[k]).is_infinite() && decode(p.b, b[k]).is_zero()) {
      x[static_cast<std::size_t>(k)] = 0;
    }
  }
  return step_of<same>(p, x.data(), b, count, c);
}

/// The first Inf wins over one of the other sign.
std::uint64_t first_infinity(const path& p, codes a, codes b, int count,
                             std::uint64_t c) {
  const format f = p.acc.stored;
  const auto result = step_of<same>(p, a, b, count, c);
  if (!decode(f, result).is_nan() || !decode(f, c).is_infinite()) {
    return result;
  }
  const auto products = step_of<same>(p, a, b, count, 0);
  return decode(f, products).is_nan() ? result : c;
}

std::uint64_t c_flushed(const path& p, codes a, codes b, int count,
                        std::uint64_t c) {
  if (is_subnormal(p.acc.stored, decode(p.acc.stored, c))) c = 0;
  return step_of<same>(p, a, b, count, c);
}

std::uint64_t c_truncated(const path& p, codes a, codes b, int count,
                          std::uint64_t c) {
  if (p.acc.stored == fp32 && decode(fp32, c).is_finite()) {
    c = recode(e8m13, recode(fp32, c, e8m13, {rounding::toward_zero}), fp32);
  }
  return step_of<same>(p, a, b, count, c);
}

std::uint64_t multiply_then_add(const path& p, codes a, codes b, int count,
                                std::uint64_t c) {
  if (p.acc != fp32_sequential || count != 1) {
    return step_of<same>(p, a, b, count, c);
  }
  const auto ab =
      encode(fp32, product(decode(p.a, *a), decode(p.b, *b)), {}, cuda_nosat);
  const auto result = add(fp32, ab, c);
  return result == fp32.sign_mask() ? 0 : result;
}

}  // namespace

mutant_list step_mutants() {
  using enum rounding;
  mutant_list all = {
      steps("fraction_more", "as if one more bit were kept", with<fraction<1>>),
      steps("fraction_less", "as if one bit fewer were kept",
            with<fraction<-1>>),
      steps("twos_complement", "as if cut in two's complement",
            with<cut_by<down>>),
      steps("cut_nearest", "as if terms were rounded, not cut",
            with<cut_by<nearest_even>>),
      steps("cut_sticky", "as if a sticky bit were kept", with<cut_by<to_odd>>),
      steps("renormalized", "as if products were renormalised",
            with<renormalized>),
      steps("c_last", "as if c were added last", with<c_last>),
      steps("c_flushed", "as if a subnormal c were zero", c_flushed),
      steps("c_truncated", "as if c were cut to e8m13 first", c_truncated),
      steps("floor_missing", "as if there were no exponent floor",
            with<floor_missing>),
      steps("floor_higher", "as if the exponent floor were one higher",
            with<floor_by<1>>),
      steps("floor_lower", "as if the exponent floor were one lower",
            with<floor_by<-1>>),
      steps("rounded_output", "as if FP32 results were rounded",
            with<converted_by<toward_zero, nearest_even>>),
      steps("truncated_output", "as if FP16 results were truncated",
            with<converted_by<nearest_even, toward_zero>>),
      steps("ties_away_output", "as if ties of FP16 results went away",
            with<converted_by<nearest_even, nearest_away>>),
      steps("full_output", "as if the result register were FP32",
            with<full_output>),
      steps("all_negative_zero", "as if terms that are all -0 gave -0",
            all_negative_zero),
      steps("step_quiet_nan", "as if NaN were 0x7fc00000", quiet_nan),
      steps("step_zero_times_infinity", "as if 0 * Inf were 0",
            zero_times_infinity),
      steps("first_infinity", "as if the Inf of c won over another",
            first_infinity),
      steps("operands_flushed", "as if subnormal operands were zero",
            step_of<flushed>),
      steps("operands_normalized", "as if subnormal operands were normalised",
            step_of<normalized>),
      steps("tf32_as_bf16", "as if TF32 operands were cut to BF16",
            step_of<cut_to_bf16>),
      steps("lowered_zero", "as if both instructions started from zero",
            with<zero_for_chained>),
      steps("lowered_chained", "as if the second took the first's result",
            with<chained_for_zero>),
      steps("not_lowered", "as if FP8 mma.sync were one wide step",
            with<not_lowered>),
      steps("multiply_then_add", "as if sequential sums had no fma",
            multiply_then_add),
  };
  const auto own = own_step_mutants();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace zeroulp::conformance
