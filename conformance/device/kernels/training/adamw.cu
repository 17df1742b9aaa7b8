// The branch-free arithmetic of AdamW's kernel against the FP32 unit's division
// and square root, which the silicon.fp32 checks compare with the core.

#include "conformance/device/support/observation.hpp"
#include "cuda/training/adamw.cuh"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::fast_fp32;

/// A result that is not sure counts as right, since the kernel then takes the
/// slow path, unless it must be sure.
__device__ std::uint32_t held(fast_fp32::number x, bool must_be_sure,
                              std::uint32_t right) {
  if (x.sure) return __float_as_uint(x.value);
  return must_be_sure ? ~right : right;
}

/// Every float; the root must be sure from +0 to below 2^64.
struct root_case {
  __device__ observation operator()(std::uint64_t i) const {
    const auto x = static_cast<std::uint32_t>(i * 0x9e3779b1u);
    const std::uint32_t right = __float_as_uint(__fsqrt_rn(__uint_as_float(x)));
    const auto root = fast_fp32::square_root({__uint_as_float(x), true});
    return {{x, 0, 0}, held(root, x < 0x5f800000, right), right};
  }
};

/// Any numbers; or moments, mostly small and zeros, by denominators from 2^-40
/// to 2^20. These must be sure if the quotient is between 2^-126 and 2^40.
struct quotient_case {
  std::uint64_t seed;

  __device__ observation operator()(std::uint64_t i) const {
    counter_rng rng(seed, i);
    std::uint32_t a = rng.next32();
    std::uint32_t b = rng.next32();
    const bool any = rng.one_in(8);
    if (!any) {
      const auto exponent = [&](int low, int high) {
        return static_cast<std::uint32_t>(rng.between(low, high)) << 23;
      };
      a = (a & 0x807fffff) | (rng.one_in(8) ? 0 : exponent(0, 140));
      b = (b & 0x007fffff) | exponent(127 - 40, 127 + 20);
      if (rng.one_in(32)) a &= 0x80000000;
      if (rng.one_in(8)) a &= 0xffff0000;
      if (rng.one_in(32)) b |= 0x007ffffe;
    }
    const float x = __uint_as_float(a), y = __uint_as_float(b);
    const float right = __fdiv_rn(x, y);
    const auto quotient = fast_fp32::divide({x, true}, {y, true});
    const bool must_be_sure =
        !any &&
        ((fabsf(right) > 0x1p-126f && fabsf(right) < 0x1p40f) || x == 0);
    return {{a, b, 0},
            held(quotient, must_be_sure, __float_as_uint(right)),
            __float_as_uint(right)};
  }
};

verdict check_root(const effort& e) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  auto v = compare_instruction(root_case{}, cases(e, 1 << 16, all, all));
  v.exhaustive = v.cases == all;
  return v;
}

verdict check_quotient(const effort& e) {
  return compare_instruction(quotient_case{e.seed}, cases(e, 1 << 16, 1 << 30));
}

}  // namespace

check_list kernel_adamw_checks() {
  return {
      device_check("kernel.adamw.square_root", "S6", "instruction", check_root),
      device_check("kernel.adamw.divide", "S6", "instruction", check_quotient)};
}

}  // namespace zeroulp::conformance::device
