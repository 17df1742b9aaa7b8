// The operators of a model refuse what does not fit, and name it.

#include "conformance/tests/engine/model_refusals.hpp"

#include <gtest/gtest.h>

namespace zeroulp::conformance {
namespace {

TEST(ModelRefusals, NameWhatDoesNotFit) {
  for (const auto& f : {engine_model(), core_model()}) {
    EXPECT_EQ(wrong_model_refusal(f), "") << f.name;
  }
}

}  // namespace
}  // namespace zeroulp::conformance
