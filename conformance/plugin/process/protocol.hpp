// Defines the protocol between zeroulp and a plug-in's process: lines of words
// over a socket, matrices in shared memory. zeroulp_plugin.py implements it
// too.
//
//   worker   plugin 1 NAME host|device
//            claim OPERATION AS SETTINGS M N K     one per claim; "-": NULL
//            ready                                 or: bad TEXT
//   zeroulp  call OPERATION FIELD=VALUE... MATRIX=OFFSET:ROWS:COLS:...
//   worker   done STATUS                           or: bad TEXT
//            stray HOW OFFSET                      the worker ends
//            changed TEXT                          the worker ends
//
// `changed` says what a call left different in the process. A worker ends by
// itself when its socket closes. The keeper, which starts it and sees to its
// end, has a socket of its own (keeper.hpp).
//
// A `device` plug-in has one process at a time. A matrix is OFFSET:ROWS:COLS:
// ROW_STRIDE:COL_STRIDE:BYTES. `bytes=N` precedes the matrices: the bytes of
// shared memory that they and their guards take. NULL fields and matrices are
// left out. A character of a word other than a letter, digit or "-._:=,/" is
// written as %XX.
//
// On the host, a call may not touch pages that lie more than guard_bytes away
// from every matrix. After the call nothing may touch any page. A worker takes
// those pages away, and says `stray` if it can tell. HOW is wrote, read or
// reached. OFFSET is the place, below 0 if before the shared memory.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROTOCOL_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROTOCOL_HPP_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::conformance::plugin {

inline constexpr int protocol_version = 1;

/// File numbers in a worker.
inline constexpr int socket_fd = 3;
inline constexpr int memory_fd = 4;
/// File number, in the keeper, of its socket to zeroulp.
inline constexpr int control_fd = 5;

/// Reserves addresses alone; a page is allocated when it is first written.
inline constexpr std::size_t memory_bytes = std::size_t{1} << 29;

enum class role : std::uint8_t { input, output, update };

/// Bytes before and behind each matrix that are filled, and checked after a
/// call.
inline constexpr std::size_t guard_bytes = 1024;
/// On the host a matrix and its guards have pages of their own, which are
/// checked to their end. This is the size of a page.
std::size_t page_bytes();
/// On the host: bytes between the pages of one matrix and of the next.
inline constexpr std::size_t gap_bytes = std::size_t{1} << 20;

struct field_spec {
  const char* name;
  bool is_text;
};

struct matrix_spec {
  const char* name;
  role as;
};

/// An operation of plugin.h: the members of its request, in their order.
struct operation_spec {
  const char* name;
  std::vector<field_spec> fields;
  std::vector<matrix_spec> matrices;
};

/// In the order of zeroulp_plugin_operation.
const std::vector<operation_spec>& operations();

std::string to_word(std::string_view text);
std::string from_word(std::string_view word);
/// Text from outside, made fit for one line of a report: control characters
/// become spaces.
std::string one_line(std::string text);

/// Splits at single spaces.
std::vector<std::string_view> words_of(std::string_view line);

/// Lines of text over a blocking socket.
class line_socket {
 public:
  enum class result : std::uint8_t { line, end, timeout };

  explicit line_socket(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  /// Returns false if the other end is closed.
  bool send(std::string_view line);
  /// Waits up to `seconds`; below 0: without limit.
  result receive(std::string& line, double seconds);

 private:
  int fd_;
  std::string rest_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROTOCOL_HPP_
