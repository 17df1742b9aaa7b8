// What a GPU ran, as a table and as JSON: from activities that were written
// down, on any machine.

#include "tools/train/gpu/trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace zeroulp::train {
namespace {

/// Two steps of 10 ms: a kernel of 4 ms and one of 2 ms in each, the second
/// begun 1 ms before the first ends.
gpu_trace example() {
  constexpr std::uint64_t ms = 1'000'000;
  gpu_trace t;
  t.marks = {100 * ms, 110 * ms, 120 * ms};
  for (const std::uint64_t at : {101 * ms, 111 * ms}) {
    t.activities.push_back(
        {"void zeroulp::(anonymous namespace)::add<int>(int, \"x\")", at,
         at + 4 * ms});
    t.activities.push_back({"clear", at + 3 * ms, at + 5 * ms});
  }
  return t;
}

TEST(Trace, TableHasMillisecondsCallsAndSharesOfAStep) {
  const std::string table = trace_table(example());
  EXPECT_NE(table.find("4.000      1.0   80.0%  void zeroulp::(anonymous "
                       "namespace)::add<int>\n"),
            table.npos)
      << table;
  EXPECT_NE(table.find("2.000      1.0   40.0%  clear\n"), table.npos) << table;
  // 5 ms of each step's 10 are busy.
  EXPECT_NE(table.find("a step takes 10.000 ms: 2.000 times what the GPU ran"),
            table.npos)
      << table;
}

TEST(Trace, WithoutActivitiesThereIsOneLine) {
  EXPECT_EQ(trace_table({}), "the GPU ran nothing\n");
  EXPECT_EQ(trace_table({{1, 2}, {}}), "the GPU ran nothing\n");
}

TEST(Trace, JsonHasStepsAndKernelsInMicroseconds) {
  const auto all = nlohmann::json::parse(trace_json(example()))["traceEvents"];
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[1]["name"], "step 2");
  EXPECT_EQ(all[1]["ts"], 10000);
  EXPECT_EQ(all[1]["dur"], 10000);
  EXPECT_EQ(all[2]["name"],
            "void zeroulp::(anonymous namespace)::add<int>(int, \"x\")");
  EXPECT_EQ(all[2]["ts"], 1000);
  EXPECT_EQ(all[2]["dur"], 4000);
}

}  // namespace
}  // namespace zeroulp::train
