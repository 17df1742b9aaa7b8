// Defines how a vector file is held against the oracle: recorded steps, lines
// of text, gzip-compressed or not.
//
//   # zeroulp-vectors 1 path=hopper.wgmma.e4m3.e4m3.f32 device=...
//   A B C D
//
// Raw bits in hexadecimal, k ascending, no separators. A record with a multiple
// of the path's products is a chain of steps, D of each being c of the next. A
// file may hold several such sections.

#ifndef ZEROULP_TOOLS_ZEROULP_VECTORS_FILE_HPP_
#define ZEROULP_TOOLS_ZEROULP_VECTORS_FILE_HPP_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace zeroulp::program {

struct tally {
  std::uint64_t records = 0;
  std::uint64_t mismatches = 0;
  std::string first;  ///< the first mismatch, and where it stands
};

/// By the name of a path.
using tallies = std::map<std::string, tally>;

/// Sets `line` to the next one, without its end; false if there is none.
using line_source = std::function<bool(std::string& line)>;

/// Returns the lines of a file. Calls throw input_error.
line_source open_lines(const std::string& path);

/// Holds the records in the lines of `file` against the oracle and adds them to
/// `found`. Throws input_error.
void check_vectors(const std::string& file, const line_source& lines,
                   tallies& found);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_VECTORS_FILE_HPP_
