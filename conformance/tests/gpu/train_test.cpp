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
    EXPECT_THROW(run_on_gpu(s, training_data(s.shape)), input_error);
    return;  // no kernel has groups of 1x32
  }
  for (const std::int64_t shards : {1, 2}) {
    run_settings s{named_shapes[0], GetParam()};
    s.shards = shards;
    s.rate = usual_rate(s.shape, 2);
    if (is_columnwise(s.how)) {
      EXPECT_THROW(run_on_gpu(s, training_data(s.shape)), input_error);
      continue;
    }
    training_run cpu(s, training_data(s.shape));
    const auto gpu = run_on_gpu(s, training_data(s.shape));
    for (int t = 0; t < 2; ++t) {
      const traced_step right = traced(cpu), got = traced(*gpu);
      EXPECT_EQ(got.tensors, right.tensors);
      EXPECT_EQ(got.state, right.state);
    }
    EXPECT_EQ(gpu->held_out_loss(1), cpu.held_out_loss(1));
  }
}

}  // namespace
}  // namespace zeroulp::train
