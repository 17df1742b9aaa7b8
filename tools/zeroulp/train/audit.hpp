// Defines the audit of a run: one of its steps, computed again on the CPU.

#ifndef ZEROULP_TOOLS_ZEROULP_TRAIN_AUDIT_HPP_
#define ZEROULP_TOOLS_ZEROULP_TRAIN_AUDIT_HPP_

#include <cstdint>
#include <optional>
#include <string>

namespace zeroulp::cli {
class app;
}

namespace zeroulp::program {

struct audit_request {
  std::string run;  ///< its folder
  std::optional<std::int64_t> step;
  bool in_one_go = false;  ///< keeps no results on the disk
  std::string data;        ///< the file of --data, if the run has one
  std::string digests;     ///< CSV of the step's tensors, to write
  std::string compare;     ///< and to compare with
};

/// Adds --audit, --step and --in-one-go. Of the other options they go with
/// --data, --digests and --compare alone.
void add_audit(cli::app* command, audit_request& q);

/// The step behind q.step, from its checkpoint: its loss, its norm and the
/// state after it are held against the run's receipt. Returns the exit status.
int run_audit(const audit_request& q);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TRAIN_AUDIT_HPP_
