// Makes a case large by repeating its elements.

#include "fuzz/engine/enlarge.hpp"

#include <algorithm>

namespace zeroulp::fuzz {

problem repeated(const problem& p, std::ptrdiff_t m, std::ptrdiff_t n) {
  const auto length_for = [&p](char dimension, std::ptrdiff_t wanted) {
    const std::ptrdiff_t length = length_of(p, dimension);
    return length == 0 ? 0 : std::max(length, wanted);
  };
  return rearranged(p, length_for('m', m), length_for('n', n),
                    length_of(p, 'k'), [&p](char dimension, std::ptrdiff_t at) {
                      return dimension == 'k' ? at
                                              : at % length_of(p, dimension);
                    });
}

problem grown(const problem& p, counter_rng& rng, int elements) {
  constexpr int widths[] = {128, 136, 256, 264, 384, 520, 1024, 1030, 2048};
  const int n = widths[rng.below(std::size(widths))];
  return repeated(p, rng.between(1, std::max(1, elements / n)), n);
}

problem grown_in_time(const problem& p, counter_rng& rng) {
  constexpr std::ptrdiff_t most = grown_elements, products = 300000;
  const auto k = std::max<std::ptrdiff_t>(1, length_of(p, 'k'));
  return grown(p, rng, static_cast<int>(std::min(most, products / k)));
}

}  // namespace zeroulp::fuzz
