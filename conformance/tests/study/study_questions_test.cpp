// The questions of the study: their cells, and verdicts that can fail.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "tools/study/error/questions.hpp"
#include "tools/zeroulp/bench/interval.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study {
namespace {

TEST(StudyQuestions, HaveNamesMetricsAndCellsInEveryPreset) {
  std::set<std::string> names;
  for (const auto& q : questions()) {
    EXPECT_TRUE(names.insert(q.name).second) << q.name;
    EXPECT_GE(q.drawn, 1U) << q.name;
    EXPECT_LE(q.drawn, q.metrics.size()) << q.name;
    EXPECT_FALSE(q.caption.empty()) << q.name;
    for (const auto& m : q.metrics) EXPECT_EQ(find_metric(m).name, m);
    for (const auto& p : presets) {
      std::set<std::string> seen;
      const auto cells = cells_of(q, p);
      EXPECT_GE(cells.size(), 8U) << q.name;
      for (const auto& c : cells) {
        EXPECT_TRUE(seen.insert(c.row + "|" + c.series).second) << q.name;
        EXPECT_LE(c.value.k, p.most_k);
      }
    }
  }
  EXPECT_THROW(find_question("no_such"), input_error);
  EXPECT_THROW(find_preset("slow"), input_error);
  EXPECT_THROW(find_metric("frobenius"), input_error);
}

// Every axis of the study has its values.
TEST(StudyQuestions, CoverTheAxes) {
  std::set<std::string> seen;
  for (const auto& q : questions()) {
    for (const auto& c : cells_of(q, find_preset("full"))) {
      for (const auto& f : fields()) {
        seen.insert(std::string(f.name) + "=" + f.get(c.value));
      }
    }
  }
  for (const char* value : {"k=128",
                            "k=65536",
                            "interval=32",
                            "interval=4096",
                            "interval=none",
                            "acc=hopper",
                            "acc=f8",
                            "acc=f25",
                            "acc=f34",
                            "acc=fp32",
                            "acc=exact",
                            "a.group=tensor",
                            "a.group=row",
                            "a.group=1x128",
                            "a.group=128x128",
                            "a.group=1x32",
                            "a.timing=delayed16",
                            "a.timing=delayed1024",
                            "a.timing=average",
                            "a.scale=raw",
                            "a.scale=fp32",
                            "a.scale=pow2",
                            "a.scale=pow2_down",
                            "a.scale=pow2_nearest",
                            "a.scale=ocp",
                            "a.format=e5m2",
                            "a.format=e5m6",
                            "a.format=bf16",
                            "a.format=int8",
                            "amax_floor=0",
                            "amax_floor=1e-12",
                            "amax_floor=1e-4",
                            "a.input=N(2,1)",
                            "a.input=U(0,1)",
                            "a.input=lognormal(1)",
                            "a.input=N(0,1)+channels(100)",
                            "a.input=N(0,1)+tokens(1000)",
                            "a.input=N(0,1)+single(100000)",
                            "a.input=swiglu(1)",
                            "a.input=N(0,1e-09)",
                            "smooth=yes",
                            "shape=kv_b.fprop",
                            "shape=dense_up.dgrad",
                            "shape=attention_out.wgrad"}) {
    EXPECT_EQ(seen.count(value), 1U) << value;
  }
}

/// An answer whose cells give `value(i)` for every metric.
template <class Value>
answer fill(const question& q, Value value) {
  answer a{cells_of(q, find_preset("quick")), {}};
  double i = 0;
  for (auto& c : a.cells) {
    if (c.impossible) continue;
    const double x = value(++i);
    result r;
    for (auto* part : {&r.total, &r.accumulation, &r.quantization}) {
      part->frobenius = part->max_over_mean = part->bias = x;
      part->quantiles.fill(x);
    }
    r.saturated = r.zeroed = r.changed = x;
    c.given = r;
  }
  return a;
}

TEST(StudyQuestions, EveryVerdictCanFail) {
  for (const auto& q : questions()) {
    EXPECT_FALSE(judge(q, {}).held) << q.name;
    EXPECT_FALSE(judge(q, {cells_of(q, find_preset("quick")), {}}).held);
    const bool constant = judge(q, fill(q, [](double) { return 0.5; })).held;
    const bool growing = judge(q, fill(q, [](double i) { return i; })).held;
    const bool shrinking =
        judge(q, fill(q, [](double i) { return 1 / i; })).held;
    if (q.name == "combinations") continue;  // below
    EXPECT_FALSE(constant && growing && shrinking) << q.name;
  }
}

TEST(StudyQuestions, TheGpuTakesWholeShapes) {
  std::set<std::string> seen;
  for (const auto& c :
       cells_of(find_question("shapes"), find_preset("gpu"), "sample=512")) {
    seen.insert(
        fmt::format("{} {}x{}x{}", c.row, c.value.m, c.value.n, c.value.k));
    EXPECT_EQ(c.value.sample, 512);
  }
  EXPECT_EQ(seen.size(), 24U);
  for (const char* shape :
       {"dense_up.fprop 4096x36864x7168", "dense_up.dgrad 4096x7168x36864",
        "dense_up.wgrad 36864x7168x4096", "kv_b.fprop 4096x32768x512"}) {
    EXPECT_EQ(seen.count(shape), 1U) << shape;
  }
}

TEST(StudyQuestions, KeepsTheSizesThatAreNamedOnAGpu) {
  question q = find_question("shapes");
  q.rows.arms = {{"both", "shape=qkv_a.fprop m=64 n=256"},
                 {"one", "shape=qkv_a.fprop n=256"},
                 {"none", "shape=qkv_a.fprop"}};
  q.series.arms.clear();
  const auto cells = cells_of(q, find_preset("gpu"));
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0].value.m, 64);
  EXPECT_EQ(cells[0].value.n, 256);
  EXPECT_EQ(cells[1].value.m, 4096);
  EXPECT_EQ(cells[1].value.n, 256);
  EXPECT_EQ(cells[2].value.n, 2112);
}

