// The process that runs a plug-in: start, calls, checks and end.

#include "conformance/plugin/process/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

#include "conformance/plugin/process/processes.hpp"
#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

using clock = std::chrono::steady_clock;

double since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

/// Bytes of the plug-in's output that are kept.
constexpr off_t most_output = 1 << 20;

/// A plug-in may leave so many idle threads without complaint: thread pools.
int most_threads() {
  return 64 + 8 * static_cast<int>(std::thread::hardware_concurrency());
}

/// Returns how many threads of a waiting process still compute after a second.
/// A thread pool looks for work for a while, but comes to rest before that.
int computing_threads(pid_t process) {
  const auto start = clock::now();
  int count = 0;
  for (auto pause = std::chrono::milliseconds(2); since(start) < 1;
       pause = std::chrono::milliseconds(20)) {
    std::this_thread::sleep_for(pause);
    count = running_threads(process);
    if (count == 0) break;
  }
  return count;
}

}  // namespace

worker::worker(command_line command, const worker_options& options)
    : command_(std::move(command)), options_(options) {
  memory_fd_ = high_file(
      ::memfd_create("zeroulp-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING),
      "memfd_create");
  output_fd_ =
      high_file(::memfd_create("zeroulp-output", MFD_CLOEXEC), "memfd_create");
  // The plug-in may not truncate memory that this process has mapped.
  if (::ftruncate(memory_fd_, memory_bytes) != 0 ||
      ::fcntl(memory_fd_, F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail_process("shared memory");
  }
  // With O_APPEND it may be truncated while the plug-in writes.
  if (::fcntl(output_fd_, F_SETFL, O_APPEND) != 0) fail_process("its output");
  void* const at = ::mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, memory_fd_, 0);
  if (at == MAP_FAILED) fail_process("shared memory");
  memory_ = static_cast<unsigned char*>(at);
}

worker::~worker() {
  process_.reset();
  if (memory_ != nullptr) ::munmap(memory_, memory_bytes);
  if (memory_fd_ >= 0) ::close(memory_fd_);
  if (output_fd_ >= 0) ::close(output_fd_);
}

std::vector<std::string> worker::start() {
  if (process_ != nullptr) return {};
  if (::ftruncate(output_fd_, 0) != 0) fail_process("its output");
  const auto start = clock::now();
  process_ = std::make_unique<kept_process>(command_, !options_.trusted,
                                            memory_fd_, output_fd_);
  seal_lacks_ = process_->missing();
  calls_ = 0;
  std::vector<std::string> lines;
  for (std::string line;;) {
    const double left = std::max(0.0, options_.load_limit - since(start));
    const auto got = process_->socket().receive(line, left);
    if (got != line_socket::result::line) {
      const bool hung = got == line_socket::result::timeout;
      const auto how = end(hung, command_.hint);
      throw input_error(
          fmt::format("{}: while it was loaded, it {}", command_.file(),
                      hung ? fmt::format("took more than {} s (--load-limit)",
                                         options_.load_limit)
                           : how.what()));
    }
    if (line.starts_with("bad ")) {
      process_.reset();
      throw input_error(fmt::format("{}: {}", command_.file(),
                                    one_line(from_word(line.substr(4)))));
    }
    if (line == "ready") return lines;
    lines.push_back(line);
  }
}

call_end worker::call(const std::string& line) {
  start();
  if (output_size() > most_output && ::ftruncate(output_fd_, 0) != 0) {
    fail_process("its output");
  }
  // A process that has ended since the last call may have said why.
  const bool is_there = process_->socket().send(line);
  std::string answer;
  const auto got =
      process_->socket().receive(answer, is_there ? options_.limit : 0);
  if (got != line_socket::result::line) {
    has_hung_ = is_there && got == line_socket::result::timeout;
    throw end(has_hung_);
  }
  const auto words = words_of(answer);
  if (words.size() == 2 && words[0] == "done") {
    if (const auto status = whole_number<int>(words[1])) {
      look_at_threads();
      return {*status};
    }
  }
  // The process has more to say, but may be unusable: a device after a fault.
  process_.reset();
  if (words.size() == 3 && words[0] == "stray") {
    const auto at = whole_number<std::ptrdiff_t>(words[2]);
    if (at) return {0, std::string(words[1]), *at};
  }
  if (words.size() == 2 && words[0] == "changed") {
    throw call_failure(fault::altered, one_line(from_word(words[1])));
  }
  throw call_failure(fault::failed, words.size() == 2 && words[0] == "bad"
                                        ? one_line(from_word(words[1]))
                                        : "gave an answer that is none");
}

void worker::look_at_threads() {
  // Checks after calls 1, 2, 4, 8, ... of a process.
  if (!std::has_single_bit(++calls_)) return;
  const int running = computing_threads(process_->id());
  const int all = thread_count(process_->id()) - 1;
  if (running == 0 && all <= most_threads()) return;
  process_.reset();
  throw call_failure(fault::altered,
                     running == 0
                         ? fmt::format("left {} threads behind", all)
                         : fmt::format("left {} thread{} running", running,
                                       running == 1 ? "" : "s"));
}

call_failure worker::end(bool hung, const std::string& hint) {
  const int status = (hung ? process_->kill() : process_->wait()).status;
  process_.reset();
  if (hung) {
    return {fault::hung, fmt::format("gave no answer in {} s", options_.limit)};
  }
  const std::string said = last_words();
  const std::string text = said.empty() ? "" : ": " + said;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {fault::signal, fmt::format("died of signal {}, {}{}", signal,
                                       strsignal(signal), text)};
  }
  const int code = WEXITSTATUS(status);
  return {fault::ended, fmt::format("ended its process with status {}{}{}",
                                    code, text, code == 0 ? hint : "")};
}

void worker::ask_to_end() {
  if (process_ != nullptr) process_->ask_to_end();
}

int worker::finish() {
  if (process_ == nullptr) return 0;
  const int left = process_->wait().left;
  process_.reset();
  return left;
}

off_t worker::output_size() const {
  struct stat about {};
  return ::fstat(output_fd_, &about) == 0 ? about.st_size : 0;
}

std::string worker::last_words() const {
  char part[512];
  const auto from = std::max<off_t>(0, output_size() - off_t{sizeof part});
  const auto n = ::pread(output_fd_, part, sizeof part, from);
  std::string_view text(part, n > 0 ? static_cast<std::size_t>(n) : 0);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return one_line(std::string(text.substr(text.rfind('\n') + 1)));
}

}  // namespace zeroulp::conformance::plugin
