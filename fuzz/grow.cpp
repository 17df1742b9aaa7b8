#include "fuzz/grow.hpp"

#include <algorithm>

namespace zeroulp::fuzz {

problem repeated(const problem& p, std::ptrdiff_t m, std::ptrdiff_t n) {
  const auto length_for = [&p](char dimension, std::ptrdiff_t wanted) {
    const std::ptrdiff_t length = length_of(p, dimension);
    return length == 0 ? 0 : std::max(length, wanted);
  };
  const std::ptrdiff_t rows = length_for('m', m), cols = length_for('n', n);
  const auto source = [&p](const axis& a, std::ptrdiff_t at) {
    if ((a.name != 'm' && a.name != 'n') || a.group == 0) return at;
    return at * a.group % length_of(p, a.name) / a.group;
  };
  const auto specs = info_of(p.what).operands(p.with);
  problem q = p;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].optional && p.in[i].rows == 0) continue;
    matrix& x = q.in[i];
    x = make_operand(specs[i], rows, cols, length_of(p, 'k'));
    for (std::ptrdiff_t r = 0; r < x.rows; ++r) {
      for (std::ptrdiff_t c = 0; c < x.cols; ++c) {
        x(r, c) = p.in[i](source(specs[i].rows, r), source(specs[i].cols, c));
      }
    }
  }
  return q;
}

problem grown(const problem& p, counter_rng& rng) {
  constexpr int widths[] = {128, 136, 256, 264, 384, 520, 1024, 1030, 2048};
  constexpr int elements = 40000;
  const int n = widths[rng.below(std::size(widths))];
  return repeated(p, rng.between(1, elements / n), n);
}

}  // namespace zeroulp::fuzz
