// Where two matrices differ: the shapes that faults of kernels have.

#include <gtest/gtest.h>

#include <functional>

#include "tools/zeroulp/compare/where.hpp"

namespace zeroulp::program {
namespace {

/// Of an m x n matrix, whose elements differ where `differs(row, column)` says.
std::string where(
    std::size_t m, std::size_t n,
    const std::function<bool(std::size_t, std::size_t)>& differs) {
  const std::vector<std::uint64_t> x(m * n, 1);
  auto y = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (differs(i / n, i % n)) y[i] = 2;
  }
  return to_text(places_of(x, y, {m, n}));
}

TEST(CompareWhere, NamesAWholeRow) {
  EXPECT_EQ(where(130, 256, [](auto i, auto) { return i == 5; }),
            "1 of 130 rows (5), 256 of 256 columns, whole rows");
}

TEST(CompareWhere, NamesEachEighthColumn) {
  EXPECT_EQ(
      where(16, 64, [](auto, auto j) { return j % 8 == 3; }),
      "16 of 16 rows, 8 of 64 columns (every 8th from 3 to 59), whole columns");
}

TEST(CompareWhere, NamesABlock) {
  EXPECT_EQ(where(256, 256,
                  [](auto i, auto j) { return i / 128 == 1 && j / 128 == 0; }),
            "128 of 256 rows (128 to 255), 128 of 256 columns (0 to 127), a "
            "whole block");
}

TEST(CompareWhere, NamesTheTailOfTiles) {
  EXPECT_EQ(where(2, 200,
                  [](auto i, auto j) {
                    return i == 0 && j >= 130 && (j * j) % 7 == 1;
                  }),
            "1 of 2 rows (0), 20 of 200 columns (in the tail 128 to 199)");
}

TEST(CompareWhere, NamesSingleElements) {
  EXPECT_EQ(where(9, 9, [](auto i, auto j) { return i == j && i % 4 == 0; }),
            "3 of 9 rows (0, 4, 8), 3 of 9 columns (0, 4, 8)");
}

TEST(CompareWhere, HasNoRowsOfAVector) {
  const std::vector<std::uint64_t> x{1, 2, 3};
  const std::vector<std::uint64_t> y{1, 2, 4};
  EXPECT_EQ(to_text(places_of(x, y, {3})), "1 of 3 columns (2)");
  EXPECT_EQ(to_json(places_of(x, y, {3}))["columns"]["first"], 2);
}

TEST(CompareWhere, ALeadingDimensionIsOneOfRows) {
  const std::vector<std::uint64_t> x(24, 0);
  auto y = x;
  y[23] = 1;
  EXPECT_EQ(to_text(places_of(x, y, {2, 3, 4})),
            "1 of 6 rows (5), 1 of 4 columns (3)");
}

}  // namespace
}  // namespace zeroulp::program
