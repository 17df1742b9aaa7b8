// Defines a run of `zeroulp train`.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_RUN_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_RUN_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zeroulp::program {

/// What `zeroulp train` is asked.
struct train_options {
  std::string size = "T";
  std::string arm = "full";
  std::string on = "cpu";
  std::string data;
  std::string out;
  std::string digests;
  std::string compare;
  std::string plan;
  std::string trace;
  std::string first_arm;         ///< of the first steps
  std::int64_t first_steps = 0;  ///< how many
  std::string from;              ///< a run that has made them
  std::vector<std::int64_t> keep;
  std::vector<std::string> held_out_by;
  std::int64_t every = 10;
  std::int64_t digest_every = 1;
  std::int64_t steps = 50;
  std::int64_t shards = 1;
  std::int64_t warmup = 10;
  /// The step from which the rate decays; without it, three quarters of them.
  std::optional<std::int64_t> hold;
  std::int64_t held_out = 1;
  std::uint64_t seed = 1;
  double rate = 0;
  double last = 0.1;
  double clip = 1;
};

/// Trains, and prints a line a step. Returns the exit status. Throws
/// input_error.
int run_training(const train_options& o);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_RUN_HPP_
