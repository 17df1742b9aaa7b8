// Defines `record_steps`, which makes the vectors that are recorded on a GPU.
// For each path they hold cases of every profile of the engine, and cases that
// tell the path from other values of its parameters.

#ifndef ZEROULP_FUZZ_CASES_RECORD_HPP_
#define ZEROULP_FUZZ_CASES_RECORD_HPP_

#include <functional>
#include <string>
#include <vector>

#include "fuzz/cases/vectors.hpp"

namespace zeroulp::fuzz {

/// Returns D of each case, from a GPU or a stand-in. It gets the path's name
/// too, as two instructions may follow one path.
using step_source = std::function<std::vector<std::uint64_t>(
    const named_path&, const std::vector<step_case>&)>;

struct recording_request {
  std::vector<named_path> paths;
  /// Header fields that say where D is from.
  std::vector<std::pair<std::string, std::string>> from;
  std::size_t cases_a_profile = 0;
  std::size_t cases_a_parameter = 0;
  std::uint64_t seed = 1;
};

/// The records of a path.
struct recording {
  std::string path;
  std::string file;     ///< path.txt.gz
  std::string content;  ///< of the file
  std::size_t records = 0;
  /// The fewest records that refute all other values of a parameter, and which
  /// parameter that is.
  std::size_t fewest = 0;
  std::string fewest_of;
  /// Records that differ from the core, and the first of them.
  std::size_t mismatches = 0;
  std::string first_mismatch;
};

/// Records every path, one after the other. Asks `d_of` once for each section
/// of a file.
std::vector<recording> record_steps(const recording_request& q,
                                    const step_source& d_of);

/// Returns the checksums of the files, as `sha256sum -c` reads them.
std::string manifest_of(const std::vector<recording>& files);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_RECORD_HPP_
