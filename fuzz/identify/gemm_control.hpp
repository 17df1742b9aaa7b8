// Defines the controls of identify_gemm. One is how well sums that D does not
// come from agree with it. The other is whether D is as near to the exact sum
// as FP32 sums are, and nearer than Hopper's FP8 accumulator comes. Internal.
//
// A sum that was rounded to D has at least this error: the distance of the
// exact sum from the numbers that round to D. So errors are measured, in FP32
// and in BF16 outputs alike.

#ifndef ZEROULP_FUZZ_IDENTIFY_GEMM_CONTROL_HPP_
#define ZEROULP_FUZZ_IDENTIFY_GEMM_CONTROL_HPP_

#include "fuzz/identify/gemm_exact.hpp"

namespace zeroulp::fuzz {

struct gemm_control {
  agreement exact;      ///< of D with the exact sum, rounded once
  agreement unrelated;  ///< of D with FP32 sums that no recipe has
  std::optional<fp32_evidence> fp32_sum;

  /// The agreement by chance for a recipe with this accumulator: the better of
  /// the two, but the exact sum is no control for itself.
  agreement chance(const accumulator& acc) const {
    const bool own = acc == exact_f32 || exact.agree < unrelated.agree;
    return own ? unrelated : exact;
  }
  /// Returns true iff `found` is far above that. If D is an FP32 sum, all FP32
  /// sums are akin to it, and nearly all outputs must agree.
  bool is_finding(const agreement& found, const accumulator& acc,
                  std::uint64_t tried) const {
    return is_far_above(found, chance(acc), tried, fp32_sum ? 0.9 : 0.5);
  }
};

gemm_control control_of(const gemm_evidence& e, const gemm_blocks& blocks,
                        const exact_part& exact);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_IDENTIFY_GEMM_CONTROL_HPP_
