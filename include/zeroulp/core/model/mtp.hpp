// Defines which tokens a module of multi-token prediction (MTP) reads and
// predicts: at depth k those that the model predicts k - 1 and k tokens later.
//
// Integers only. Source: SPEC clause N31; DeepSeek-V3's report, 2.2.

#ifndef ZEROULP_CORE_MODEL_MTP_HPP_
#define ZEROULP_CORE_MODEL_MTP_HPP_

#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// Sequences of `length` tokens; all are m x 1.
struct mtp_shift {
  matrix_view<const std::int32_t> targets;  ///< of the model, or -1
  std::ptrdiff_t length;
  std::ptrdiff_t depth;                   ///< 1 and up
  matrix_view<std::int32_t> inputs;       ///< the module's, or -1
  matrix_view<std::int32_t> predictions;  ///< its targets, or -1
};

ZEROULP_HD constexpr void mtp_tokens(const mtp_shift& t) {
  for (std::ptrdiff_t i = 0; i < t.targets.rows; ++i) {
    const std::ptrdiff_t left = t.length - 1 - i % t.length;
    const auto later = [&](std::ptrdiff_t by) {
      return by <= left ? t.targets(i + by, 0) : -1;
    };
    t.inputs(i, 0) = later(t.depth - 1);
    t.predictions(i, 0) = later(t.depth);
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_MTP_HPP_
