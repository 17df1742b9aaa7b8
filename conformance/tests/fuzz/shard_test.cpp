// How campaigns are divided: shards and blocks make up the whole; what
// launchers say is taken, or refused.

#include "fuzz/engine/shard.hpp"

#include <gtest/gtest.h>

#include <map>

#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

shard shard_in(const std::map<std::string, std::string>& variables) {
  return shard_of([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal_of(const std::map<std::string, std::string>& variables) {
  try {
    shard_in(variables);
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

TEST(Shards, FollowOneAnotherAndMakeUpTheRange) {
  for (const std::uint64_t cases :
       {0ull, 1ull, 6ull, 7ull, 20001ull, 1ull << 62}) {
    for (const std::uint64_t count : {1ull, 2ull, 7ull, 1000000000ull}) {
      EXPECT_EQ(part_of({0, count, ""}, {5, cases}).first, 5u);
      EXPECT_EQ(part_of({count - 1, count, ""}, {5, cases}).end(), 5 + cases);
      for (std::uint64_t i = 1; i < std::min<std::uint64_t>(count, 9); ++i) {
        EXPECT_EQ(part_of({i - 1, count, ""}, {5, cases}).end(),
                  part_of({i, count, ""}, {5, cases}).first);
      }
    }
  }
}

TEST(Shards, AreReadFromText) {
  EXPECT_EQ(parse_shard("3/7").index, 3u);
  EXPECT_EQ(parse_shard("3/7").count, 7u);
  for (const char* bad : {"", "/", "3", "7/7", "-1/2", "1/2/3", "1/", "/2",
                          "0/0", " 0/1", "1e0/2", "0/99999999999"}) {
    EXPECT_THROW(parse_shard(bad), input_error) << bad;
  }
}

TEST(Shards, AreWhatTheLauncherSays) {
  EXPECT_EQ(shard_in({}).count, 1u);
  EXPECT_EQ(shard_in({}).from, "");
  const char* const pairs[][2] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS"},
      {"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"}};
  for (const auto& [rank, size] : pairs) {
    const shard s = shard_in({{rank, "2"}, {size, "5"}});
    EXPECT_EQ(s.index, 2u);
    EXPECT_EQ(s.count, 5u);
    EXPECT_EQ(s.from, std::string(rank) + ", " + size);
    EXPECT_NE(refusal_of({{rank, "2"}}).find(size), std::string::npos);
    EXPECT_NE(refusal_of({{size, "2"}}).find(rank), std::string::npos);
    for (const char* bad : {"", "5", "-1", "x"}) {
      EXPECT_NE(refusal_of({{rank, bad}, {size, "5"}}), "") << bad;
    }
  }
}

TEST(Shards, AreWhatTheInnermostLauncherSays) {
  // A test within mpirun within srun --mpi=pmi2 within sbatch.
  std::map<std::string, std::string> set{{"GTEST_SHARD_INDEX", "4"},
                                         {"GTEST_TOTAL_SHARDS", "5"},
                                         {"OMPI_COMM_WORLD_RANK", "3"},
                                         {"OMPI_COMM_WORLD_SIZE", "4"},
                                         {"PMI_RANK", "2"},
                                         {"PMI_SIZE", "3"},
                                         {"SLURM_PROCID", "1"},
                                         {"SLURM_NTASKS", "2"}};
  const char* const inner_first[] = {
      "GTEST_SHARD_INDEX", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (std::uint64_t index = 4; const char* const rank : inner_first) {
    const shard s = shard_in(set);
    EXPECT_EQ(s.index, index--) << rank;
    EXPECT_EQ(s.from.substr(0, s.from.find(',')), rank);
    const auto count = s.from.substr(s.from.find(' ') + 1);
    // Half of a pair does not count, nor does the next pair instead.
    auto half = set;
    half.erase(count);
    EXPECT_NE(refusal_of(half).find(rank), std::string::npos) << rank;
    half[count] = "x";
    EXPECT_NE(refusal_of(half).find(rank), std::string::npos) << rank;
    set.erase(rank);
    set.erase(count);
  }
  EXPECT_EQ(shard_in(set).count, 1u);
  // What salloc leaves is half a pair; mpirun's is whole, and within it.
  EXPECT_EQ(shard_in({{"SLURM_NTASKS", "8"},
                      {"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"}})
                .count,
            2u);
}

TEST(Blocks, AreWhatIsLeftCutAtMultiples) {
  const std::vector<case_range> whole{{5, 5}, {10, 10}, {20, 3}};
  EXPECT_EQ(left_of({5, 18}, {}, 10), whole);
  EXPECT_EQ(left_of({5, 18}, {{20, 3}, {5, 5}}, 10),
            (std::vector<case_range>{{10, 10}}));
  EXPECT_EQ(left_of({5, 18}, {{10, 4}}, 10),
            (std::vector<case_range>{{5, 5}, {14, 6}, {20, 3}}));
  EXPECT_TRUE(left_of({5, 18}, {{5, 18}}, 10).empty());
  EXPECT_TRUE(left_of({5, 0}, {}, 10).empty());
}

}  // namespace
}  // namespace zeroulp::fuzz
