// Defines `worker`: the process that runs a plug-in, from our side. What it
// says and how: protocol.hpp. It is started by the first call, and anew after
// it has died.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_WORKER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_WORKER_HPP_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "conformance/checks/call_failure.hpp"
#include "conformance/plugin/protocol.hpp"

namespace zeroulp::conformance::plugin {

/// How a worker is started: `zeroulp plugin-worker LIB`, or Python.
struct command_line {
  /// A program and its arguments; the last is the plug-in's file.
  std::vector<std::string> words;
  /// NAME=VALUE, besides this process's own.
  std::vector<std::string> variables;
  /// What its user may have left out if it ends at once, as if all were well.
  std::string hint;

  const std::string& file() const { return words.back(); }
};

/// What a call came to.
struct call_end {
  int status = 0;
  /// "wrote" or "read", if the byte `at` of the shared memory is nobody's: the
  /// process is ended then.
  std::string stray{};
  std::ptrdiff_t at = 0;
};

class worker {
 public:
  /// `limit`: seconds that a call may take. Throws input_error.
  worker(command_line command, double limit);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker();

  /// Starts the process unless there is one. Returns the lines that it begins
  /// with, without `ready`. Throws input_error with what it says otherwise.
  std::vector<std::string> start();
  /// Shared with it: memory_bytes.
  unsigned char* memory() { return memory_; }
  /// Sends a call. Throws call_failure.
  call_end call(const std::string& line);

 private:
  /// Ends the process and says how it ended; if with status 0, `hint` too.
  call_failure end(bool hung, const std::string& hint = "");
  /// The last line that it printed to stderr; may be empty.
  std::string last_words() const;
  off_t output_size() const;

  command_line command_;
  double limit_;
  int memory_fd_ = -1;
  int output_fd_ = -1;  ///< its stdout and stderr
  unsigned char* memory_ = nullptr;
  pid_t process_ = 0;
  std::unique_ptr<line_socket> socket_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_WORKER_HPP_
