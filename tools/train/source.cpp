#include "tools/train/source.hpp"

#include <algorithm>
#include <cmath>

namespace zeroulp::train {
namespace {

constexpr double two_to_minus_32 = 0x1p-32;

}  // namespace

double nearly_normal(counter_rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.next32() * two_to_minus_32;
  return sum;
}

int source::successor(int topic, int token, int s) const {
  counter_rng rng(seed, static_cast<std::uint64_t>(topic * vocabulary + token));
  // Distinct: a draw that was taken is drawn again.
  int taken[successors];
  for (int n = 0; n <= s; ++n) {
    const auto is_taken = [&](int x) {
      return std::find(taken, taken + n, x) != taken + n;
    };
    do {
      taken[n] =
          static_cast<int>(rng.below(static_cast<std::uint32_t>(symbols())));
    } while (is_taken(taken[n]));
  }
  return topics + taken[s];
}

double source::probability(int topic, int token, int next) const {
  if (next < topics) return 0;
  double p = noise / symbols();
  for (int s = 0; s < successors; ++s) {
    if (successor(topic, token, s) == next) p += weight[s] * (1 - noise);
  }
  return p;
}

double source::entropy() const {
  const double rest = noise / symbols();
  double h = -(symbols() - successors) * rest * std::log(rest);
  for (const double w : weight) {
    const double p = rest + w * (1 - noise);
    h -= p * std::log(p);
  }
  return h;
}

batch source::make(std::uint64_t index, std::ptrdiff_t sequences,
                   std::ptrdiff_t length) const {
  batch b{sequences, length, {}, {}};
  for (std::ptrdiff_t s = 0; s < sequences; ++s) {
    counter_rng rng(seed + 1, index * 65536 + static_cast<std::uint64_t>(s));
    const int topic =
        static_cast<int>(rng.below(static_cast<std::uint32_t>(topics)));
    int token = topic;
    for (std::ptrdiff_t i = 0; i < length; ++i) {
      b.inputs.push_back(token);
      const double kind = rng.next32() * two_to_minus_32;
      const double which = rng.next32() * two_to_minus_32;
      if (kind < noise) {
        token = topics + static_cast<int>(which * symbols());
      } else {
        int n = 0;
        double below = weight[0];
        while (n + 1 < successors && which >= below) below += weight[++n];
        token = successor(topic, token, n);
      }
      b.targets.push_back(token);
    }
  }
  return b;
}

double source::ideal_loss(const batch& b) const {
  double sum = 0;
  for (std::ptrdiff_t s = 0; s < b.sequences; ++s) {
    const auto first = static_cast<std::size_t>(s * b.length);
    for (auto i = first; i < first + static_cast<std::size_t>(b.length); ++i) {
      sum -= std::log(probability(b.inputs[first], b.inputs[i], b.targets[i]));
    }
  }
  return sum / static_cast<double>(b.sequences * b.length);
}

}  // namespace zeroulp::train
