// Defines `supervisor`: it decides, when the filter of a sealed plug-in asks,
// on one more thread or process, and on a signal to another process.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SUPERVISOR_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SUPERVISOR_HPP_

#include <linux/seccomp.h>
#include <sys/types.h>

#include <vector>

namespace zeroulp::conformance::plugin {

/// Threads and processes that a plug-in may have at a time.
int most_tasks();

class supervisor {
 public:
  /// `listener`: install_syscall_filter's result. The plug-in's processes are
  /// descendants of `root`.
  supervisor(int listener, pid_t root);
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;
  ~supervisor() { close(); }

  /// To be polled for input; below 0: there is none.
  int listener() const { return listener_; }
  /// Answers one question.
  void answer();
  /// From now on every call that needs an answer fails.
  void close();

 private:
  /// 0, or the errno that the call fails with.
  int decide(const seccomp_data& call);
  bool has_room();
  bool may_signal(int call, pid_t to) const;

  int listener_;
  pid_t root_;
  int room_ = 0;  ///< tasks that may come before they are counted again
  std::vector<char> question_;
  std::vector<char> answer_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_SUPERVISOR_HPP_
