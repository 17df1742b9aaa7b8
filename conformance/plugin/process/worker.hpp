// Defines `worker`: zeroulp's side of the process that runs a plug-in; the
// messages are those of protocol.hpp. The first call starts the process. A call
// after its death starts it anew.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_WORKER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_WORKER_HPP_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "conformance/contract/call_failure.hpp"
#include "conformance/plugin/process/kept_process.hpp"
#include "conformance/plugin/process/protocol.hpp"

namespace zeroulp::conformance::plugin {

struct worker_options {
  double limit = 10;        ///< seconds that a call may take
  double load_limit = 120;  ///< and loading: CUDA, Python
  bool trusted = false;     ///< not sealed (seal.hpp)
};

/// The outcome of a call.
struct call_end {
  int status = 0;
  /// HOW of `stray` (protocol.hpp), if the plug-in touched byte `at`, which is
  /// no matrix's; the process is ended then. Empty: it did not.
  std::string stray{};
  std::ptrdiff_t at = 0;
};

class worker {
 public:
  /// Throws input_error.
  worker(command_line command, const worker_options& options);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker();

  /// Starts the process unless it runs. Returns its lines before `ready`.
  /// Throws input_error with the reason if it does not become ready.
  std::vector<std::string> start();
  /// The memory shared with the process: memory_bytes.
  unsigned char* memory() { return memory_; }
  /// Sends a call. Throws call_failure.
  call_end call(const std::string& line);

  /// A call exceeded its time limit.
  bool has_hung() const { return has_hung_; }
  /// The parts of the seal that are missing, once started; empty: none.
  const std::string& seal_lacks() const { return seal_lacks_; }

  /// Asks the process to end by itself.
  void ask_to_end();
  /// Waits for that end; returns how many processes it left behind.
  int finish();

 private:
  /// Ends the process and says how it ended, with `hint` if by status 0.
  call_failure end(bool hung, const std::string& hint = "");
  /// Throws call_failure if threads go on after a call has returned.
  void look_at_threads();
  /// The last line that it printed to stderr; may be empty.
  std::string last_words() const;
  off_t output_size() const;

  command_line command_;
  worker_options options_;
  int memory_fd_ = -1;
  int output_fd_ = -1;  ///< its stdout and stderr
  unsigned char* memory_ = nullptr;
  std::unique_ptr<kept_process> process_;
  std::uint64_t calls_ = 0;  ///< of this process
  bool has_hung_ = false;
  std::string seal_lacks_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_WORKER_HPP_
