// What `zeroulp doctor` says of facts about a machine.

#include <gtest/gtest.h>

#include <chrono>

#include "tools/zeroulp/doctor/findings.hpp"

namespace zeroulp::program {
namespace {

TEST(Doctor, PythonIsJudgedByItsPackage) {
  const auto judged = [](int status, const std::string& text) {
    return judge_python("python3", {status, text}, "1.2.3");
  };
  auto f = judged(0, "3.11.2\n1.2.3\n/usr/zeroulp\n");
  EXPECT_EQ(f.is, standing::ok);
  EXPECT_EQ(f.text, "python3 3.11.2, zeroulp 1.2.3 in /usr/zeroulp");
  f = judged(0, "3.11.2\n1.2.2\n/usr/zeroulp\n");
  EXPECT_EQ(f.is, standing::problem);
  EXPECT_NE(f.advice.find("1.2.3"), std::string::npos);
  f = judged(0, "3.11.2\n");
  EXPECT_EQ(f.is, standing::note);
  EXPECT_EQ(f.text, "python3 3.11.2, without the package zeroulp");
  f = judged(1, "3.11.2\nTraceback\nImportError: no numpy\n");
  EXPECT_EQ(f.is, standing::problem);
  EXPECT_NE(f.text.find("ImportError: no numpy"), std::string::npos);
  for (const int status : {-1, 127}) {
    f = judged(status, "");
    EXPECT_EQ(f.is, standing::note);
    EXPECT_EQ(f.text, "python3 was not found");
  }
}

TEST(Doctor, CudaIsJudgedByItsDriverAndItsGpus) {
  auto all = judge_cuda({});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].is, standing::note);
  all = judge_cuda(cuda_facts{0, 13010, {}});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].text, "no driver; this program is of 13.1");
  all = judge_cuda(cuda_facts{12040, 13010, {{"H200", 9, 0, 141}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].is, standing::problem);
  EXPECT_EQ(all[0].text, "driver for 12.4, this program is of 13.1");
  EXPECT_EQ(all[1].is, standing::ok);
  all = judge_cuda(cuda_facts{13010, 13010, {{"A100", 8, 0, 80}}});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].is, standing::ok);
  EXPECT_EQ(all[1].is, standing::note);
  EXPECT_EQ(judge_cuda(cuda_facts{13010, 13010, {}}).back().text, "none");
}

TEST(Doctor, TheBuildAndTheMachineAreJudged) {
  EXPECT_EQ(judge_build("1.2.3", "abc").is, standing::ok);
  EXPECT_EQ(judge_build("1.2.3", "abc-dirty").is, standing::note);
  EXPECT_EQ(judge_simd("avx512", {"portable", "avx2", "avx512"}).text,
            "avx512 of portable, avx2, avx512");
  EXPECT_EQ(judge_simd("portable", {"portable"}).is, standing::note);
  EXPECT_EQ(judge_threads(8, 8).is, standing::ok);
  EXPECT_EQ(judge_threads(1, 8).is, standing::note);
  EXPECT_EQ(judge_threads(9, 8).is, standing::note);
  EXPECT_EQ(judge_memory(64, 32).is, standing::ok);
  EXPECT_EQ(judge_memory(64, 1).is, standing::note);
}

TEST(Doctor, OnlyAProblemIsAStatus) {
  finding f{"x", standing::note, "found", "do"};
  EXPECT_EQ(status_of({f}), 0);
  EXPECT_EQ(to_json({f})[0]["standing"], "note");
  f.is = standing::problem;
  EXPECT_EQ(status_of({f}), 1);
  EXPECT_EQ(to_table({f}).rows[0],
            (std::vector<std::string>{"problem", "x", "found", "do"}));
}

TEST(Doctor, AChildIsNotWaitedForForever) {
  const auto said =
      run_child({"sh", "-c", "echo out; echo err >&2; exit 3"}, 30);
  EXPECT_EQ(said.status, 3);
  EXPECT_EQ(said.text, "out\nerr\n");
  EXPECT_EQ(run_child({"/nonexistent/program"}, 30).status, -1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run_child({"sleep", "600"}, 0.2).status, -1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace zeroulp::program
