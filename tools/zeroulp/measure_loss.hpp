// Defines `zeroulp measure --loss`: the loss study as a table, CSV and JSON.

#ifndef ZEROULP_TOOLS_MEASURE_LOSS_HPP_
#define ZEROULP_TOOLS_MEASURE_LOSS_HPP_

#include <filesystem>

#include "loss_study.hpp"
#include "program.hpp"

namespace zeroulp::program {

/// The files of a result, without those of its state.
///
///   gap.csv        arm, step, loss_change, gradient_l2, gradient_cosine, ...
///   gradients.csv  the same by parameter
///   forks.csv      arm, mean, low90, high90, within, ...
///   stress.csv     the same by exponent of the injected outliers
///   loss.json      all of it, the options and the verdicts
void add_loss_files(const loss_options& options, const loss_result& result,
                    output_set& files);

json to_json(const loss_options& options, const loss_result& result);

/// True iff every verdict held.
bool all_held(const loss_result& result);

/// Adds --loss and its options to `measure`. Where --loss is given, the
/// callback of the command must be this one.
struct loss_request {
  bool wanted = false;
  std::string size = "full";
  std::int64_t width = 0;  ///< 0: the size's
  std::uint64_t seed = 1;
  int threads = 0;
  bool as_json = false;
};
void add_loss_options(CLI::App& measure, loss_request& request);

/// Runs the study, keeps its state in `out`/state, writes the files to `out`
/// and prints tables and verdicts, or JSON. Returns the exit status.
int run_measure_loss(const loss_request& request,
                     const std::filesystem::path& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_MEASURE_LOSS_HPP_
