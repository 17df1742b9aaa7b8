// The confusion matrix of explanations, on data as users have them: 256 x 1024
// numbers of N(0, 1) in BF16. Every fault and definition that shows on them is
// a kernel with a known cause. It is named where the first answer has it:
// alone, or in a group of causes with the same bits, which nobody could tell
// apart.
//
// conformance/records/causes.txt is the matrix. ZEROULP_LEVEL 1 makes some of
// its rows again, 2 makes all, and appends them to the file that ZEROULP_CAUSES
// names: data, cause, and what the first answer is.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/tests/fuzz/explain_parts.hpp"
#include "conformance/tests/level.hpp"

namespace zeroulp::fuzz {
namespace {

struct user_data {
  const char* name;
  problem (*make)();

  friend std::ostream& operator<<(std::ostream& out, const user_data& data) {
    return out << data.name;
  }
};

problem large_quantizing(const char* convention, scale_kind scale,
                         group_shape group = {1, 128}) {
  return quantizing(convention, scale, 256, 1024, 1, group);
}

problem large_product(const char* recipe) {
  return multiplying(recipe, 256, 128, 1024, 1);
}

problem large_retiling() {
  return retiling(large_quantizing("vllm", scale_kind::pow2));
}

constexpr user_data all_data[] = {
    {"quantize.vllm",
     [] { return large_quantizing("vllm", scale_kind::float32); }},
    {"quantize.vllm.pow2",
     [] { return large_quantizing("vllm", scale_kind::pow2); }},
    {"quantize.zeroulp.128x128",
     [] {
       return large_quantizing("zeroulp", scale_kind::float32, {128, 128});
     }},
    {"quantize.torchao.tensor",
     [] {
       return large_quantizing("torchao", scale_kind::float32, {0, 0});
     }},
    {"retile", large_retiling},
    {"gemm.deepgemm.1d2d", [] { return large_product("deepgemm.1d2d"); }},
    {"gemm.cublaslt.tensorwise",
     [] { return large_product("cublaslt.tensorwise"); }},
};

/// A row of the record.
struct row {
  std::string data;
  std::string cause;
  std::string answer;  ///< "named ...", "misnamed ..." or "unnamed"

  std::string text() const {
    return fmt::format("{:25} {:45} {}", data, cause, answer);
  }
  bool is_named() const { return answer.starts_with("named"); }
};

std::string answer_of(const explanation& e, const std::string& cause) {
  if (e.likely.empty()) return "unnamed";
  const likely_cause& first = e.likely[0];
  if (!first.has(cause)) return "misnamed " + first.name;
  if (first.same.empty()) return "named alone";
  return fmt::format("named among {}, first {}", 1 + first.same.size(),
                     first.name);
}

/// What explain() says of this cause; empty if it does not show.
std::optional<row> row_of(const char* data, const problem& p,
                          const outputs& claimed, const suspect& cause) {
  const outputs made = results(cause.answer(p));
  if (same(claimed, made)) return {};
  explain_options how;
  how.distinguish = false;
  return row{data, cause.name, answer_of(explain(p, made, how), cause.name)};
}

std::vector<suspect> causes_of(const problem& p) {
  std::vector<suspect> all = faults(p);
  for (auto& s : definitions(p)) all.push_back(std::move(s));
  return all;
}

std::vector<row> recorded_rows() {
  std::ifstream lines(ZEROULP_SOURCE_DIR "/conformance/records/causes.txt");
  std::vector<row> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    row r;
    words >> r.data >> r.cause >> std::ws;
    std::getline(words, r.answer);
    rows.push_back(std::move(r));
  }
  return rows;
}

std::string summary(const std::vector<row>& rows) {
  const auto named = std::count_if(rows.begin(), rows.end(),
                                   [](const row& r) { return r.is_named(); });
  const auto alone = std::count_if(rows.begin(), rows.end(), [](const row& r) {
    return r.answer == "named alone";
  });
  return fmt::format("{} show: {} named, {} of them alone", rows.size(), named,
                     alone);
}

double share_named(const std::vector<row>& rows) {
  const auto named = std::count_if(rows.begin(), rows.end(),
                                   [](const row& r) { return r.is_named(); });
  return rows.empty()
             ? 0
             : static_cast<double>(named) / static_cast<double>(rows.size());
}

/// Makes the rows of some data, and shows each as soon as it is there.
std::vector<row> made_rows(const user_data& data) {
  const problem p = data.make();
  const outputs claimed = results(claimed_outputs(p));
  std::vector<row> rows;
  for (const suspect& cause : causes_of(p)) {
    auto r = row_of(data.name, p, claimed, cause);
    if (!r) continue;
    fmt::print("{}\n", r->text());
    std::fflush(stdout);
    rows.push_back(std::move(*r));
  }
  return rows;
}

// Four of five faults that show are named first.
TEST(ExplainMatrixOfTheRecord, NamesFourOfFive) {
  const auto rows = recorded_rows();
  EXPECT_GE(rows.size(), 60u);
  EXPECT_GE(share_named(rows), 0.8) << summary(rows);
}

class ExplainMatrix : public testing::TestWithParam<user_data> {};

std::vector<row> recorded_rows_of(const user_data& data) {
  auto rows = recorded_rows();
  std::erase_if(rows, [&](const row& r) { return r.data != data.name; });
  return rows;
}

std::string text_of(const std::vector<row>& rows) {
  std::string text;
  for (const row& r : rows) text += r.text() + "\n";
  return text;
}

/// Some rows of the record, made again: for so many seconds, at least one.
void hold_some(const user_data& data, double seconds) {
  auto rows = recorded_rows_of(data);
  ASSERT_FALSE(rows.empty());
  const problem p = data.make();
  const outputs claimed = results(claimed_outputs(p));
  const auto causes = causes_of(p);
  counter_rng rng(1, 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  };
  do {
    const auto at = static_cast<std::ptrdiff_t>(
        rng.below(static_cast<std::uint32_t>(rows.size())));
    const row drawn = rows[static_cast<std::size_t>(at)];
    rows.erase(rows.begin() + at);
    const auto cause =
        std::find_if(causes.begin(), causes.end(),
                     [&](const suspect& s) { return s.name == drawn.cause; });
    ASSERT_NE(cause, causes.end()) << drawn.text();
    const auto made = row_of(data.name, p, claimed, *cause);
    ASSERT_TRUE(made) << drawn.text();
    EXPECT_EQ(made->text(), drawn.text());
  } while (!rows.empty() && passed() < seconds);
}

TEST_P(ExplainMatrix, OfTheRecordHolds) {
  if (test::level() < 1) GTEST_SKIP() << "ZEROULP_LEVEL is 0";
  if (test::level() < 2) return hold_some(GetParam(), 2);
  const std::string made = text_of(made_rows(GetParam()));
  if (const char* path = std::getenv("ZEROULP_CAUSES")) {
    std::ofstream(path, std::ios::app) << made;
  }
  EXPECT_EQ(made, text_of(recorded_rows_of(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(On, ExplainMatrix, testing::ValuesIn(all_data),
                         [](const auto& on) {
                           std::string name = on.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace zeroulp::fuzz
