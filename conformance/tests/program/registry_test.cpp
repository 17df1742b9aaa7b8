// Runs the registry of checks on the core; ZEROULP_LEVEL sets the effort.

#include "conformance/contract/registry.hpp"

#include <gtest/gtest.h>

#include "conformance/tests/level.hpp"

namespace zeroulp::conformance {
namespace {

effort chosen_effort() { return {test::level(), 1, false}; }

std::vector<check> chosen_checks() {
  std::vector<check> chosen;
  for (const auto& c : all_checks()) {
    if (c.level <= chosen_effort().level) chosen.push_back(c);
  }
  return chosen;
}

class Conformance : public testing::TestWithParam<check> {};

TEST_P(Conformance, Core) {
  const auto v = run_check(GetParam(), core_implementation(), chosen_effort());
  if (!v.skipped.empty()) GTEST_SKIP() << v.skipped;
  EXPECT_GT(v.cases, 0u) << "a check without cases cannot fail";
  EXPECT_EQ(v.failures, 0u) << GetParam().clauses << ": " << v.first_failure;
}

INSTANTIATE_TEST_SUITE_P(Checks, Conformance,
                         testing::ValuesIn(chosen_checks()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace zeroulp::conformance
