// Defines the runs of a campaign, as their folders say: settings, receipt,
// held-out losses; and the campaign's plan. Internal.
//
// Of a run (tools/train/run_folder.hpp, and held_out.csv beside it):
//
//   step,batches,arm,loss,chain     chain = SHA-256(the one before it and the
//                                   row), after the receipt's last

#ifndef ZEROULP_TOOLS_STUDY_PARITY_RUNS_HPP_
#define ZEROULP_TOOLS_STUDY_PARITY_RUNS_HPP_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zeroulp::parity {

struct plan {
  std::string digest;  ///< SHA-256 of the file
  std::string size;    ///< of the model
  std::string data;    ///< source, or sha256:DIGEST
  std::int64_t steps;
  std::string base;     ///< the arm that the others are held against
  std::string control;  ///< another order of sums: the noise floor
  std::vector<std::string> arms;
  /// Arms whose loss must be seen to suffer, or the campaign is insensitive.
  std::vector<std::string> positive_controls;
  /// Beside one another: (arm, arm).
  std::vector<std::pair<std::string, std::string>> pairs;
  std::vector<std::uint64_t> seeds;  ///< in the order of the runs
  std::vector<int> looks;            ///< counts of seeds: of 6, then of 12
  double level;                      ///< of the interval at each look
  double bound;
  /// Of settings.json, by name, as JSON: what all runs have, such as the rate.
  std::map<std::string, std::string> settings;
  std::int64_t held_out = 1;  ///< batches
  /// The first steps of every run that are the base's.
  std::int64_t shared = 0;
};

/// Throws input_error that names the file and the field.
plan read_plan(const std::filesystem::path& file);

struct run {
  std::string arm;
  std::uint64_t seed;
  std::vector<double> losses;              ///< of training, by step
  std::map<std::string, double> held_out;  ///< by the arm that computed it
  std::string state;                       ///< digest after the last step
};

/// The runs in the folders of `folder`, by (arm, seed). Throws input_error
/// unless each belongs to the plan, has all its steps and chains that hold.
std::map<std::pair<std::string, std::uint64_t>, run> read_runs(
    const std::filesystem::path& folder, const plan& p);

/// The line of a held-out loss, without its chain.
std::string held_out_row(std::int64_t step, std::int64_t batches,
                         const std::string& arm, double loss);
inline constexpr const char* held_out_header = "step,batches,arm,loss,chain";

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_STUDY_PARITY_RUNS_HPP_
