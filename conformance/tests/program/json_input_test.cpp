// JSON that comes from outside: what is taken, and what is too deep for it.

#include "tools/zeroulp/json_input.hpp"

#include <gtest/gtest.h>

#include <string>

namespace zeroulp::program {
namespace {

std::string nested(int levels, const std::string& open,
                   const std::string& close) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += open;
  text += "1";
  for (int i = 0; i < levels; ++i) text += close;
  return text;
}

std::string error_of(const std::string& text) {
  try {
    parse_json(text);
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

TEST(JsonInput, TakesAsManyLevelsAsItSays) {
  EXPECT_EQ(parse_json("[1, {\"a\": [2]}]").dump(), "[1,{\"a\":[2]}]");
  EXPECT_EQ(error_of(nested(most_json_levels, "[", "]")), "");
  EXPECT_EQ(error_of(nested(most_json_levels, "{\"a\":", "}")), "");
}

TEST(JsonInput, RefusesMoreLevels) {
  for (const int levels : {most_json_levels + 1, 65600, 1000000}) {
    EXPECT_EQ(error_of(nested(levels, "[", "]")),
              "is JSON nested deeper than 64 levels");
    EXPECT_EQ(error_of(nested(levels, "{\"a\":", "}")),
              "is JSON nested deeper than 64 levels");
  }
}

TEST(JsonInput, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "[1,]", "nan", "1 2", "{\"a\":\xff}"}) {
    EXPECT_EQ(error_of(text), "is no JSON") << text;
  }
}

}  // namespace
}  // namespace zeroulp::program
