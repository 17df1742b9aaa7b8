// Defines who holds the lock of a file, for a message: a process that is
// refused may be told whom to wait for.

#ifndef ZEROULP_TOOLS_ZEROULP_JOURNAL_FILE_LOCK_HPP_
#define ZEROULP_TOOLS_ZEROULP_JOURNAL_FILE_LOCK_HPP_

#include <optional>

namespace zeroulp::program {

/// The process that has the flock() of an open file, where the system tells:
/// not of another machine, and of no process that this one cannot see.
std::optional<long> holder_of_lock(int file);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_JOURNAL_FILE_LOCK_HPP_
