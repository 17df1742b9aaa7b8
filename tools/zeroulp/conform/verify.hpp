// Defines `conform --verify`: a part of a record, chosen at random, is run
// again and compared with what the record says.

#ifndef ZEROULP_TOOLS_ZEROULP_CONFORM_VERIFY_HPP_
#define ZEROULP_TOOLS_ZEROULP_CONFORM_VERIFY_HPP_

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/zeroulp/conform/report.hpp"

namespace zeroulp::program {

/// What `conform --record` wrote.
struct conform_record {
  std::string set;  ///< of sources that it depends on
  bool gpu = false;
  conformance::effort effort;
  std::string commit, program;
  json platform, checks, sources;
};

/// Throws input_error for what is no record, or one without a seed and digests
/// of outputs, which earlier versions wrote.
conform_record read_record(const std::filesystem::path& file);

/// Parses "1%" or "1". Throws input_error unless 0 < percent <= 100.
double parse_percent(std::string_view text);

/// Names of checks of the record: in an order drawn from `seed`, those that
/// together have at most `percent` of its cases; the one of fewest cases if
/// none fits. Skipped checks are left out.
std::set<std::string> sample_of(const conform_record& r, double percent,
                                std::uint64_t seed);

/// A check of the sample: what the record says, and what came of it now.
struct verified_check {
  std::string name;
  json recorded, now;
  bool same() const { return recorded == now; }
};
std::vector<verified_check> compare(const conform_record& recorded,
                                    const conform_run& now);

/// Whether commit, program, platform and sources are those of the record: a
/// sentence each.
std::vector<std::string> origins(const conform_record& recorded,
                                 const conform_run& now);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CONFORM_VERIFY_HPP_
