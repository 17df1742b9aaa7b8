// Defines the loss study: what an arm's numerics do to the loss and the
// gradients of a small model, beside BF16.
//
// The model, in the DeepSeek-V3 report's kind: embedding; layers of RMSNorm,
// causal attention (heads of `width` / 2), RMSNorm and SwiGLU experts (4
// routed, top 2 by sigmoid score plus bias, and a shared one, each `width`
// wide); a last norm and a head over 128 symbols. Every Linear of a layer goes
// through the tensor table of that report (E4M3 tiles and blocks, re-tiled
// caches, E5M6 attention outputs, power-of-two scales at dispatch) on the
// engine; the embedding, head, router, norms and attention are BF16 or FP32 in
// every arm. FP32 master weights, AdamW with BF16 moments. Equations: SPEC S2
// to S9, Q, W and G; arm.hpp says what each arm stores.
//
// The data have a known entropy: see source.hpp.
//
//   same state   at checkpoints of the BF16 run, on the same batches:
//                (loss' - loss) / loss, |g' - g| / |g|, cos(g', g)
//   forks        from each checkpoint `fork_steps` of training on the same
//                batches: the mean of (loss' - loss) / loss over the steps
//   stress       forks from the checkpoint with outliers injected; the gap is
//                to the BF16 fork without them
//
// The outliers are whole blocks 2^k above (or below) the rest of their tensor:
// values and `up` against q, k and gate, and what reads them; from width 256 on
// channels of the norms' outputs too (see rescale in training.hpp). They
// stand in weights, activations and gradients, and exact arithmetic and BF16
// compute the same as without, so a gap is the scales' doing. What they are
// not: an outlier among the 128 elements that share a scale, from which no tile
// or block can keep the rest. E4M3 spans nearly 2^18 from its least subnormal
// to its maximum and absorbs smaller ones: at 2^10 and 2^15 (`full`) every arm
// stays within the bound. So what the full recipe does under stress cannot
// fail: whole blocks apart are a symmetry of scales for each block.
//
// Intervals are 90 %, Student's t over checkpoints. The numbers are a function
// of the options, whatever the threads and interruptions.
//
// What this size can show: quantization, scales and granularity, whose errors
// hardly depend on K. What it cannot: the accumulator's, which grow with K.
// K is `width` (Fprop, Dgrad) and the tokens of a batch (Wgrad), so at most a
// few promotion intervals; at 128 the forward passes of the promoted and the
// unpromoted arm are the same bits. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_STUDY_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_STUDY_HPP_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace zeroulp {

/// What the full recipe's interval must lie within.
inline constexpr double loss_bound = 0.0025;

struct loss_options {
  std::ptrdiff_t width = 128;  ///< of the model and of an expert: 128 n
  std::ptrdiff_t layers = 2;
  std::ptrdiff_t sequences = 2;  ///< of a batch
  std::ptrdiff_t length = 128;   ///< tokens of a sequence
  int checkpoints = 8;
  int every = 50;  ///< steps of BF16 training from one to the next
  int batches = 8;
  int fork_steps = 24;
  int stress_steps = 16;
  std::vector<int> stress_exponents = {20};
  std::uint64_t seed = 1;
  int threads = 0;  ///< 0: as many as OpenMP offers
  /// Where finished parts are kept; a run with the same options goes on from
  /// what it finds there. Empty: nowhere.
  std::filesystem::path folder;
  /// Called with the passes done and to do, by one thread at a time. What it
  /// throws ends the run.
  std::function<void(double done, double total)> progress;
};

struct loss_size {
  const char* name;
  const char* what;
  loss_options options;
};
/// smoke, quick, full, wide.
const std::vector<loss_size>& loss_sizes();

struct loss_interval {
  double mean;
  double low;
  double high;
};

struct loss_checkpoint {
  std::int64_t step;
  double loss;   ///< BF16's, mean of the batches
  double ideal;  ///< the batches' surprise under the true probabilities
};

/// At the same state, means of the batches.
struct loss_gap {
  std::string arm;
  std::int64_t step;
  double loss;          ///< relative change
  double gradient_l2;   ///< all gradients together
  double gradient_cos;  ///< the same
  double rerouted;      ///< of (token, layer), share with other experts
};

struct loss_gradient {
  std::string arm;
  std::int64_t step;
  std::string parameter;
  double l2;
  double cos;
};

/// An arm's relative loss gaps and their interval.
struct loss_series {
  std::string arm;
  int exponent;              ///< of injected outliers, 0 without
  std::vector<double> gaps;  ///< by checkpoint
  loss_interval over;
  /// At the same state: the first arm whose losses are the same bits, as its
  /// forward pass is; else empty.
  std::string same_as = {};
  bool within() const {
    return over.low > -loss_bound && over.high < loss_bound;
  }
  bool beyond() const {
    return over.low > loss_bound || over.high < -loss_bound;
  }
};

struct loss_verdict {
  std::string name;
  bool held;
  std::string text;
  bool can_fail;  ///< false: true by construction, whatever the numerics
};

struct loss_result {
  double entropy;  ///< of the data, nats a token
  std::vector<loss_checkpoint> checkpoints;
  std::vector<loss_gap> gaps;            ///< by checkpoint, then arm
  std::vector<loss_series> same_state;   ///< gaps[].loss by arm
  std::vector<loss_gradient> gradients;  ///< by checkpoint, arm, parameter
  std::vector<loss_series> forks;
  std::vector<loss_series> stress;  ///< by exponent, then arm, BF16 first
  std::vector<loss_verdict> verdicts;
};

/// Throws input_error if options cannot be met, or what is kept in the folder
/// is damaged or of other options.
loss_result run_loss_study(const loss_options& options);

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_LOSS_STUDY_HPP_
