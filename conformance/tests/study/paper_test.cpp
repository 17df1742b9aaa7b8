// The numbers of DeepSeek-V3's report: what is counted is right, and a verdict
// can fail.

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "tools/study/paper/counts.hpp"
#include "tools/study/paper/findings.hpp"
#include "tools/study/paper/schedule.hpp"
#include "tools/zeroulp/study/paper_records.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study::paper {
namespace {

using enum pipe_method;

/// Two stages and two micro-batches, F = 1, B = 2:
///
///   rank 0   F0 F1 .  B0 B0 B1 B1 ...
///   rank 1   .  F0 B0 B0 F1 B1 B1
TEST(PaperSchedules, OneForwardOneBackwardIsAsDrawnByHand) {
  const auto cost = cost_of(one_f_one_b, 2, 2, {1, 1, 1, 3});
  EXPECT_EQ(cost.total, 9);
  EXPECT_EQ(cost.most_idle, 3);
  EXPECT_EQ(cost.least_idle, 3);
  EXPECT_EQ(cost.activations, 2);
  EXPECT_EQ(cost.stages_held, 1);
}

// Every micro-batch passes once, and its gradients of weights come last.
TEST(PaperSchedules, DoEachPassOnce) {
  for (const auto method : {one_f_one_b, zb1p, dual_pipe}) {
    for (int rank = 0; rank < 4; ++rank) {
      std::set<std::array<int, 2>> seen;
      for (const auto& s : steps_of(method, 4, 10, rank)) {
        const int pass = static_cast<int>(s.pass);
        EXPECT_TRUE(seen.insert({pass, s.micro_batch}).second);
        EXPECT_TRUE(pass == 0 || seen.count({pass - 1, s.micro_batch}) == 1);
      }
      EXPECT_EQ(seen.size(), 30U);
    }
  }
}

/// The idle time of the rank that waits most, less Table 2's.
std::int64_t beyond_table(pipe_method method, int stages, int micro_batches,
                          const pipe_durations& d) {
  return cost_of(method, stages, micro_batches, d).most_idle -
         table_idle(method, stages, d);
}

TEST(PaperSchedules, WaitAsTheTableSaysWithinItsConditions) {
  for (const int stages : {2, 4, 6, 8}) {
    for (const int count : {2 * stages, 2 * stages + 2, 5 * stages}) {
      for (const std::int64_t f : {3, 5}) {
        for (const std::int64_t w : {1, 3}) {
          for (const std::int64_t overlapped : {5 + w, 5 + w + f}) {
            const pipe_durations d{f, 5, w, overlapped};
            EXPECT_EQ(beyond_table(one_f_one_b, stages, count, d), 0);
            EXPECT_EQ(beyond_table(zb1p, stages, count, d), 0);
            EXPECT_EQ(beyond_table(dual_pipe, stages, count, d), 0);
          }
        }
      }
    }
  }
}

TEST(PaperSchedules, WaitLongerBeyondThem) {
  const pipe_durations long_forward{9, 5, 1, 15}, long_weights{3, 3, 5, 11};
  EXPECT_EQ(beyond_table(one_f_one_b, 8, 20, long_forward), 0);
  EXPECT_EQ(beyond_table(zb1p, 8, 20, long_forward), 0);
  EXPECT_GT(beyond_table(dual_pipe, 8, 20, long_forward), 0);
  EXPECT_EQ(beyond_table(one_f_one_b, 8, 20, long_weights), 0);
  EXPECT_GT(beyond_table(zb1p, 8, 20, long_weights), 0);
}

// 1F1B holds fewer activations at later ranks, ZB1P and DualPipe do not.
TEST(PaperSchedules, HoldWhatTheTableSays) {
  const pipe_durations d{1, 1, 1, 3};
  EXPECT_EQ(cost_of(one_f_one_b, 6, 12, d).activations, 6);
  EXPECT_EQ(cost_of(zb1p, 6, 12, d).activations, 6);
  EXPECT_EQ(cost_of(dual_pipe, 6, 12, d).activations, 7);
  EXPECT_EQ(cost_of(dual_pipe, 6, 12, d).stages_held, 2);
}

TEST(PaperCounts, DispatchKeepsToItsNodesAndExperts) {
  const v3_cluster c;
  for (const std::ptrdiff_t top : {1, 8, 13}) {
    const auto n = count_dispatch({}, c, top, 512);
    EXPECT_EQ(n.rows, static_cast<double>(top));
    EXPECT_LE(n.gpus, n.rows);
    EXPECT_LE(n.nodes, n.gpus);
    EXPECT_LE(n.most_nodes, 4);
    EXPECT_LE(n.nodes, n.most_nodes);
  }
  // Of one expert a token there is one copy over each.
  const auto one = count_dispatch({}, c, 1, 512);
  EXPECT_EQ(one.nodes, 1);
  EXPECT_EQ(one.gpus, 1);
  EXPECT_DOUBLE_EQ(one.nvlink_share(one.rows, c), 50.0 / 160.0);
  // With one expert a GPU, copies for experts are copies for GPUs.
  v3_shape few;
  few.experts = 64;
  const auto spread = count_dispatch(few, c, 8, 512);
  EXPECT_EQ(spread.gpus, spread.rows);
}

// SPEC T5, T12.
TEST(PaperFindings, BitsFollowTheAccumulator) {
  accumulator acc = hopper_fp8_f32;
  for (const int bits : {8, 12, 13, 17}) {
    acc.fraction_bits = static_cast<std::int16_t>(bits);
    EXPECT_EQ(fraction_bits_kept(acc), bits);
  }
  EXPECT_EQ(fraction_bits_of_exact_e4m3(), 34);
}

/// Small cells.
evidence nothing() { return {{}, {}, "parity.json", "m=32 n=32"}; }

const claim& find(const std::string& name) {
  for (const auto& c : claims()) {
    if (name == c.name) return c;
  }
  throw input_error(name);
}

TEST(PaperClaims, CiteASectionAndHaveNames) {
  std::set<std::string> names;
  for (const auto& c : claims()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_TRUE(c.where[0] >= '1' && c.where[0] <= '4') << c.name;
    EXPECT_NE(std::string(c.value), "") << c.name;
  }
}

TEST(PaperClaims, ThatAreCountedHold) {
  for (const char* name :
       {"cost", "idle_1f1b", "idle_zb1p", "idle_dualpipe", "memory",
        "micro_batches", "experts", "cache", "accumulator", "wgmmas",
        "attention_cache", "dispatch", "near_memory", "parameters", "speed"}) {
    const auto found = find(name).find(nothing());
    EXPECT_EQ(found.said, standing::holds) << name << ": " << found.ours;
    EXPECT_NE(found.why, "") << name;
  }
}

// 34 fraction bits are 35 bits as the report counts the accumulator's 14.
TEST(PaperClaims, OfTheExactSumHoldByOneWayToCount) {
  EXPECT_EQ(find("exact_sum").find(nothing()).said, standing::partly);
}

TEST(PaperClaims, AreNotMeasuredWithoutARecord) {
  EXPECT_EQ(find("loss").find(nothing()).said, standing::absent);
  EXPECT_EQ(find("interval").find(nothing()).said, standing::absent);
}

evidence with_campaign(const std::string& verdict,
                       std::optional<bool> is_sensitive) {
  auto e = nothing();
  e.campaigns.push_back({"parity.json",
                         "lite4",
                         "sha256:1",
                         1000,
                         0,
                         0.0025,
                         {{"te", "beyond", 0.01, 0.008, 0.012},
                          {"full", verdict, 0.001, 0.0005, 0.0015}},
                         is_sensitive});
  return e;
}

TEST(PaperClaims, TakeTheLossFromTheCampaign) {
  const auto said = [](const std::string& verdict,
                       std::optional<bool> is_sensitive) {
    return find("loss").find(with_campaign(verdict, is_sensitive)).said;
  };
  EXPECT_EQ(said("within", true), standing::holds);
  EXPECT_EQ(said("within", false), standing::partly);
  EXPECT_EQ(said("within", {}), standing::partly);
  EXPECT_EQ(said("undecided", true), standing::partly);
  EXPECT_EQ(said("beyond", true), standing::differs);
  EXPECT_EQ(said("beyond", {}), standing::differs);
  EXPECT_EQ(said("", true), standing::absent);
  EXPECT_EQ(find("loss").find(with_campaign("within", true)).ours,
            "+0.100 % (+0.050 to +0.150)");
}

TEST(PaperClaims, TakeThePositiveControlOfAnotherPlanOfTheSameSteps) {
  const auto said = [](auto change) {
    auto e = with_campaign("within", false);
    auto other = e.campaigns[0];
    other.arms = {{"coarse", "beyond", 0.01, 0.008, 0.012}};
    other.is_sensitive = true;
    change(other);
    e.campaigns.insert(e.campaigns.begin(), other);
    return find("loss").find(e).said;
  };
  EXPECT_EQ(said([](auto&) {}), standing::holds);
  EXPECT_EQ(said([](auto& c) { c.size = "T"; }), standing::partly);
  EXPECT_EQ(said([](auto& c) { c.data = "sha256:2"; }), standing::partly);
  EXPECT_EQ(said([](auto& c) { c.steps = 900; }), standing::partly);
  EXPECT_EQ(said([](auto& c) { c.shared = 1; }), standing::partly);
}

evidence with_rates(double at_64, double at_128) {
  auto e = nothing();
  const std::string size = "4096x4096x7168", name = "gemm.interval";
  e.bench.push_back({"perf.json",
                     "a GPU",
                     {{name, size, "never promoted", 1000},
                      {name, size, "promoted every 64", at_64},
                      {name, size, "promoted every 128", at_128},
                      {name, size, "promoted every 256", 990},
                      {"gemm.fprop", size, "ours", 900},
                      {"gemm.fprop", size, "cuBLASLt BF16", 600},
                      {"gemm.fprop", "1x1x1", "ours", 3}}});
  return e;
}

TEST(PaperClaims, TakeRatesFromTheRecord) {
  const auto interval = [](double at_64, double at_128) {
    return find("interval").find(with_rates(at_64, at_128)).said;
  };
  EXPECT_EQ(interval(500, 900), standing::holds);
  EXPECT_EQ(interval(890, 900), standing::differs);  // 64 would do
  EXPECT_EQ(interval(300, 600), standing::differs);  // 128 costs much
  EXPECT_NE(find("speed")
                .find(with_rates(500, 900))
                .ours.find("a GPU: 1.50 to 1.50, median 1.50, 1 sizes"),
            std::string::npos);
}

TEST(PaperClaims, FindTwoPercentByOneMetricAlone) {
  auto e = nothing();
  e.settings = "m=256 n=256";
  EXPECT_EQ(find("two_percent").find(e).said, standing::partly);
  e.settings = "m=256 n=256 acc=f25";
  EXPECT_EQ(find("two_percent").find(e).said, standing::differs);
}

TEST(PaperClaims, ReadTheCommittedRecords) {
  const auto e =
      program::read_evidence(ZEROULP_SOURCE_DIR "/conformance/records");
  ASSERT_EQ(e.bench.size(), 2U);
  for (const auto& record : e.bench) {
    EXPECT_GT(record.at("gemm.fprop", "4096x4096x7168", "cuBLASLt BF16"), 0)
        << record.file;
    EXPECT_GT(record.at("gemm.interval", "4096x4096x7168", "never promoted"),
              0);
  }
}

}  // namespace
}  // namespace zeroulp::study::paper
