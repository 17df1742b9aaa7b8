// RapidCheck drives the kernels: on any case of the case engine that they
// serve they have the bits of the core. Skipped where there is no GPU for them.
//
//   RC_PARAMS="seed=1 max_success=1000" zeroulp_gpu_tests

#include <gtest/gtest.h>

#include "conformance/device/device.hpp"
#include "conformance/tests/any_case.hpp"
#include "fuzz/finding.hpp"
#include "fuzz/grow.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

class Kernels : public testing::TestWithParam<target> {
 protected:
  void SetUp() override {
    const std::string why = conformance::device::why_absent();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, Kernels,
                         testing::Values(target::quantize, target::retile,
                                         target::pack, target::gemm,
                                         target::swiglu, target::rms_norm,
                                         target::adamw, target::dispatch,
                                         target::combine),
                         [](const auto& of) { return info_of(of.param).name; });

TEST_P(Kernels, HaveTheBitsOfTheCore) {
  const target t = GetParam();
  const auto gpu = conformance::device::gpu_implementation();
  const auto core = conformance::core_implementation();
  EXPECT_TRUE(rc::check([&] {
    auto p = *any_case(
        t, [t](settings& s) { conformance::device::keep_to_kernels(t, s); });
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
    if (seed % 50 == 1 && t != target::gemm) {
      counter_rng rng(seed, 0);
      p = grown(p, rng);
    }
    const auto right = info_of(t).run(core, p);
    // What kernels write beside an output is thrown.
    for (int run = 0; run < 2; ++run) {
      const auto found = first_difference(info_of(t).run(gpu, p), right);
      if (found) {
        RC_FAIL(found->output + " (" + std::to_string(found->row) + ", " +
                std::to_string(found->col) + "), run " + std::to_string(run));
      }
    }
  }));
}

}  // namespace
}  // namespace zeroulp::fuzz
