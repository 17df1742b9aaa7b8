// Defines replicas of experts: several copies of an expert's weights, and which
// of them a slot goes to; and how their rows come together again.
//
// Integers only. Replicas are numbered expert by expert, so that a table of
// ends says whose they are. Source: SPEC clause N29; DeepSeek-V3's report,
// 3.4.1 (redundant experts).

#ifndef ZEROULP_CORE_MODEL_REPLICAS_HPP_
#define ZEROULP_CORE_MODEL_REPLICAS_HPP_

#include "zeroulp/core/view.hpp"

namespace zeroulp {

struct replica_choice {
  matrix_view<const std::int32_t> experts;  ///< m x top
  /// (e + 1) x 1, ascending from 0: those of expert i are [ends(i), ends(i +
  /// 1)), one at least.
  matrix_view<const std::int32_t> ends;
  matrix_view<std::int32_t> replicas;  ///< m x top; may be `experts`
};

/// The replica of each slot: tokens take those of their expert in turn.
ZEROULP_HD constexpr void choose_replicas(const replica_choice& c) {
  for (std::ptrdiff_t t = 0; t < c.experts.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < c.experts.cols; ++k) {
      const std::ptrdiff_t e = c.experts(t, k);
      const std::ptrdiff_t first = c.ends(e, 0);
      const std::ptrdiff_t count = c.ends(e + 1, 0) - first;
      c.replicas(t, k) = static_cast<std::int32_t>(first + t % count);
    }
  }
}

/// Two plans of the same slots: by replica, and by expert.
struct replica_rows {
  matrix_view<const std::int32_t> by_replica;  ///< m x top: the row of a slot
  matrix_view<const std::int32_t> by_expert;   ///< m x top: the row of a slot
  matrix_view<std::int32_t> from;  ///< rows by expert x 1: by replica, or -1
};

/// For each row of the plan by expert the row of the plan by replica that it is
/// taken from: tokens in order, whatever replica had them.
ZEROULP_HD constexpr void merge_replicas(const replica_rows& r) {
  for (std::ptrdiff_t i = 0; i < r.from.rows; ++i) r.from(i, 0) = -1;
  for (std::ptrdiff_t t = 0; t < r.by_expert.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < r.by_expert.cols; ++k) {
      const std::ptrdiff_t row = r.by_expert(t, k);
      if (row >= 0) r.from(row, 0) = r.by_replica(t, k);
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_REPLICAS_HPP_
