// Defines what the files of the target `quantize` share.

#ifndef ZEROULP_FUZZ_TARGETS_QUANTIZE_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_QUANTIZE_PARTS_HPP_

#include "fuzz/targets/matrix_parts.hpp"

namespace zeroulp::fuzz {

using words = matrix_view<std::uint64_t>;

/// Calls `use(group)` with a view of each group.
template <class Use>
void for_each_view(const settings& s, matrix& x, Use use) {
  const words all(x.words.data(), x.rows, x.cols);
  for_each_group(
      s.group, x.rows, x.cols,
      [&](std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t i, std::ptrdiff_t j,
          std::ptrdiff_t m, std::ptrdiff_t n) { use(all.block(i, j, m, n)); });
}

template <class Make>
void fill_view(words v, Make make) {
  for (std::ptrdiff_t i = 0; i < v.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < v.cols; ++j) v(i, j) = make();
  }
}

inline quantizer quantizer_of(const settings& s) {
  return {s.from, s.to, s.how.value, s.scale, s.group};
}

/// Fills groups: the amax is a boundary or next to one, the other elements are
/// up to 12 binades below it.
void fill_amax(const settings&, matrix& x, counter_rng&);

/// Fills in midpoints, and codes up to two beside them, at most amax.
void fill_ties(const settings&, matrix& x, counter_rng&);

std::vector<operand_spec> quantize_operands(const settings&);
void fill_quantize(problem&, int profile, counter_rng&);
std::vector<std::string> quantize_bins();
void cover_quantize(const problem&, const outputs&, bin_counts);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_QUANTIZE_PARTS_HPP_
