// Progress: how often it is told, and where.

#include "tools/zeroulp/progress.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace zeroulp::program {
namespace {

/// What is written by a run of 60 steps, one a second.
std::vector<std::string> written(bool is_terminal, double total) {
  std::vector<std::string> lines;
  double now = 100;
  const auto tell = progress_to(
      is_terminal, [&](std::string_view text) { lines.emplace_back(text); },
      [&] { return now; });
  tell(0, total, "");
  for (int step = 1; step <= 60; ++step) {
    now += 1;
    tell(step, total, step < 15 ? "" : "7 a second");
  }
  return lines;
}

TEST(Progress, IsALineEveryTenSecondsOffATerminal) {
  const auto lines = written(false, 60);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "zeroulp:  17 %, 50 s left\n");
  EXPECT_EQ(lines[1], "zeroulp:  33 %, 40 s left, 7 a second\n");
  EXPECT_EQ(lines[4], "zeroulp:  83 %, 10 s left, 7 a second\n");
}

TEST(Progress, SaysHowMuchIsDoneWhereNobodyKnowsTheEnd) {
  const auto lines = written(false, 0);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "zeroulp: 10 done, 10 s\n");
}

TEST(Progress, IsOneLineThatVanishesOnATerminal) {
  const auto lines = written(true, 60);
  ASSERT_EQ(lines.size(), 61U);
  EXPECT_EQ(lines[0], "\r  2 %, 59 s left\033[K");
  EXPECT_EQ(lines[60], "\r\033[K");
}

TEST(Progress, OfAShortRunIsNothingOffATerminal) {
  std::string all;
  double now = 0;
  const auto tell = progress_to(
      false, [&](std::string_view text) { all += text; }, [&] { return now; });
  for (now = 0.1; now < 9; now += 0.1) tell(now, 9, "");
  tell(9, 9, "");
  EXPECT_EQ(all, "");
}

}  // namespace
}  // namespace zeroulp::program
