// The error bounds of cuda/training/sigmoid.cuh, on which SwiGLU's kernels
// rely, for every FP32 number: SPEC clauses S2, S3.

#include "conformance/device/support/observation.hpp"
#include "cuda/common/arithmetic.cuh"
#include "cuda/training/sigmoid.cuh"

namespace zeroulp::conformance::device {
namespace {

/// The relative errors that products with the slope may add: below and above.
/// Above it is larger, because the upper end is the lower end plus a product
/// with the width.
constexpr double slack = 0x5p-24, upper_slack = 0x6p-24;

__device__ bool holds_for_sigmoid(float g) {
  if (!(g >= -cuda::fast_limit)) return true;
  const float core = sigmoid<cuda::device_fp32>(g);
  const float quick = cuda::fast_sigmoid(g);
  if (fabsf(g) < 0x1p-60f) return core == 0.5f && quick == 0.5f;
  return fabs(double{quick} - core) <= cuda::sigmoid_bound * 0x1p-24 * core;
}

/// Returns true iff the two ends that `bound` gives for slope / s enclose
/// `ratio`, slack included. `below` is 1 - bound.
__device__ bool holds_for_bound(float g, float rest, double ratio, float below,
                                float bound) {
  const double size = fabs(ratio);
  const float low = __fmaf_rn(g, rest, below);
  const double high = double{low} + cuda::slope_width(bound);
  return low <= ratio - size * slack && ratio + size * upper_slack <= high;
}

__device__ bool holds_for_slope(float g) {
  if (!(fabsf(g) <= cuda::fast_limit)) return true;
  const float core = sigmoid<cuda::device_fp32>(g);
  const float slope = __fmul_rn(core, __fmaf_rn(g, __fsub_rn(1, core), 1));
  const float quick = cuda::fast_sigmoid(g), rest = __fsub_rn(1, quick);
  const double ratio = double{slope} / quick;
  // The largest bound: a vec8 has a gate of -fast_limit.
  const float most =
      cuda::slope_bound::of_gates(cuda::fast_limit, 1)(-cuda::fast_limit);
  bool holds = fabs(ratio) > 3 * double{most} ||
               fabsf(g - cuda::flat_gate) <= cuda::flat_reach;
  // A bound that a kernel finds from a code and its scale may be smaller by
  // three roundings; other codes of the vec8 only make it larger. 1 - bound is
  // a multiple of 2^-24. All bounds within half of 2^-24 give the same
  // multiple, and the least of them is the worst case. The rounding error of
  // the lower end is at most 4.5 2^-24 either way. Hence bounds that are larger
  // by 9 2^-24 hold without a check.
  const float least =
      cuda::slope_bound::of_gates(fabsf(g), 1)(fminf(g, 0)) * (1 - 0x1p-21f);
  const float first = rintf(least * 0x1p24f);
  for (int i = 0; i <= 10; ++i) {
    const float steps = first + static_cast<float>(i);
    holds = holds && holds_for_bound(g, rest, ratio, 1 - steps * 0x1p-24f,
                                     fmaxf(least, (steps - 0.5f) * 0x1p-24f));
  }
  return holds;
}

/// Case i: the bits of i times an odd number, which visits every number once.
struct bound_case {
  bool is_slope;

  __device__ observation operator()(std::uint64_t i) const {
    const auto x = static_cast<std::uint32_t>(i) * 0x9e3779b1u;
    const float g = __uint_as_float(x);
    const bool holds = is_slope ? holds_for_slope(g) : holds_for_sigmoid(g);
    return {{x, is_slope ? 1u : 0u, 0}, holds ? 1u : 0u, 1};
  }
};

verdict check_bounds(const effort& e, bool is_slope) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32;
  auto v =
      compare_instruction(bound_case{is_slope}, cases(e, 1 << 16, all, all));
  v.exhaustive = v.cases == all;
  return v;
}

}  // namespace

check_list kernel_sigmoid_checks() {
  return {device_check("kernel.sigmoid.bound", "S2", "core",
                       [](const effort& e) { return check_bounds(e, false); }),
          device_check("kernel.slope.bound", "S3", "core",
                       [](const effort& e) { return check_bounds(e, true); })};
}

}  // namespace zeroulp::conformance::device
