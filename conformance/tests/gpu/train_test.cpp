// A training step on the GPU has the bits of the CPU's: every tensor of two
// steps and the state after them, in every arm but those that it refuses.
// Skipped where there is no GPU for it.

#include <gtest/gtest.h>

#include "conformance/device/device.hpp"
#include "src/base/sha256.hpp"
#include "tools/train/run.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

class TrainOnGpu : public testing::TestWithParam<arm> {
 protected:
  void SetUp() override {
    const std::string why = conformance::device::why_absent();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

INSTANTIATE_TEST_SUITE_P(Arms, TrainOnGpu, testing::ValuesIn(named_arms),
                         [](const auto& of) {
                           return std::string(of.param.name);
                         });

struct traced_step {
  std::vector<std::string> tensors;
  std::string state;
};

traced_step traced(any_run& run) {
  traced_step s;
  run.advance([&s](const std::string& name, const void* bytes,
                   std::size_t count) {
    s.tensors.push_back(name + " " +
                        sha256_hex({static_cast<const char*>(bytes), count}));
  });
  s.state = run.digest();
  return s;
}

TEST_P(TrainOnGpu, HasEveryTensorOfTheCpu) {
  if (std::string_view(GetParam().name) == "mx") {
    const run_settings s{named_shapes[0], GetParam()};
    EXPECT_THROW(run_on_gpus(1, s, training_data(s.shape)), input_error);
    return;  // no kernel has groups of 1x32
  }
  for (const std::int64_t shards : {1, 2}) {
    run_settings s{named_shapes[0], GetParam()};
    s.shards = shards;
    s.rate = usual_rate(s.shape, 2);
    if (is_columnwise(s.how)) {
      EXPECT_THROW(run_on_gpus(1, s, training_data(s.shape)), input_error);
      continue;
    }
    training_run cpu(s, training_data(s.shape));
    const auto gpu = run_on_gpus(1, s, training_data(s.shape));
    for (int t = 0; t < 2; ++t) {
      const traced_step right = traced(cpu), got = traced(*gpu);
      EXPECT_EQ(got.tensors, right.tensors);
      EXPECT_EQ(got.state, right.state);
    }
    EXPECT_EQ(gpu->held_out_loss(1), cpu.held_out_loss(1));
  }
}

/// Two GPUs, two shards each.
TEST_P(TrainOnGpu, HasTheBitsOfOneGpuOnTwo) {
  if (std::string_view(GetParam().name) == "mx") GTEST_SKIP() << "refused";
  run_settings s{named_shapes[0], GetParam()};
  s.shards = 4;
  s.rate = usual_rate(s.shape, 3);
  if (is_columnwise(s.how)) GTEST_SKIP() << "refused";
  const auto one = run_on_gpus(1, s, training_data(s.shape));
  std::unique_ptr<any_run> two;
  try {
    two = run_on_gpus(2, s, training_data(s.shape));
  } catch (const input_error& e) {
    GTEST_SKIP() << e.what();
  }
  const traced_step right = traced(*one), got = traced(*two);
  EXPECT_EQ(got.tensors, right.tensors);
  EXPECT_EQ(got.state, right.state);
  for (int t = 0; t < 2; ++t) {
    const step_report r = one->advance(), g = two->advance();
    EXPECT_EQ(g.loss, r.loss);
    EXPECT_EQ(g.norm, r.norm);
    EXPECT_EQ(two->digest(), one->digest());
  }
  EXPECT_EQ(two->held_out_loss(1), one->held_out_loss(1));
}

}  // namespace
}  // namespace zeroulp::train
