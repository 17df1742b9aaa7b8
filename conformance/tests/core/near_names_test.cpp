// An error about an unknown name has those that are near, and all.

#include "src/base/near_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zeroulp {
namespace {

const std::vector<std::string_view> some{
    "e4m3", "e5m2", "e5m6", "deepgemm_host", "deepgemm_device", "vllm"};

TEST(NearNames, AreThoseThatAFewCharactersMake) {
  const std::pair<const char*, const char*> near[] = {
      {"vlm", "did you mean 'vllm'? "},    // one is left out,
      {"vlllm", "did you mean 'vllm'? "},  // one too many,
      {"vllt", "did you mean 'vllm'? "},   // another,
      {"e5m7", "did you mean 'e5m2' or 'e5m6'? "},
      {"lvlm", "did you mean 'vllm'? "},  // exchanged,
      {"VLLM", "did you mean 'vllm'? "},
      {"deepgemm-hots", "did you mean 'deepgemm_host'? "},
      {"DeepGEMM-Devices", "did you mean 'deepgemm_device'? "}};
  for (const auto& [text, said] : near) {
    EXPECT_EQ(did_you_mean(text, some), said) << text;
  }
}

TEST(NearNames, AreNoneOfWhatIsAnother) {
  for (const auto* text :
       {"", "v", "e", "fp8", "vm", "vl", "sglang", "hostdeep"}) {
    EXPECT_EQ(did_you_mean(text, some), "") << text;
  }
  EXPECT_EQ(did_you_mean(std::string(1 << 20, 'v'), some), "");
  EXPECT_EQ(did_you_mean("vllm", {}), "");
}

TEST(NearNames, ComeBeforeAllThatThereAre) {
  EXPECT_EQ(use_one_of("vlm", std::vector<std::string_view>{"e4m3", "vllm"}),
            "did you mean 'vllm'? use one of e4m3, vllm");
  struct row {
    const char* name;
  };
  const row table[] = {{"core"}, {"engine"}};
  EXPECT_EQ(use_one_of("x", table), "use one of core, engine");
}

}  // namespace
}  // namespace zeroulp
