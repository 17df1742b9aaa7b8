// Defines `record_steps`: what vectors recorded on a GPU are made of. For each
// path cases of every profile of the engine, and those that separate it from
// what stands beside its parameters.

#ifndef ZEROULP_FUZZ_CASES_RECORD_HPP_
#define ZEROULP_FUZZ_CASES_RECORD_HPP_

#include <functional>
#include <string>
#include <vector>

#include "fuzz/cases/vectors.hpp"

namespace zeroulp::fuzz {

/// Returns D of each case: a GPU, or what stands for one. It gets the name, as
/// two instructions may be said to follow one path.
using step_source = std::function<std::vector<std::uint64_t>(
    const named_path&, const std::vector<step_case>&)>;

struct recording_request {
  std::vector<named_path> paths;
  /// Fields of the headers that say where D is from.
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
  /// Of the parameter of which the fewest records refute all other values.
  std::size_t fewest = 0;
  std::string fewest_of;
  /// Records that are not what the core gives, and the first of them.
  std::size_t mismatches = 0;
  std::string first_mismatch;
};

/// Records every path, one after the other, asking `d_of` for each section of a
/// file.
std::vector<recording> record_steps(const recording_request& q,
                                    const step_source& d_of);

/// Returns the checksums of the files, as `sha256sum -c` reads them.
std::string manifest_of(const std::vector<recording>& files);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_RECORD_HPP_
