// Defines the loss study: what an arm's numerics do to the loss and the
// gradients of a small model, beside BF16.
//
// The model and its step are those of tools/train, whose clauses say what each
// bit is: latent attention, a dense and a routed layer, BF16 outside the
// Linears, AdamW with BF16 moments. Its data have a known entropy (source.hpp).
//
//   same state   at checkpoints of the BF16 run, on the same batches:
//                (loss' - loss) / loss, |g' - g| / |g|, cos(g', g),
//                <g', g> / <g, g>
//   forks        from each checkpoint `fork_steps` of training on the same
//                batches: the mean of (loss' - loss) / loss over the steps
//   outliers     forks whose passes read one channel or unit 2^k larger, its
//                inverse where it is read (stress.hpp). BF16 computes the same
//                bits as without, so a gap is the doing of the scale that the
//                outlier shares with others
//
// What is compared is an arm beside BF16, or beside another arm: see
// comparison.hpp. Each seed is a run of its own, weights and data; its number
// is the mean over its checkpoints. Intervals are 90 %, Student's t over seeds.
// The numbers are a function of the options, whatever the threads and
// interruptions.
//
// What a size shows: K is the model's widths in Fprop and Dgrad, and the tokens
// of a batch in Wgrad. Quantization errors hardly depend on K; the
// accumulator's grow with it. Size "tokens" has 16,384 tokens in Wgrad; size
// "dose" has worse accumulators instead of a longer K. Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_STUDY_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_STUDY_HPP_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zeroulp {

/// What the full recipe's interval must lie within.
inline constexpr double loss_bound = 0.0025;

enum class outlier_kind : std::uint8_t { channel, unit };
/// "channel", "unit".
const char* name_of(outlier_kind kind);

struct loss_outlier {
  outlier_kind kind;
  int exponent;  ///< 2^this larger
  friend bool operator==(const loss_outlier&, const loss_outlier&) = default;
};

struct loss_options {
  std::string model = "tiny";  ///< NAME or NAME+FIELD:VALUE: train/shape.hpp
  /// Fields of the model for batches of the same state, sequences and length.
  std::string state = {};
  int seeds = 4;        ///< BF16 runs: from `seed` on
  int checkpoints = 2;  ///< of each
  int every = 100;      ///< steps of BF16 training from one to the next
  int batches = 4;
  int fork_steps = 16;  ///< 0: no forks, and no outliers
  int outlier_steps = 8;
  double rate = 0;  ///< of learning; 0: usual_rate's of the model
  int warmup = 10;  ///< steps of a growing rate
  /// Comparisons: ARM, or ARM/ARM (comparison.hpp).
  std::vector<std::string> compared;
  std::vector<std::string> under_outliers;  ///< the same, beside BF16
  std::vector<loss_outlier> outliers;
  /// Fraction bits of accumulators whose error is measured.
  std::vector<int> doses;
  std::uint64_t seed = 1;
  std::string data = {};   ///< a file of bytes; empty: the known source
  std::string on = "cpu";  ///< or "gpu": the same bits
  int threads = 0;         ///< 0: as many as OpenMP offers
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
/// smoke, quick, full, wide, tokens, more_tokens, dose, lite4.
const std::vector<loss_size>& loss_sizes();

struct loss_interval {
  double mean;
  double low;
  double high;
};

struct loss_checkpoint {
  std::uint64_t seed;
  std::int64_t step;
  double loss;   ///< BF16's, mean of the batches
  double ideal;  ///< the batches' surprise under the true probabilities, or 0
};

/// At the same state, means of the batches. `arm` is the comparison's text.
struct loss_gap {
  std::string arm;
  std::uint64_t seed;
  std::int64_t step;
  double loss;         ///< relative change
  double gradient_l2;  ///< all gradients together
  double gradient_cos;
  double gradient_slope;  ///< less than 1: too small
  double rerouted;        ///< of (token, layer), share with other experts
};

struct loss_gradient {
  std::string arm;
  std::uint64_t seed;
  std::int64_t step;
  std::string parameter;
  double l2;
  double cos;
  double slope;
};

/// An arm's relative loss gaps and their interval.
struct loss_series {
  std::string arm;
  std::optional<loss_outlier> outlier;
  std::vector<double> gaps;  ///< by seed
  loss_interval over;
  /// At the same state: the first comparison with the same base whose losses
  /// are the same bits, as its forward pass is; else empty.
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
};

/// The error of an accumulator on products of N(0, 1) as E4M3 against the exact
/// sums, of 256 x 256 outputs.
struct loss_dose {
  int fraction_bits;
  std::ptrdiff_t k;
  int interval;  ///< between promotions; 0: none
  double frobenius;
  double max_over_mean;
};

struct loss_result {
  double entropy = 0;  ///< of the data, nats a token; 0: nobody knows
  std::vector<loss_checkpoint> checkpoints;
  std::vector<loss_gap> gaps;            ///< by seed, checkpoint, arm
  std::vector<loss_series> same_state;   ///< gaps[].loss by arm
  std::vector<loss_gradient> gradients;  ///< the same, by parameter
  std::vector<loss_series> forks;
  std::vector<loss_series> outliers;  ///< by outlier, then arm, BF16 first
  std::vector<loss_dose> doses;
  std::vector<loss_verdict> verdicts;
};

/// The full recipe with activations and gradients, too, in blocks.
inline constexpr const char* block_arm =
    "full+linear.x.group:128x128+linear.dy.group:128x128+swiglu_cache.group:"
    "128x128";
/// The arm that sums exactly as far as FP32 holds, which others stand beside.
inline constexpr const char* exact_arm = "tensor+fraction_bits:34";
/// The arm of a dose.
std::string dose_arm(int fraction_bits);

/// Throws input_error if options cannot be met, or what is kept in the folder
/// is damaged or of other options.
loss_result run_loss_study(const loss_options& options);

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_LOSS_STUDY_HPP_
