// Defines the report of a campaign: each arm's gap beside the base over paired
// seeds, its verdict, and whether the campaign could have seen a gap. Internal.

#ifndef ZEROULP_TOOLS_STUDY_PARITY_REPORT_HPP_
#define ZEROULP_TOOLS_STUDY_PARITY_REPORT_HPP_

#include <optional>
#include <string>
#include <vector>

#include "tools/study/parity/runs.hpp"
#include "tools/study/parity/statistics.hpp"

namespace zeroulp::parity {

/// (loss - base's) / base's of one end point, by seed.
struct arm_report {
  std::string arm;
  std::string base;
  std::vector<std::uint64_t> seeds;  ///< that have both runs, as planned
  std::vector<double> gaps;
  /// Of the first so many seeds, the largest look that there is; none: too few.
  std::optional<estimate> look;
  verdict said = verdict::undecided;
  double power = 0;  ///< that a gap of 0 is within, at the deviation found
};

struct campaign_report {
  std::vector<arm_report> own;      ///< each loss by the arm's own numerics
  std::vector<arm_report> by_base;  ///< by the base's
  std::vector<arm_report> pairs;    ///< own numerics, arm beside arm
  /// Whether a positive control is beyond; without one nobody knows.
  std::optional<bool> is_sensitive;
  double seed_sd = 0;  ///< of the base's losses over seeds, relative
};

campaign_report report_on(
    const plan& p,
    const std::map<std::pair<std::string, std::uint64_t>, run>& runs);

/// Exponential moving average of 0.9, from the first loss.
std::vector<double> smoothed(const std::vector<double>& losses);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_STUDY_PARITY_REPORT_HPP_
