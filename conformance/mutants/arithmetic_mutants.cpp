// Faults of arithmetic on codes.

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {
namespace {

std::uint64_t core(operation op, format f, std::uint64_t a, std::uint64_t b,
                   std::uint64_t c, rounder r) {
  static const auto arithmetic = core_implementation().arithmetic;
  return arithmetic(op, f, a, b, c, r);
}

std::uint64_t fma_twice(operation op, format f, std::uint64_t a,
                        std::uint64_t b, std::uint64_t c, rounder r) {
  if (op != operation::fma) return core(op, f, a, b, c, r);
  return add(f, multiply(f, a, b, r), c, r);
}

/// FP32's fma in FP64: the product is exact, the sum is rounded twice.
std::uint64_t fma_through_fp64(operation op, format f, std::uint64_t a,
                               std::uint64_t b, std::uint64_t c, rounder r) {
  if (op != operation::fma || f.man_bits > 23) return core(op, f, a, b, c, r);
  const auto wider = [f](std::uint64_t x) { return recode(f, x, fp64); };
  return recode(fp64, fma(fp64, wider(a), wider(b), wider(c), r), f, r,
                cuda_nosat);
}

std::uint64_t divide_by_reciprocal(operation op, format f, std::uint64_t a,
                                   std::uint64_t b, std::uint64_t c,
                                   rounder r) {
  if (op != operation::divide) return core(op, f, a, b, c, r);
  const auto one = encode(f, unpacked{1, 0, kind::finite, false});
  return multiply(f, a, divide(f, one, b, r), r);
}

std::uint64_t root_truncated(operation op, format f, std::uint64_t a,
                             std::uint64_t b, std::uint64_t c, rounder r) {
  const bool here = op == operation::square_root;
  return core(op, f, a, b, c, here ? rounder{rounding::toward_zero} : r);
}

std::uint64_t quotient_odd(operation op, format f, std::uint64_t a,
                           std::uint64_t b, std::uint64_t c, rounder r) {
  if (op != operation::divide || f.man_bits > 23) {
    return core(op, f, a, b, c, r);
  }
  const format wider{11, static_cast<std::uint8_t>(f.man_bits + 1), 1023,
                     specials::ieee};
  const auto cut = encode(wider, quotient(decode(f, a), decode(f, b)),
                          {rounding::toward_zero}, cuda_nosat);
  return recode(wider, cut, f, r, cuda_nosat);
}

/// The sign of an exact zero sum of opposite terms.
template <bool Down>
std::uint64_t zero_sum(operation op, format f, std::uint64_t a, std::uint64_t b,
                       std::uint64_t c, rounder r) {
  const auto result = core(op, f, a, b, c, r);
  const bool is_sum =
      op == operation::add || op == operation::subtract || op == operation::fma;
  const bool zero = (result & f.magnitude_mask()) == 0;
  if (!is_sum || !zero || (r.mode == rounding::down) != Down) return result;
  const auto other =
      core(op, f, a, b, c, {Down ? rounding::nearest_even : rounding::down, 0});
  return other;
}

std::uint64_t zero_times_infinity(operation op, format f, std::uint64_t a,
                                  std::uint64_t b, std::uint64_t c, rounder r) {
  const unpacked x = decode(f, a);
  const unpacked y = decode(f, b);
  const bool here = op == operation::multiply && (x.is_zero() || y.is_zero()) &&
                    (x.is_infinite() || y.is_infinite());
  return here ? 0 : core(op, f, a, b, c, r);
}

std::uint64_t infinities_cancel(operation op, format f, std::uint64_t a,
                                std::uint64_t b, std::uint64_t c, rounder r) {
  const unpacked x = decode(f, a);
  const unpacked y = decode(f, b);
  const bool here = op == operation::add && x.is_infinite() &&
                    y.is_infinite() && x.negative != y.negative;
  return here ? 0 : core(op, f, a, b, c, r);
}

std::uint64_t divide_by_zero_nan(operation op, format f, std::uint64_t a,
                                 std::uint64_t b, std::uint64_t c, rounder r) {
  const bool here = op == operation::divide && decode(f, b).is_zero();
  return here ? nan_code(f, false, cuda_nosat) : core(op, f, a, b, c, r);
}

std::uint64_t root_of_negative_zero(operation op, format f, std::uint64_t a,
                                    std::uint64_t b, std::uint64_t c,
                                    rounder r) {
  const bool here = op == operation::square_root && f.has_sign() &&
                    f.kind != specials::fnuz && decode(f, a).is_zero();
  return here ? 0 : core(op, f, a, b, c, r);
}

std::uint64_t flush(operation op, format f, std::uint64_t a, std::uint64_t b,
                    std::uint64_t c, rounder r) {
  const auto result = core(op, f, a, b, c, r);
  const auto magnitude = result & f.magnitude_mask();
  const bool tiny = f.has_sign() && f.kind != specials::fnuz &&
                    magnitude < std::uint64_t{1} << f.man_bits;
  return tiny ? result & f.sign_mask() : result;
}

std::uint64_t quiet_nan(operation op, format f, std::uint64_t a,
                        std::uint64_t b, std::uint64_t c, rounder r) {
  const auto result = core(op, f, a, b, c, r);
  return decode(f, result).is_nan() ? nan_code(f, false, ocp_nonsaturate)
                                    : result;
}

mutant computes(const char* name, const char* what,
                decltype(implementation::arithmetic) f) {
  return core_but(name, what, &implementation::arithmetic, f);
}

}  // namespace

mutant_list arithmetic_mutants() {
  return {
      computes("fma_twice", "as if the product of an fma were rounded",
               fma_twice),
      computes("fma_through_fp64", "as if an fma were computed in FP64",
               fma_through_fp64),
      computes("divide_by_reciprocal", "as if x / y were x * (1 / y)",
               divide_by_reciprocal),
      computes("divide_without_sticky",
               "as if a quotient were cut one bit below the last",
               quotient_odd),
      computes("root_truncated", "as if roots were cut toward zero",
               root_truncated),
      computes("zero_sum_negative", "as if x - x were -0", zero_sum<false>),
      computes("zero_sum_down", "as if x - x were +0 rounding down",
               zero_sum<true>),
      computes("zero_times_infinity", "as if 0 * Inf were 0",
               zero_times_infinity),
      computes("infinities_cancel", "as if Inf - Inf were 0",
               infinities_cancel),
      computes("divide_by_zero_nan", "as if x / 0 were NaN",
               divide_by_zero_nan),
      computes("root_of_negative_zero", "as if the root of -0 were +0",
               root_of_negative_zero),
      computes("arithmetic_ftz", "as if subnormal results were zero", flush),
      computes("arithmetic_quiet_nan", "as if NaN were 0x7fc00000", quiet_nan),
  };
}

}  // namespace zeroulp::conformance
