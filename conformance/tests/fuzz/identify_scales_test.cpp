// Scales are read back from each layout of SPEC Q11, and from its transpose.

#include <gtest/gtest.h>

#include "conformance/tests/fuzz/identify_parts.hpp"
#include "fuzz/identify/scales.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

grid powers_of_two(std::ptrdiff_t mn, std::ptrdiff_t k) {
  grid s(mn, k);
  std::uint32_t n = 0;
  for (auto& word : s.words) word = (1 + n++ % 253) << 23;
  return s;
}

grid stored(scale_layout layout, const grid& scales) {
  const auto shape = stored_shape(layout, scales.rows, scales.cols);
  grid file(shape.rows, shape.cols);
  lay_out_scales(layout, in(scales), out(file));
  return file;
}

std::uint32_t fp32_at(const grid& file, const scale_place& place,
                      std::ptrdiff_t i, std::ptrdiff_t k) {
  const auto word = word_at(file, place, position_of(place, i, k));
  return place.words == scale_words::numbers
             ? word
             : static_cast<std::uint32_t>(recode(ue8m0, word, fp32));
}

void expect_read(const grid& file, scale_words words, const grid& scales,
                 std::optional<scale_layout> only) {
  const auto places = places_of(words, {file.rows, file.cols},
                                {scales.rows, scales.cols}, only);
  bool is_read = false;
  for (const auto& place : places) {
    bool all = true;
    for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
      for (std::ptrdiff_t k = 0; k < scales.cols; ++k) {
        all = all && fp32_at(file, place, i, k) == scales(i, k);
      }
    }
    is_read = is_read || all;
    if (only) {
      EXPECT_EQ(place.layout, name_of(*only));
    }
  }
  EXPECT_TRUE(is_read) << scales.rows << " x " << scales.cols;
}

constexpr scale_shape shapes[] = {{1, 1}, {3, 1},  {1, 5},  {4, 4},
                                  {7, 9}, {8, 12}, {130, 3}};

TEST(IdentifyScales, EveryLayoutIsReadSaidOrUnsaid) {
  for (const auto& layout : named_scale_layouts) {
    SCOPED_TRACE(layout.name);
    const bool packed = layout.value == scale_layout::packed_ue8m0;
    const auto words = packed ? scale_words::packed : scale_words::numbers;
    for (const auto shape : shapes) {
      const auto scales = powers_of_two(shape.mn, shape.k);
      const auto file = stored(layout.value, scales);
      expect_read(file, words, scales, {});
      expect_read(file, words, scales, layout.value);
      expect_read(oracle::flipped(file), words, scales, {});
    }
  }
}

TEST(IdentifyScales, ExponentBytesLieAsNumbersDo) {
  for (const auto shape : shapes) {
    const auto scales = powers_of_two(shape.mn, shape.k);
    for (const auto layout : {scale_layout::row_major, scale_layout::mn_major,
                              scale_layout::blk128}) {
      auto file = stored(layout, scales);
      for (auto& word : file.words) word >>= 23;
      expect_read(file, scale_words::exponents, scales, layout);
    }
  }
}

TEST(IdentifyScales, OtherShapesHoldNone) {
  using enum scale_words;
  EXPECT_TRUE(places_of(numbers, {7, 10}, {7, 9}).empty());
  EXPECT_TRUE(places_of(numbers, {12, 9}, {7, 9}).empty());
  EXPECT_TRUE(places_of(numbers, {9, 9}, {7, 9}).empty());
  EXPECT_TRUE(places_of(packed, {9, 8}, {7, 9}).empty());
  EXPECT_TRUE(places_of(numbers, {7, 9}, {7, 9}, scale_layout::blk128).empty());
  EXPECT_TRUE(
      places_of(exponents, {3, 8}, {7, 9}, scale_layout::packed_ue8m0).empty());
}

TEST(IdentifyScales, ASquareMayLieBothWays) {
  EXPECT_EQ(places_of(scale_words::numbers, {4, 4}, {4, 4}).size(), 2u);
  EXPECT_EQ(places_of(scale_words::numbers, {1, 1}, {1, 1}).size(), 1u);
}

}  // namespace
}  // namespace zeroulp::fuzz
