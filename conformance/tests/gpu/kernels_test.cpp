// RapidCheck drives the kernels: on any case of the case engine that they
// serve they have the bits of the core. Skipped where there is no GPU for them.
//
//   RC_PARAMS="seed=1 max_success=1000" zeroulp_gpu_tests

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "conformance/device/device.hpp"
#include "conformance/tests/fuzz/any_case.hpp"
#include "fuzz/engine/enlarge.hpp"
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

INSTANTIATE_TEST_SUITE_P(Cases, Kernels, testing::ValuesIn(matrix_targets),
                         [](const auto& of) { return info_of(of.param).name; });

TEST_P(Kernels, HaveTheBitsOfTheCore) {
  const target t = GetParam();
  const auto gpu = conformance::device::gpu_implementation();
  const auto core = conformance::core_implementation();
  const auto cases = any_case(
      t, [t](settings& s) { conformance::device::keep_to_kernels(t, s); });
  const auto differ_on = [&](const problem& p) {
    try {
      return conformance::device::find_difference(p, gpu, core);
    } catch (const input_error& none) {
      RC_DISCARD(none.what());
    } catch (const std::runtime_error& lost) {
      // From here on every case would fail.
      std::cerr << lost.what() << ": " << to_token(p) << std::endl;
      std::_Exit(1);
    }
  };
  const auto hold = [&](const problem& p) {
    for (int run = 0; run < 2; ++run) {
      const auto found = differ_on(p);
      if (!found) continue;
      RC_FAIL(conformance::device::describe_difference(p, *found, gpu, core));
    }
  };
  EXPECT_TRUE(rc::check([&] {
    // GEMM's sizes have checks of their own.
    const auto size_of = rc::gen::noShrink(rc::gen::inRange(0, 50));
    const bool is_large = *size_of == 0 && t != target::gemm;
    if (!is_large) return hold(*cases);
    counter_rng rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
    hold(grown(*rc::gen::noShrink(cases), rng));
  }));
}

}  // namespace
}  // namespace zeroulp::fuzz
