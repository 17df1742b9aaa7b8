#include "fuzz/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// What a launcher tells each of its processes.
struct launcher {
  const char* rank;
  const char* size;
};
constexpr launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"}};

std::optional<std::uint64_t> parse_whole(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value > 1000000000) return {};
  return value;
}

/// What one launcher says, if it does.
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
  const auto index = parse_whole(rank);
  const auto count = parse_whole(size);
  if (!index || !count || *index >= *count) {
    throw input_error(fmt::format(
        "{}={} and {}={} are no shard: 0 <= I < N, or say --shard I/N", of.rank,
        rank, of.size, size));
  }
  return shard{*index, *count, fmt::format("{}, {}", of.rank, of.size)};
}

}  // namespace

case_range part_of(const shard& s, const case_range& all) {
  // floor(count * i / n), which does not fit; n is at most 1e9.
  const auto at = [&](std::uint64_t i) {
    return all.first + all.count / s.count * i +
           all.count % s.count * i / s.count;
  };
  return {at(s.index), at(s.index + 1) - at(s.index)};
}

shard parse_shard(std::string_view text) {
  const auto slash = text.find('/');
  const bool whole = slash != std::string_view::npos;
  const auto index = parse_whole(text.substr(0, slash));
  const auto count = whole ? parse_whole(text.substr(slash + 1)) : std::nullopt;
  if (!index || !count || *index >= *count) {
    throw input_error(
        fmt::format("--shard '{}': use I/N with 0 <= I < N", text));
  }
  return {*index, *count, "--shard"};
}

shard shard_of(const environment& get) {
  std::optional<shard> told;
  for (const launcher& of : launchers) {
    const auto other = told_by(of, get);
    if (!other) continue;
    if (!told) {
      told = other;
    } else if (told->index != other->index || told->count != other->count) {
      throw input_error(fmt::format(
          "{} say shard {}/{}, but {} say {}/{}: say --shard I/N", told->from,
          told->index, told->count, other->from, other->index, other->count));
    }
  }
  return told.value_or(shard{});
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
