// Defines what zeroulp and the process of a plug-in say to each other: lines of
// words over a socket, matrices in shared memory. zeroulp_plugin.py speaks it,
// too.
//
//   worker   plugin 1 NAME host|device
//            claim OPERATION AS SETTINGS M N K     one a claim; "-": NULL
//            ready                                 or: bad TEXT
//   zeroulp  call OPERATION FIELD=VALUE... MATRIX=OFFSET:ROWS:COLS:...
//   worker   done STATUS                           or: bad TEXT
//            stray HOW OFFSET                      its end
//            changed TEXT                          its end
//
// `changed` says how a call left the process otherwise than it found it. At
// the end of its lines a worker ends by itself. What starts it and sees to its
// end speaks over a socket of its own: keeper.hpp.
//
// Of a `device` there is one process at a time. A matrix is OFFSET:ROWS:COLS:
// ROW_STRIDE:COL_STRIDE:BYTES; `bytes=N` comes before the matrices: what of the
// shared memory they and their guards take. Fields and matrices that are NULL
// are left out. In words, what is no letter, digit or one of "-._:=,/" is %XX.
//
// On the host, pages that lie more than guard_bytes away from each matrix are
// to be touched by nobody during a call, and none of them after it: a worker
// takes them away, and says `stray` if it can tell: HOW is wrote, read or
// reached, OFFSET where (before the shared memory: below 0).

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROTOCOL_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROTOCOL_HPP_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::conformance::plugin {

inline constexpr int protocol_version = 1;

/// Where a worker finds them.
inline constexpr int socket_fd = 3;
inline constexpr int memory_fd = 4;
/// Where its keeper finds the socket to zeroulp.
inline constexpr int control_fd = 5;

/// Addresses alone; pages are taken when they are written.
inline constexpr std::size_t memory_bytes = std::size_t{1} << 29;

enum class role : std::uint8_t { input, output, update };

/// Bytes before and behind each matrix that are filled, and looked at after a
/// call.
inline constexpr std::size_t guard_bytes = 1024;
/// On the host a matrix and its guards have pages of their own, of so many
/// bytes, which are looked at to their end;
std::size_t page_bytes();
/// and so many lie between those of one and the next.
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

/// By zeroulp_plugin_operation.
const std::vector<operation_spec>& operations();

std::string to_word(std::string_view text);
std::string from_word(std::string_view word);
/// What somebody else says, for a line of a report: control characters are
/// spaces.
std::string one_line(std::string text);

/// Cuts at single spaces.
std::vector<std::string_view> words_of(std::string_view line);

/// Lines over a socket that may block.
class line_socket {
 public:
  enum class result : std::uint8_t { line, end, timeout };

  explicit line_socket(int fd) : fd_(fd) {}
  int fd() const { return fd_; }
  /// Returns false if nobody is there.
  bool send(std::string_view line);
  /// Waits up to `seconds`; below 0: for ever.
  result receive(std::string& line, double seconds);

 private:
  int fd_;
  std::string rest_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_PROTOCOL_HPP_
