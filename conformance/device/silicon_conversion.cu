// cvt.rn[.satfinite] of FP32 against the core's recode, every one of the 2^32
// inputs in both halves of a pair: SPEC clause C6, and A1 for BF16 and FP16.

#include "conformance/device/observation.hpp"
#include "conformance/device/ptx.hpp"
#include "zeroulp/core/convert.hpp"

namespace zeroulp::conformance::device {
namespace {

struct to_e4m3 {
  static ZEROULP_HD constexpr format target() { return e4m3; }
  static ZEROULP_HD constexpr policy how() { return cuda_satfinite; }
  static __device__ std::uint32_t convert(float high, float low) {
    return ptx::cvt_e4m3x2(high, low);
  }
};

struct to_e5m2 {
  static ZEROULP_HD constexpr format target() { return e5m2; }
  static ZEROULP_HD constexpr policy how() { return cuda_satfinite; }
  static __device__ std::uint32_t convert(float high, float low) {
    return ptx::cvt_e5m2x2(high, low);
  }
};

struct to_bf16 {
  static ZEROULP_HD constexpr format target() { return bf16; }
  static ZEROULP_HD constexpr policy how() { return cuda_nosat; }
  static __device__ std::uint32_t convert(float high, float low) {
    return ptx::cvt_bf16x2(high, low);
  }
};

struct to_fp16 {
  static ZEROULP_HD constexpr format target() { return fp16; }
  static ZEROULP_HD constexpr policy how() { return cuda_nosat; }
  static __device__ std::uint32_t convert(float high, float low) {
    return ptx::cvt_f16x2(high, low);
  }
};

/// Case i: the bits i * step high, their complement low.
template <class Conversion>
struct conversion_case {
  std::uint32_t step;

  __device__ observation operator()(std::uint64_t i) const {
    const auto high = static_cast<std::uint32_t>(i) * step;
    const std::uint32_t low = ~high;
    const auto core = [](std::uint32_t x) {
      return static_cast<std::uint32_t>(
          recode(fp32, x, Conversion::target(), {}, Conversion::how()));
    };
    return {{high, low, 0},
            Conversion::convert(__uint_as_float(high), __uint_as_float(low)),
            core(high) << Conversion::target().bits() | core(low)};
  }
};

template <class Conversion>
verdict check_conversion(const effort& e) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  // Odd, so that it visits every input once.
  constexpr conversion_case<Conversion> f{0x9e3779b1u};
  auto v = compare_instruction(f, cases(e, 1 << 16, all, all));
  v.exhaustive = v.cases == all;
  return v;
}

}  // namespace

check_list silicon_conversion_checks() {
  return {device_check("silicon.cvt.satfinite.e4m3", "C6", "instruction",
                       check_conversion<to_e4m3>),
          device_check("silicon.cvt.satfinite.e5m2", "C6", "instruction",
                       check_conversion<to_e5m2>),
          device_check("silicon.cvt.bf16", "C1 C2 C3", "instruction",
                       check_conversion<to_bf16>),
          device_check("silicon.cvt.fp16", "C1 C2 C3", "instruction",
                       check_conversion<to_fp16>)};
}

}  // namespace zeroulp::conformance::device
