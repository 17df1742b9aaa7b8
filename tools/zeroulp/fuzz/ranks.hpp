// Defines a campaign over the ranks of MPI: rank 0 hands out blocks one by one,
// works too, and alone keeps the journal; the others send back what they found.
//
// A block that does not come back is handed out again when no other is left: a
// rank may be lost, or slow. What comes first counts; what comes later must be
// the same. Without MPI in the build there is one rank, which says so.

#ifndef ZEROULP_TOOLS_ZEROULP_FUZZ_RANKS_HPP_
#define ZEROULP_TOOLS_ZEROULP_FUZZ_RANKS_HPP_

#include <functional>
#include <string>
#include <vector>

#include "tools/zeroulp/fuzz/journal.hpp"

namespace zeroulp::program {

/// Makes the record of a range; takes what it takes.
using block_work = std::function<block_record(const fuzz::case_range&)>;
/// Takes a record, in the order in which they come.
using use_record = std::function<void(const block_record&)>;

/// This process among the ranks, from its making to its end. At most one.
class ranks {
 public:
  /// Throws input_error if this build has no MPI. Each rank takes one of the
  /// machine's GPUs, if there are any.
  ranks();
  /// Leaves the others. If a rank is lost, ends the whole job.
  ~ranks();
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;

  bool is_first() const { return rank_ == 0; }
  int count() const { return count_; }

  /// Of rank 0: has all ranges done. `done` is called in this thread. Returns
  /// what two ranks found different, a line each. Throws input_error with what
  /// went wrong on a rank.
  std::vector<std::string> distribute(const std::vector<fuzz::case_range>& todo,
                                      const block_work& work,
                                      const use_record& done);
  /// Of the others: works until rank 0 has no more.
  void serve(const block_work& work);
  /// Of rank 0: the exit status of the job, should it have to be ended.
  void set_status(int status) { status_ = status; }

 private:
  int rank_ = 0;
  int count_ = 1;
  int status_ = 2;  ///< until something better is known
  [[maybe_unused]] bool lost_ = false;
  [[maybe_unused]] bool parted_ = false;  ///< left as one should
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_FUZZ_RANKS_HPP_
