// Defines the report of a campaign of training runs: tables, CSV, JSON, a
// figure.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_REPORT_HPP_

#include <string>

namespace zeroulp::cli {
class app;
}

namespace zeroulp::program {

struct report_request {
  std::string runs;  ///< the folder of the runs' folders
  std::string plan;
  std::string out;
};

/// Adds --report, which goes with --plan and --out alone.
void add_report(cli::app* command, report_request& q);

/// Writes parity.json, gaps.csv, losses.csv, curves.svg and held_out.svg to
/// q.out, if there is one, and prints the tables. Returns the exit status: 1 if
/// the control is not within the bound.
int run_report(const report_request& q);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_REPORT_HPP_
