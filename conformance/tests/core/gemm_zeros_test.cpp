// G4: which zero a scale makes of a sum, as read off cuBLASLt 13.1 on an H200.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "fuzz/cases/token.hpp"
#include "fuzz/engine/opponent.hpp"

namespace zeroulp::fuzz {
namespace {

/// D of one product of FP8 codes under two scales, all in hexadecimal.
std::string product(const opponent& who, int interval, const std::string& a,
                    const std::string& b, const std::string& a_scale,
                    const std::string& b_scale) {
  const problem p = parse_token(
      "2/gemm/path=hopper.wgmma.e4m3.e4m3.f32,interval=" +
      std::to_string(interval) +
      ",update=add,a_group=0x0,b_group=0x0,splits=1,end=store,output=fp32,"
      "place=dense/a=1x1." +
      a + "/b=1x1." + b + "/a_scales=1x1." + a_scale + "/b_scales=1x1." +
      b_scale + "/c=1x1.0/end");
  return fmt::format("{:08x}", run(who, p)[0].words[0]);
}

TEST(GemmZeros, AreThoseOfAnAdditionOfZero) {
  for (const opponent& who : {core_opponent(), oracle_opponent(),
                              parse_opponent("engine", target::gemm)}) {
    for (const int interval : {0, 128}) {
      SCOPED_TRACE(who.name + ", interval " + std::to_string(interval));
      // -1 * fl(2^-78 * 2^-78), which is -1 * 0.
      EXPECT_EQ(product(who, interval, "38", "b8", "18800000", "18800000"),
                "00000000");
      // 0 * -1.
      EXPECT_EQ(product(who, interval, "0", "0", "bf800000", "3f800000"),
                "00000000");
      // -2^-18 * 2^-140 is not zero before it is rounded.
      EXPECT_EQ(product(who, interval, "01", "81", "1c800000", "1c800000"),
                "80000000");
      // -1 * 2^-140.
      EXPECT_EQ(product(who, interval, "38", "b8", "1c800000", "1c800000"),
                "80000200");
    }
  }
}

}  // namespace
}  // namespace zeroulp::fuzz
