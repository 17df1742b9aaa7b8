// Defines `source`: sequences of known entropy; and draws of initial weights.
//
//   token 0 is a topic, t < topics, uniform
//   token i+1 follows from (t, token i): successor s of `successors` with
//   probability weight[s] (1 - noise), any symbol with noise / symbols
//
// The successors of a (topic, token) are those that a counter says, distinct,
// so every row of the transition matrix has the same entropy, in closed form.
// A model must look at token 0 (attention) and at the last one. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_SOURCE_HPP_
#define ZEROULP_TOOLS_TRAIN_SOURCE_HPP_

#include <vector>

#include "zeroulp/random.hpp"

namespace zeroulp::train {

/// inputs[s * length + i] is followed by targets[s * length + i].
struct batch {
  std::ptrdiff_t sequences;
  std::ptrdiff_t length;
  std::vector<int> inputs;
  std::vector<int> targets;
};

/// Nearly normal, deviation 1: a sum of twelve uniform numbers, exact.
double nearly_normal(counter_rng& rng);

struct source {
  int vocabulary = 128;
  int topics = 2;
  double noise = 0.1;
  std::uint64_t seed = 1;

  static constexpr int successors = 3;
  static constexpr double weight[successors] = {0.5, 0.3, 0.2};

  int symbols() const { return vocabulary - topics; }
  /// The s-th successor of `token` under `topic`.
  int successor(int topic, int token, int s) const;
  double probability(int topic, int token, int next) const;
  /// Nats a token, after token 0: what no model can go below.
  double entropy() const;
  /// Batch `index`, by itself.
  batch make(std::uint64_t index, std::ptrdiff_t sequences,
             std::ptrdiff_t length) const;
  /// The mean surprise, in nats, of a batch under the true probabilities.
  double ideal_loss(const batch& b) const;
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_SOURCE_HPP_
