// Defines how a campaign is divided: ranges of case numbers, shards of a range
// for independent processes, and blocks of a range for journals.

#ifndef ZEROULP_FUZZ_ENGINE_SHARD_HPP_
#define ZEROULP_FUZZ_ENGINE_SHARD_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::fuzz {

/// Case numbers from `first` on.
struct case_range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::uint64_t end() const { return first + count; }
  friend bool operator==(const case_range&, const case_range&) = default;
};

/// Part `index` of `count` nearly equal parts, and the source of these numbers.
struct shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  std::string from;  ///< "--shard", names of variables; "" for all of it
};

/// Returns the shard's part of a range; together the parts are the range.
case_range part_of(const shard& s, const case_range& all);

/// Reads "I/N", 0 <= I < N. Throws input_error.
shard parse_shard(std::string_view text);

/// A variable of the environment, or a null pointer.
using environment = std::function<const char*(const char* name)>;

/// Returns the shard that a launcher asks for; all of it if none does. The
/// variables (rank, count) are those of GoogleTest, Open MPI, PMI and Slurm, in
/// this order: the innermost launcher comes first. The first pair with a
/// variable set counts; the others are not read. Throws input_error, with the
/// names, if one of that pair is missing or the pair is no shard.
shard shard_of(const environment& get);

/// Returns what is left of `all` without `done`, ascending and divided where a
/// case number is a multiple of `block`: the first `most` parts.
std::vector<case_range> left_of(const case_range& all,
                                std::vector<case_range> done,
                                std::uint64_t block,
                                std::size_t most = SIZE_MAX);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_SHARD_HPP_
