// Defines the candidates for how a step aligns (F, the cut, places, the output
// and its rounding), experiments that tell them apart, and `agreement`, which
// drops a candidate at the first answer that it contradicts.

#ifndef ZEROULP_FUZZ_PROBE_ALIGNMENT_HPP_
#define ZEROULP_FUZZ_PROBE_ALIGNMENT_HPP_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz/probe/order.hpp"

namespace zeroulp::fuzz {

/// What a cut or a conversion may be, the hardware's first.
inline constexpr rounding alignment_roundings[] = {
    rounding::toward_zero, rounding::nearest_even, rounding::nearest_away,
    rounding::down,        rounding::up,           rounding::to_odd};

/// What operands may become: themselves, FP16, or what has no subnormals.
std::vector<std::pair<format, format>> operand_formats(format a, format b);

/// Steps of a few terms that tell alignments apart in one step of `m`, its
/// first one if c is a term of it, and that no floor and no rule of subnormal
/// results changes.
std::vector<step_case> alignment_cases(const black_box& box,
                                       const mechanism& m);

/// Sums of many products, which do so as well, and tell orders apart.
std::vector<step_case> carry_cases(const black_box& box, const mechanism& m);

/// Calls use(m with another alignment) with every candidate, those of the
/// hardware's kind first, until it returns true. Returns whether it did.
bool any_alignment(mechanism m,
                   const std::function<bool(const mechanism&)>& use);

/// Whether a mechanism agrees with experiments. Those that refuted one come
/// first for the next.
class agreement {
 public:
  /// With all that was asked.
  explicit agreement(const experiments& asked);
  /// With those from `first` on.
  agreement(const experiments& asked, std::size_t first);

  /// Keeps those for which use(experiment) is true.
  template <class Use>
  void keep(Use use) {
    std::erase_if(order_, [&](std::size_t i) { return !use(asked_.all()[i]); });
  }

  bool holds(const mechanism& m) { return !refuting(m); }
  /// An experiment with which it disagrees, if there is one.
  std::optional<std::size_t> refuting(const mechanism& m);

 private:
  const experiments& asked_;
  std::vector<std::size_t> order_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_ALIGNMENT_HPP_