TEST(StudyQuestions, OneBitThatDiffersFails) {
  const auto& q = find_question("shapes");
  answer a = fill(q, [](double) { return 1; });
  EXPECT_FALSE(same_bits({&a}).has_value());
  a.cells[0].given->both = {16384, 0, ""};
  a.cells[2].given->both = {100, 0, ""};
  auto v = same_bits({&a, &a});
  ASSERT_TRUE(v.has_value());
  EXPECT_TRUE(v->held);
  EXPECT_EQ(v->text.substr(0, 8), "4 cells ");
  EXPECT_NE(v->text.find("all of 2 cells and the first of 2"),
            std::string::npos)
      << v->text;
  a.cells[2].given->both = {100, 1, "output (3, 4)"};
  v = same_bits({&a});
  EXPECT_FALSE(v->held);
  EXPECT_NE(v->text.find("qkv_a.dgrad"), std::string::npos) << v->text;
  EXPECT_NE(v->text.find("output (3, 4)"), std::string::npos) << v->text;
}

// By a GPU that is not there: right, and wrong in one bit of one cell.
TEST(StudyQuestions, AGpuIsHeldAgainstTheCpu) {
  for (const int wrong : {-1, 5}) {
    int calls = 0;
    runner run([&](const recipe& r, const gemm_operand<std::uint32_t>& a,
                   const gemm_operand<std::uint32_t>& b,
                   matrix_view<std::uint32_t> d) {
      multiply_on_cpu(r, a, b, d);
      if (calls++ == wrong) d(3, 4) ^= 1;
      return std::string("fake");
    });
    const auto& q = find_question("combinations");
    answer a{cells_of(q, find_preset("gpu"), "m=8 n=8 k=512"), {}};
    for (auto& c : a.cells) {
      if (!c.impossible) c.given = run.run(c.value);
    }
    const auto v = same_bits({&a});
    ASSERT_TRUE(v.has_value());
    EXPECT_EQ(v->held, wrong < 0) << v->text;
    EXPECT_EQ(v->text.find("output (3, 4) of 8 x 8") != std::string::npos,
              wrong >= 0)
        << v->text;
    EXPECT_EQ(calls, 18);
  }
}

TEST(StudyQuestions, ScalesAlongKWithoutPromotionAreMarked) {
  const auto& q = find_question("combinations");
  auto a = fill(q, [](double i) { return i; });
  EXPECT_TRUE(judge(q, a).held);
  std::size_t marked = 0;
  for (const auto& c : a.cells) {
    const bool along_k = c.value.a.group.k > 0 || c.value.b.group.k > 0;
    const bool longer =
        c.value.interval == 0 || c.value.interval > c.value.a.group.k;
    EXPECT_EQ(c.impossible.has_value(), along_k && longer) << c.series;
    marked += c.impossible ? 1 : 0;
  }
  EXPECT_EQ(marked, 12U);
  EXPECT_NE(to_csv(to_table(q, a, "total.frobenius")).find("impossible"),
            std::string::npos);
  for (auto& c : a.cells) {  // as if a kernel had made them up
    c.impossible.reset();
    c.given = result{};
  }
  EXPECT_FALSE(judge(q, a).held);
}

// A cheap one, run: the H200 had these figures at 1024 x 1024.
TEST(StudyQuestions, SameSignSumsAreBiased) {
  const auto& q = find_question("same_sign_bias");
  answer a{cells_of(q, find_preset("quick"), "m=64 n=64"), {}};
  runner run;
  for (auto& c : a.cells) c.given = run.run(c.value);
  const auto v = judge(q, a);
  EXPECT_TRUE(v.held) << v.text;
  EXPECT_NEAR(a.at("U(0,1)", "unpromoted", "accumulation.bias"), -0.06598,
              0.002);
  EXPECT_NEAR(a.at("N(0.5,1)", "unpromoted", "accumulation.bias"), -0.00671,
              0.0007);
  const auto p = to_plot(q, a);
  EXPECT_EQ(p.kind, plot_kind::bars);
  EXPECT_EQ(p.curves.size(), 2U);
  EXPECT_EQ(p.categories.size(), 7U);
  for (const auto& [x, y] : p.curves[0].points) EXPECT_GT(y, 0);
}

// The file of `zeroulp bench gpu gemm.interval` in the program's tests has
// these names.
TEST(StudyThroughput, ReadsTheNamesThatTheBenchWrites) {
  using namespace program;
  EXPECT_STREQ(interval_bench, "gemm.interval");
  EXPECT_EQ(name_of_promotion(0), "never promoted");
  EXPECT_EQ(name_of_promotion(128), "promoted every 128");
  EXPECT_EQ(promotion_of(name_of_promotion(0)), "none");
  EXPECT_EQ(promotion_of(name_of_promotion(1024)), "1024");
  EXPECT_EQ(promotion_of("wgmma m64n256k32 alone"), "");
}

TEST(StudyQuestions, AxesSplitOutsideOfParentheses) {
  const auto x = over("input", "N(0,1),U(-1,1)+tokens(10)");
  ASSERT_EQ(x.arms.size(), 2U);
  EXPECT_EQ(x.arms[1].label, "U(-1,1)+tokens(10)");
  EXPECT_EQ(x.arms[1].settings, "input=U(-1,1)+tokens(10)");
}

}  // namespace
}  // namespace zeroulp::study
