// The FP32 unit (add, mul, fma, div, sqrt; .rn, .rz, .rp, .rm) against the
// core's arithmetic: SPEC clause A1.

#include "conformance/device/support/arithmetic_operands.hpp"
#include "conformance/device/support/observation.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Selects the CUDA intrinsic `NAME` for the rounding `mode`.
#define ZEROULP_BY_ROUNDING(NAME, ...) \
  switch (mode) {                      \
    case rounding::toward_zero:        \
      return NAME##_rz(__VA_ARGS__);   \
    case rounding::up:                 \
      return NAME##_ru(__VA_ARGS__);   \
    case rounding::down:               \
      return NAME##_rd(__VA_ARGS__);   \
    default:                           \
      return NAME##_rn(__VA_ARGS__);   \
  }

struct fp32_add {
  static __device__ float silicon(rounding mode, float a, float b, float) {
    ZEROULP_BY_ROUNDING(__fadd, a, b)
  }
  static __device__ std::uint64_t core(rounder r, const operands& x) {
    return add(fp32, x.a, x.b, r);
  }
};

struct fp32_multiply {
  static __device__ float silicon(rounding mode, float a, float b, float) {
    ZEROULP_BY_ROUNDING(__fmul, a, b)
  }
  static __device__ std::uint64_t core(rounder r, const operands& x) {
    return multiply(fp32, x.a, x.b, r);
  }
};

struct fp32_fma {
  static __device__ float silicon(rounding mode, float a, float b, float c) {
    ZEROULP_BY_ROUNDING(__fmaf, a, b, c)
  }
  static __device__ std::uint64_t core(rounder r, const operands& x) {
    return fma(fp32, x.a, x.b, x.c, r);
  }
};

struct fp32_divide {
  static __device__ float silicon(rounding mode, float a, float b, float) {
    ZEROULP_BY_ROUNDING(__fdiv, a, b)
  }
  static __device__ std::uint64_t core(rounder r, const operands& x) {
    return divide(fp32, x.a, x.b, r);
  }
};

struct fp32_square_root {
  static __device__ float silicon(rounding mode, float a, float, float) {
    ZEROULP_BY_ROUNDING(__fsqrt, a)
  }
  static __device__ std::uint64_t core(rounder r, const operands& x) {
    return square_root(fp32, x.a, r);
  }
};

#undef ZEROULP_BY_ROUNDING

template <class Operation>
struct arithmetic_case {
  rounding mode;
  std::uint64_t seed;

  __device__ observation operator()(std::uint64_t i) const {
    const operands x = random_operands(fp32, seed, i);
    const auto value = [](std::uint64_t code) {
      return __uint_as_float(static_cast<std::uint32_t>(code));
    };
    const float d =
        Operation::silicon(mode, value(x.a), value(x.b), value(x.c));
    return {{static_cast<std::uint32_t>(x.a), static_cast<std::uint32_t>(x.b),
             static_cast<std::uint32_t>(x.c)},
            __float_as_uint(d),
            static_cast<std::uint32_t>(Operation::core({mode}, x))};
  }
};

template <class Operation>
verdict check_arithmetic(const effort& e) {
  verdict total;
  for (const rounding mode : {rounding::nearest_even, rounding::toward_zero,
                              rounding::up, rounding::down}) {
    total += compare_instruction(arithmetic_case<Operation>{mode, e.seed},
                                 cases(e, 1 << 14, 1 << 24));
  }
  return total;
}

}  // namespace

check_list silicon_arithmetic_checks() {
  return {device_check("silicon.fp32.add", "A1", "instruction",
                       check_arithmetic<fp32_add>),
          device_check("silicon.fp32.multiply", "A1", "instruction",
                       check_arithmetic<fp32_multiply>),
          device_check("silicon.fp32.fma", "A1", "instruction",
                       check_arithmetic<fp32_fma>),
          device_check("silicon.fp32.divide", "A1", "instruction",
                       check_arithmetic<fp32_divide>),
          device_check("silicon.fp32.square_root", "A1", "instruction",
                       check_arithmetic<fp32_square_root>)};
}

}  // namespace zeroulp::conformance::device
