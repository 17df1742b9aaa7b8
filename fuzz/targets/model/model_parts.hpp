// Defines what the targets of a model's step share: placements whose rows have
// adjacent elements, and numbers for them. Internal.

#ifndef ZEROULP_FUZZ_TARGETS_MODEL_MODEL_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_MODEL_MODEL_PARTS_HPP_

#include <string>

#include "fuzz/targets/training_parts.hpp"

namespace zeroulp::fuzz {

/// The operators take rows of adjacent elements alone.
inline placement draw_rows(counter_rng& rng) {
  return rng.one_in(2) ? placement::padded : placement::dense;
}
inline std::string refuse_rows(const settings& s) {
  return s.place == placement::dense || s.place == placement::padded
             ? ""
             : "place is dense or padded: elements of a row are adjacent";
}

/// Makes the operands of `p`, of zeros. Those that `absent` names by their
/// place in bits are left out.
inline void make_operands(problem& p, std::ptrdiff_t m, std::ptrdiff_t n,
                          std::ptrdiff_t k, unsigned absent = 0) {
  p.in.clear();
  for (const auto& spec : info_of(p.what).operands(p.with)) {
    const bool none = (absent >> p.in.size() & 1) != 0;
    p.in.push_back(none ? matrix(spec.name, spec.type, 0, 0)
                        : make_operand(spec, m, n, k));
  }
}

/// The index of `length` among `limits`, ascending: of the first that is not
/// below it; one past the last if there is none.
template <std::size_t N>
int class_of(std::ptrdiff_t length, const std::ptrdiff_t (&limits)[N]) {
  int at = 0;
  for (const auto limit : limits) at += length > limit ? 1 : 0;
  return at;
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_MODEL_MODEL_PARTS_HPP_
