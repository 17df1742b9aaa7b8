// Defines the plan of a mixture of experts: which row of which expert each slot
// of a token becomes; and the gradients that go through the slots.
//
// Templates over an arithmetic `A` (elementary.hpp); elements of a row are
// adjacent. Source: SPEC clauses N13 and N14.

#ifndef ZEROULP_CORE_MODEL_EXPERT_ROWS_HPP_
#define ZEROULP_CORE_MODEL_EXPERT_ROWS_HPP_

#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// What a plan is made of and what it is; m tokens, e experts.
struct expert_plan {
  matrix_view<const std::int32_t> experts;  ///< m x top, each of 0 .. e - 1
  std::ptrdiff_t align;                     ///< rows of an expert: a multiple
  matrix_view<std::int32_t> rows;   ///< capacity x 1: the token of a row, or -1
  matrix_view<std::int32_t> slots;  ///< m x top: the row of a slot
  /// (e + 1) x 1: rows [ends(i), ends(i + 1)) are those of expert i.
  matrix_view<std::int32_t> ends;
};

/// The rows that any choice of m x top slots fits into.
ZEROULP_HD constexpr std::ptrdiff_t plan_capacity(std::ptrdiff_t slots,
                                                  std::ptrdiff_t experts,
                                                  std::ptrdiff_t align) {
  return slots + experts * (align - 1);
}

/// Writes the plan; rows beyond the last end are -1. `rows` has the capacity.
ZEROULP_HD constexpr void make_plan(const expert_plan& p) {
  const std::ptrdiff_t count = p.ends.rows - 1;
  for (std::ptrdiff_t e = 0; e <= count; ++e) p.ends(e, 0) = 0;
  for (std::ptrdiff_t t = 0; t < p.experts.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < p.experts.cols; ++k) {
      ++p.ends(p.experts(t, k) + 1, 0);
    }
  }
  for (std::ptrdiff_t e = 0; e < count; ++e) {
    const std::ptrdiff_t padded = ceil_div(p.ends(e + 1, 0), p.align) * p.align;
    p.ends(e + 1, 0) = static_cast<std::int32_t>(p.ends(e, 0) + padded);
  }
  for (std::ptrdiff_t r = 0; r < p.rows.rows; ++r) p.rows(r, 0) = -1;
  // ends(e) moves to the end of what is placed, then back.
  for (std::ptrdiff_t t = 0; t < p.experts.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < p.experts.cols; ++k) {
      const std::int32_t row = p.ends(p.experts(t, k), 0)++;
      p.slots(t, k) = row;
      p.rows(row, 0) = static_cast<std::int32_t>(t);
    }
  }
  for (std::ptrdiff_t t = p.experts.rows; t-- > 0;) {
    for (std::ptrdiff_t k = 0; k < p.experts.cols; ++k) {
      --p.ends(p.experts(t, k), 0);
    }
  }
}

/// Gradients through the slots.
struct slot_gradients {
  matrix_view<const std::uint16_t> dy;       ///< m x n, BF16
  matrix_view<const std::int32_t> slots;     ///< m x top: a row, or -1
  matrix_view<const std::uint32_t> weights;  ///< m x top, FP32
  matrix_view<const std::uint16_t> y;        ///< rows x n, BF16, or no data
  matrix_view<std::uint16_t> d_rows;         ///< rows x n, BF16, or no data
  matrix_view<std::uint32_t> dweights;       ///< m x top, FP32, or no data
};

/// The rows and weights of tokens [begin, end). Rows without a slot are not
/// written.
template <class A>
ZEROULP_HD constexpr void slot_backward(const slot_gradients& t,
                                        std::ptrdiff_t begin,
                                        std::ptrdiff_t end) {
  const std::ptrdiff_t n = t.dy.cols;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const std::uint16_t* const dy = t.dy.data + i * t.dy.row_stride;
    for (std::ptrdiff_t k = 0; k < t.slots.cols; ++k) {
      const std::ptrdiff_t row = t.slots(i, k);
      if (t.d_rows.data != nullptr && row >= 0) {
        std::uint16_t* const d = t.d_rows.data + row * t.d_rows.row_stride;
        const auto weight = A::from_bits(t.weights(i, k));
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          d[j] = bf16_code<A>(A::multiply(weight, bf16_number<A>(dy[j])));
        }
      }
      if (t.dweights.data == nullptr) continue;
      if (row < 0) {
        t.dweights(i, k) = 0;
        continue;
      }
      const std::uint16_t* const y = t.y.data + row * t.y.row_stride;
      t.dweights(i, k) = A::bits(row_dot<A>(
          n, [dy](std::ptrdiff_t j) { return bf16_number<A>(dy[j]); },
          [y](std::ptrdiff_t j) { return bf16_number<A>(y[j]); }));
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_EXPERT_ROWS_HPP_
