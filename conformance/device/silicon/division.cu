// rcp.approx.ftz.f32 and div.full.f32 against core/reciprocal.hpp: SPEC clause
// Q8.

#include "conformance/device/silicon/ptx.hpp"
#include "conformance/device/support/observation.hpp"
#include "zeroulp/core/reciprocal.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Case i: the bits of i times an odd number, which visits every number once.
struct reciprocal_case {
  __device__ observation operator()(std::uint64_t i) const {
    const auto x = static_cast<std::uint32_t>(i) * 0x9e3779b1u;
    return {{x, 0, 0},
            __float_as_uint(ptx::rcp_approx(__uint_as_float(x))),
            approximate_reciprocal(x)};
  }
};

/// Returns `x` with another biased exponent.
__device__ std::uint32_t with_exponent(std::uint32_t x, int exponent) {
  const int e = exponent < 0 ? 0 : exponent > 255 ? 255 : exponent;
  return (x & 0x807fffff) | static_cast<std::uint32_t>(e) << 23;
}

/// Pairs of any bits, of ordinary numbers, with a divisor at either end of the
/// range, or with a quotient at either end of the range.
struct division_case {
  std::uint64_t seed;

  __device__ observation operator()(std::uint64_t i) const {
    counter_rng rng(seed, i);
    std::uint32_t a = rng.next32();
    std::uint32_t b = rng.next32();
    switch (i % 4) {
      case 1:
        a = with_exponent(a, rng.between(119, 142));
        b = with_exponent(b, rng.between(119, 142));
        break;
      case 2:
        b = with_exponent(
            b, rng.one_in(2) ? rng.between(0, 3) : rng.between(251, 255));
        if (rng.one_in(32)) b &= 0xff800000;
        if (rng.one_in(16)) a &= 0xff800000;
        if (rng.one_in(32)) a &= 0x80000000;
        break;
      case 3: {
        const int quotient =
            rng.one_in(2) ? rng.between(-28, 12) : rng.between(245, 265);
        a = with_exponent(a, quotient + static_cast<int>(b >> 23 & 0xff) - 127);
        break;
      }
      default:
        break;
    }
    return {
        {a, b, 0},
        __float_as_uint(ptx::div_full(__uint_as_float(a), __uint_as_float(b))),
        approximate_quotient(a, b)};
  }
};

verdict check_reciprocal(const effort& e) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  auto v = compare_instruction(reciprocal_case{}, cases(e, 1 << 16, all, all));
  v.exhaustive = v.cases == all;
  return v;
}

verdict check_division(const effort& e) {
  return compare_instruction(division_case{e.seed}, cases(e, 1 << 16, 1 << 30));
}

}  // namespace

check_list silicon_division_checks() {
  return {
      device_check("silicon.rcp.approx", "Q8", "instruction", check_reciprocal),
      device_check("silicon.div.full", "Q8", "instruction", check_division)};
}

}  // namespace zeroulp::conformance::device
