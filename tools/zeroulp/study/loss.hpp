// Defines `zeroulp study --loss`: the loss study as a table, CSV and JSON.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_LOSS_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_LOSS_HPP_

#include <filesystem>
#include <string>
#include <vector>

#include "tools/study/loss/study.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// The files of a result; changes are relative, not in percent.
///
///   gap.csv        at each checkpoint: loss, gradients, tokens rerouted
///   gradients.csv  the same of each gradient
///   forks.csv      the interval of an arm, and whether it lies within the
///                  bound, beyond it, or neither (undecided)
///   outliers.csv   the same by injected outlier
///   loss.json      the command, options, intervals with the gap of each seed,
///                  verdicts
///   dose_*.svg     of a size with doses: the loss and the gradients by the
///                  accumulator's error
void add_loss_files(const std::string& command, const loss_options& options,
                    const loss_result& result, output_set& files);

json to_json(const std::string& command, const loss_options& options,
             const loss_result& result);

/// True iff every verdict held.
bool all_held(const loss_result& result);

struct loss_request {
  bool wanted = false;
  std::string size = "full";
  std::string model;                  ///< instead of the size's; empty: it
  std::vector<std::string> compared;  ///< likewise; empty: the size's
  std::string data;  ///< a file of bytes; empty: the source of known entropy
  std::string on = "cpu";
  std::uint64_t seed = 1;
  double rate = 0;  ///< of learning; 0: the size's
  int threads = 0;
  bool as_json = false;
};
/// Adds --loss and its options. Of the options that are there already, --loss
/// goes with --out, --json and --reference. If `wanted`, run_loss is the
/// command.
void add_loss_options(cli::app& command, loss_request& request);

/// Runs the study, keeps its state in `out`/state, writes the files to `out`
/// and prints tables and verdicts, or JSON. Returns the exit status.
int run_loss(const loss_request& request, const std::filesystem::path& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_LOSS_HPP_
