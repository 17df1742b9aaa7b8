// Conventions as text.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

TEST(ConventionText, ANameIsItself) {
  for (const auto& row : named_conventions) {
    EXPECT_EQ(parse_convention(row.name).value, row.value) << row.name;
    EXPECT_STREQ(parse_convention(row.name).name, row.name);
    EXPECT_EQ(parse_convention(name_of(row.value)).value, row.value);
  }
}

TEST(ConventionText, AFieldMayDiffer) {
  const auto c =
      parse_convention("vllm+amax:keep_nan+scale_floor:1e-7+power_of_two:true");
  convention expected = vllm_convention;
  expected.amax = amax_rule::keep_nan;
  expected.scale_floor = 0x33d6bf95;  // fl(1e-7)
  expected.power_of_two = true;
  EXPECT_EQ(c.value, expected);
  // In the order of the fields.
  EXPECT_STREQ(c.name,
               "vllm+scale_floor:1e-07+amax:keep_nan+power_of_two:true");
  EXPECT_STREQ(parse_convention("vllm+amax:skip_nan").name, "vllm");
  EXPECT_STREQ(parse_convention("zeroulp+largest:1e30").name,
               "zeroulp+largest:1e30");
}

TEST(ConventionText, WhatIsWrongIsNamed) {
  const auto refusal = [](const char* text) -> std::string {
    try {
      (void)parse_convention(text);
    } catch (const input_error& e) {
      return e.what();
    }
    return "taken";
  };
  const auto names = [&refusal](const char* text, const char* what) {
    EXPECT_NE(refusal(text).find(what), std::string::npos) << refusal(text);
  };
  names("vlm",
        "unknown convention 'vlm': did you mean 'vllm'? use one of zeroulp, ");
  names("", "unknown convention '': use one of zeroulp, ");
  names("vllm+", "unknown field ''");
  names("vllm+floor:1", "unknown field 'floor': use one of amax_floor, ");
  names("vllm+amax", "amax is '': use finite_only, skip_nan, keep_nan");
  names("vllm+amax:none", "amax is 'none'");
  names("vllm+bf16_amax:yes", "bf16_amax is 'yes': use true or false");
  for (const char* number :
       {"", "-1", "-0", "inf", "nan", "1e39", "1x", "0x1"}) {
    names(("vllm+largest:" + std::string(number)).c_str(),
          "use a number that is finite and not negative");
  }
  names("vllm+conversion:none", "unknown overflow policy 'none'");
}

RC_GTEST_PROP(ConventionText, ReadingInvertsWriting, ()) {
  const auto any = [](int count) { return *rc::gen::inRange(0, count); };
  const auto flag = [] { return *rc::gen::arbitrary<bool>(); };
  const auto number = [] {
    return *rc::gen::inRange<std::uint32_t>(0, 0x7f800000);
  };
  convention c;
  c.amax_floor = number();
  c.scale = static_cast<scale_rule>(any(4));
  c.element = static_cast<element_rule>(any(5));
  c.amax = static_cast<amax_rule>(any(3));
  c.edges = {.unit_of_zero = flag(),
             .unit_of_infinity = flag(),
             .finite_inverse = flag(),
             .positive = flag(),
             .unit_of_nan = flag()};
  c.bf16_amax = flag();
  c.power_of_two = flag();
  c.conversion =
      named_policies[any(static_cast<int>(std::size(named_policies)))].value;
  c.scale_floor = number();
  c.exponent = static_cast<exponent_rule>(any(3));
  c.bf16_scale = flag();
  c.unrounded_inverse = flag();
  c.through = static_cast<pre_rounding>(any(3));
  c.largest = number();
  const auto text = name_of(c);
  RC_ASSERT(parse_convention(text).value == c);
  RC_ASSERT(parse_convention(text).name == text);
}

}  // namespace
}  // namespace zeroulp
