// Defines a campaign of training runs: what a plan has, one after the other.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_CAMPAIGN_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_CAMPAIGN_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/zeroulp/train/run.hpp"

namespace zeroulp::cli {
class app;
}

namespace zeroulp::program {

struct campaign_request {
  std::string plan;
  int look = 1;  ///< the seeds up to that of the plan's looks
  std::vector<std::int64_t> seeds{};  ///< of these, those alone; none: all
  double minutes = 0;                 ///< no run begins after them; 0: no limit
};

/// Adds --campaign and what goes with it.
void add_campaign(cli::app* command, campaign_request& q);

/// Trains what the plan has and o.out has not, seed after seed; each run in a
/// folder there, called ARM.SEED. The plan says how; `o` says where, on which
/// data, and what stays. Returns 0, or the status of the run that failed.
int run_campaign(const campaign_request& q, train_options o);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_CAMPAIGN_HPP_
