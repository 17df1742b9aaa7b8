// Defines `kept_process`: zeroulp's side of a plug-in's process and of its
// keeper (keeper.hpp).

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEPT_PROCESS_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEPT_PROCESS_HPP_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "conformance/plugin/process/protocol.hpp"

namespace zeroulp::conformance::plugin {

/// How a worker is started: `zeroulp plugin-worker LIB`, or Python.
struct command_line {
  /// A program and its arguments; the last is the plug-in's file.
  std::vector<std::string> words;
  /// NAME=VALUE, besides those that are passed on (environment.hpp).
  std::vector<std::string> variables;
  /// A likely omission of the user's if it ends at once with status 0.
  std::string hint;

  const std::string& file() const { return words.back(); }
};

/// Throws input_error with `what` and the text of errno.
[[noreturn]] void fail_process(const std::string& what);
/// Moves an open file above the file numbers that a worker gets. Throws
/// input_error.
int high_file(int fd, const char* what);

class kept_process {
 public:
  struct end_result {
    int status = 0;  ///< as waitpid has it
    int left = 0;    ///< processes that it left behind, now ended
  };

  /// Starts it; `memory` and `output` are open files. Throws input_error.
  kept_process(const command_line& command, bool sealed, int memory,
               int output);
  kept_process(const kept_process&) = delete;
  kept_process& operator=(const kept_process&) = delete;
  /// Kills it.
  ~kept_process();

  pid_t id() const { return id_; }
  /// The parts of the seal that this machine lacks; empty: none.
  const std::string& missing() const { return missing_; }
  line_socket& socket() { return *socket_; }

  /// Asks it to end by itself, by closing its socket.
  void ask_to_end();
  /// Asks it to end by itself and waits; the keeper kills it if it takes long.
  end_result wait();
  end_result kill();

 private:
  void read_start();
  end_result read_end();

  pid_t keeper_ = 0;
  pid_t id_ = 0;
  std::string missing_;
  std::unique_ptr<line_socket> socket_;
  std::unique_ptr<line_socket> control_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_KEPT_PROCESS_HPP_
