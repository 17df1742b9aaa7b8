// Defines rotary position embedding (rope): pairs of elements are turned by an
// angle that grows with the position.
//
// Templates over an arithmetic `A` (elementary.hpp); elements of a row are
// adjacent. Source: SPEC clauses N4 and E7.

#ifndef ZEROULP_CORE_MODEL_ROPE_HPP_
#define ZEROULP_CORE_MODEL_ROPE_HPP_

#include "zeroulp/core/model/row_sums.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp {

/// Which elements of a row are a pair: 2i and 2i + 1, or i and i + n / 2.
enum class rope_pairs : std::uint8_t { adjacent, halves };

/// Rows of heads, n elements each, one head after the other.
struct rope_rows {
  rope_pairs pairs;
  bool backward;  ///< turn the other way
  std::ptrdiff_t heads;
  matrix_view<const std::uint16_t> x;  ///< m x heads n, BF16
  /// Positions x n / 2, FP32; row i of x has position i mod positions.
  matrix_view<const std::uint32_t> cosines;
  matrix_view<const std::uint32_t> sines;
  matrix_view<std::uint16_t> y;  ///< m x heads n, BF16; may be x
};

/// y of rows [begin, end).
template <class A>
ZEROULP_HD constexpr void rope(const rope_rows& t, std::ptrdiff_t begin,
                               std::ptrdiff_t end) {
  const std::ptrdiff_t half = t.cosines.cols;
  const bool adjacent = t.pairs == rope_pairs::adjacent;
  const std::ptrdiff_t step = adjacent ? 2 : 1;
  const std::ptrdiff_t apart = adjacent ? 1 : half;
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    const std::ptrdiff_t position = i % t.cosines.rows;
    const std::uint32_t* const c =
        t.cosines.data + position * t.cosines.row_stride;
    const std::uint32_t* const s = t.sines.data + position * t.sines.row_stride;
    for (std::ptrdiff_t h = 0; h < t.heads; ++h) {
      const std::uint16_t* const x =
          t.x.data + i * t.x.row_stride + 2 * half * h;
      std::uint16_t* const y = t.y.data + i * t.y.row_stride + 2 * half * h;
      for (std::ptrdiff_t k = 0; k < half; ++k) {
        const auto x0 = bf16_number<A>(x[step * k]);
        const auto x1 = bf16_number<A>(x[step * k + apart]);
        const auto cosine = A::from_bits(c[k]);
        auto sine = A::from_bits(s[k]);
        if (t.backward) sine = A::negate(sine);
        y[step * k] =
            bf16_code<A>(A::fma(A::negate(x1), sine, A::multiply(x0, cosine)));
        y[step * k + apart] =
            bf16_code<A>(A::fma(x0, sine, A::multiply(x1, cosine)));
      }
    }
  }
}

}  // namespace zeroulp

#endif  // ZEROULP_CORE_MODEL_ROPE_HPP_
