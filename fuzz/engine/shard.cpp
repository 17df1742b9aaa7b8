// Divides a campaign: shards by launcher, and the cases that are left.

#include "fuzz/engine/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// The variables in which a launcher tells each process its rank.
struct launcher {
  const char* rank;
  const char* size;
};
/// The innermost first. A test is divided within a job; mpirun runs within
/// Slurm's allocation, and its processes see Slurm's variables, too.
constexpr launcher launchers[] = {
    {"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"}};

/// Returns the shard with this index and count, if it is one.
std::optional<shard> shard_in(std::string_view index, std::string_view count,
                              const std::string& from) {
  constexpr std::uint64_t most = 1000000000;
  const auto i = whole_number<std::uint64_t>(index);
  const auto n = whole_number<std::uint64_t>(count);
  if (!i || !n || *i >= *n || *n > most) return {};
  return shard{*i, *n, from};
}

/// Returns the shard that one launcher sets, if it does.
std::optional<shard> told_by(const launcher& of, const environment& get) {
  const char* const rank = get(of.rank);
  const char* const size = get(of.size);
  if (rank == nullptr && size == nullptr) return {};
  if (rank == nullptr || size == nullptr) {
    throw input_error(fmt::format(
        "{} is set and {} is not: set both or neither, or say --shard I/N",
        rank == nullptr ? of.size : of.rank,
        rank == nullptr ? of.rank : of.size));
  }
  const auto told =
      shard_in(rank, size, fmt::format("{}, {}", of.rank, of.size));
  if (!told) {
    throw input_error(fmt::format(
        "{}={} and {}={} are no shard: 0 <= I < N, or say --shard I/N", of.rank,
        rank, of.size, size));
  }
  return told;
}

}  // namespace

case_range part_of(const shard& s, const case_range& all) {
  // floor(count * i / n) without overflow: n is at most 1e9.
  const auto at = [&](std::uint64_t i) {
    return all.first + all.count / s.count * i +
           all.count % s.count * i / s.count;
  };
  return {at(s.index), at(s.index + 1) - at(s.index)};
}

shard parse_shard(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  const auto count = text.substr(std::min(slash + 1, text.size()));
  if (const auto s = shard_in(text.substr(0, slash), count, "--shard")) {
    return *s;
  }
  throw input_error(fmt::format("--shard '{}': use I/N with 0 <= I < N", text));
}

shard shard_of(const environment& get) {
  for (const launcher& of : launchers) {
    if (const auto told = told_by(of, get)) return *told;
  }
  return {};
}

std::vector<case_range> left_of(const case_range& all,
                                std::vector<case_range> done,
                                std::uint64_t block, std::size_t most) {
  std::sort(done.begin(), done.end(),
            [](const auto& x, const auto& y) { return x.first < y.first; });
  done.push_back({all.end(), 0});
  std::vector<case_range> left;
  std::uint64_t at = all.first;
  for (const case_range& d : done) {
    while (at < d.first && at < all.end() && left.size() < most) {
      const auto end = std::min({(at / block + 1) * block, d.first, all.end()});
      left.push_back({at, end - at});
      at = end;
    }
    at = std::max(at, d.end());
  }
  return left;
}

}  // namespace zeroulp::fuzz
