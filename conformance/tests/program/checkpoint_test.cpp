// The reader of checkpoints: headers that are taken and refused, weights that
// find their scales.

#include "tools/checkpoint/files/checkpoint.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/sha256.hpp"
#include "tools/checkpoint/files/arrays.hpp"
#include "tools/checkpoint/files/writer.hpp"
#include "tools/checkpoint/weights/numbers.hpp"

namespace zeroulp::checkpoint {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, removed with all that is in it.
class folder {
 public:
  folder() {
    path = fs::temp_directory_path() /
           ("zeroulp-checkpoint-" +
            std::string(
                testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~folder() { fs::remove_all(path); }
  fs::path path;
};

file_header parse(const std::string& text, std::uint64_t data) {
  return parse_header(text, 8 + text.size() + data, "F");
}

std::string error_of(const std::string& text, std::uint64_t data) {
  try {
    parse(text, data);
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

std::string tensor_text(const std::string& name, const std::string& rest) {
  return "\"" + name + "\":{" + rest + "}";
}

std::string u8(const std::string& name, int begin, int end) {
  return tensor_text(name, "\"dtype\":\"U8\",\"shape\":[" +
                               std::to_string(end - begin) +
                               "],\"data_offsets\":[" + std::to_string(begin) +
                               "," + std::to_string(end) + "]");
}

TEST(SafetensorsHeader, HasItsTensorsInTheOrderOfTheirData) {
  const auto h = parse("{" + u8("b", 4, 9) + "," + u8("a", 0, 4) +
                           ",\"__metadata__\":{\"format\":\"pt\"}}   ",
                       9);
  ASSERT_EQ(h.entries.size(), 2U);
  EXPECT_EQ(h.entries[0].name, "a");
  EXPECT_EQ(h.entries[1].name, "b");
  EXPECT_EQ(h.entries[1].shape, (shape_t{5}));
  EXPECT_EQ(h.entries[1].offset - h.entries[0].offset, 4U);
  EXPECT_EQ(h.metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, TakesNoTensorsScalarsAndEmptyTensors) {
  EXPECT_EQ(error_of("{}", 0), "");
  EXPECT_EQ(error_of("{" +
                         tensor_text("a", R"("dtype":"F32","shape":[],)"
                                          R"("data_offsets":[0,4])") +
                         "," +
                         tensor_text("b", R"("dtype":"F32","shape":[0,7],)"
                                          R"("data_offsets":[4,4])") +
                         "}",
                     4),
            "");
}

TEST(SafetensorsHeader, RefusesWhatIsNoHeaderAndSaysWhy) {
  const struct {
    std::string text;
    std::uint64_t data;
    std::string says;
  } cases[] = {
      {"", 0, "expected a header of JSON"},
      {"[]", 0, "expected an object of tensors, found a list"},
      {"{} x", 0, "expected a header of JSON"},
      {"{\"a\":3}", 0, "expected an object for 'a', found 3"},
      {"{\"a\":{}}", 0, "tensor a: expected dtype, shape and data_offsets"},
      {"{" + u8("a", 0, 4) + "," + u8("a", 4, 8) + "}", 8,
       "tensor a: expected one of this name, found two"},
      {"{" + u8("a", 0, 4) + "," + u8("b", 3, 8) + "}", 8, "found an overlap"},
      {"{" + u8("a", 0, 4) + "," + u8("b", 5, 8) + "}", 8,
       "expected data from byte 4 on, where a ends, found a hole at byte 5"},
      {"{" + u8("a", 0, 4) + "}", 5, "found its end at byte 4"},
      {"{" + u8("a", 0, 9) + "}", 8, "within 8 bytes of data, found [0, 9]"},
      {"{" + u8("a", 4, 2) + "}", 8, "expected"},
      {"{" +
           tensor_text("a",
                       R"("dtype":"F8","shape":[4],"data_offsets":[0,4])") +
           "}",
       4, "tensor a: expected dtype one of BOOL, "},
      {"{" +
           tensor_text("a",
                       R"("dtype":"F32","shape":[4],"data_offsets":[0,4])") +
           "}",
       4, "expected 16 bytes for [4] of F32, found 4"},
      {"{" +
           tensor_text("a", R"("dtype":"F32","shape":[9223372036854775807,)"
                            R"(9223372036854775807,0],"data_offsets":[0,0])") +
           "}",
       0, "below 2^63"},
      {"{" +
           tensor_text("a",
                       R"("dtype":"F4","shape":[3],"data_offsets":[0,1])") +
           "}",
       1, "whole bytes"},
      {"{" +
           tensor_text("a", R"("dtype":"U8","shape":[-1],)"
                            R"("data_offsets":[0,1])") +
           "}",
       1, "whole numbers in shape, found -1"},
      {"{" +
           tensor_text("a", R"("dtype":"U8","shape":[1.5],)"
                            R"("data_offsets":[0,1])") +
           "}",
       1, "whole numbers in shape, found 1.5"},
      {"{" +
           tensor_text("a", R"("dtype":"U8","shape":[1],"x":1,)"
                            R"("data_offsets":[0,1])") +
           "}",
       1, "found 'x'"},
      {"{" +
           tensor_text("a", R"("dtype":"U8","dtype":"U8","shape":[1],)"
                            R"("data_offsets":[0,1])") +
           "}",
       1, "expected 'dtype' once"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "expected text for 'a'"},
      {"{\"a\\u0000\\n\":5}", 0, "expected an object"},
  };
  for (const auto& c : cases) {
    const auto said = error_of(c.text, c.data);
    EXPECT_NE(said.find(c.says), said.npos) << c.text << ": " << said;
    EXPECT_EQ(said.substr(0, 2), "F:") << said;
  }
}

TEST(SafetensorsHeader, RefusesALengthThatIsNone) {
  const auto error = [](std::string first, std::uint64_t size) {
    try {
      (void)header_length(first, size, "F");
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(std::string("\2\0\0\0\0\0\0\0", 8), 10), "");
  EXPECT_NE(error(std::string("\2\0\0\0\0\0\0\0", 8), 9), "");
  EXPECT_NE(error(std::string("\2\0\0\0\0\0\0", 7), 7), "");
  EXPECT_NE(error(std::string(8, '\xff'), ~std::uint64_t{0}), "");
  EXPECT_NE(error(std::string("\1\xe1\xf5\5\0\0\0\0", 8), 1u << 30), "");
}

TEST(SafetensorsHeader, IsReadBackAsItWasWritten) {
  std::vector<entry> entries = {{"x \"\n\xc3\xa9", element::f8_e4m3, {3, 5}},
                                {"y", element::f32, {}},
                                {"z", element::u8, {0}}};
  const std::string text = make_header(entries, {{"k", "v"}});
  EXPECT_EQ(text.size() % 8, 0U);
  const auto size = text.size() + 19;
  const auto length = header_length(text.substr(0, 8), size, "F");
  EXPECT_EQ(length + 8, text.size());
  const auto h = parse_header(text.substr(8), size, "F");
  ASSERT_EQ(h.entries.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(h.entries[i].name, entries[i].name);
    EXPECT_EQ(h.entries[i].offset, entries[i].offset);
    EXPECT_EQ(h.entries[i].bytes, entries[i].bytes);
  }
}

/// A checkpoint of one shard whose data are zeros.
checkpoint with(const fs::path& path, std::vector<entry> entries) {
  shard_writer w(path / "model.safetensors", std::move(entries), {});
  w.finish();
  return open_checkpoint(path);
}

std::string first_fault(const checkpoint& c) {
  const auto p = pair_scales(c, false);
  return p.faults.empty() ? "" : p.faults.front().text();
}

TEST(CheckpointPairs, GridsComeFromTheDeclaredBlockAlone) {
  const folder f;
  // 1000 / 8 is 125, and no block of 125 is meant.
  const auto c = with(f.path, {{"a.weight", element::f8_e4m3, {1000, 2048}},
                               {"a.weight_scale_inv", element::f32, {8, 16}}});
  EXPECT_EQ(first_fault(c), "");
  const auto p = pair_scales(c, false);
  ASSERT_EQ(p.weights.size(), 1U);
  EXPECT_EQ(p.weights[0].group, (group_shape{128, 128}));
}

TEST(CheckpointPairs, RefusesAnotherGrid) {
  for (const shape_t& grid : {shape_t{7, 16}, {16, 8}, {8, 17}, {128}, {}}) {
    const folder f;
    const auto c = with(f.path, {{"a.weight", element::f8_e4m3, {1000, 2048}},
                                 {"a.weight_scale_inv", element::f32, grid}});
    const auto said = first_fault(c);
    if (grid.empty()) {
      EXPECT_EQ(said, "");  // one scale of the whole tensor
      continue;
    }
    EXPECT_NE(
        said.find("expected 8 x 16 for groups of 128x128 of [1000, 2048]"),
        said.npos)
        << said;
  }
}

TEST(CheckpointPairs, ABytesOfExponentsAreNoFloats) {
  const folder f;
  const auto c = with(f.path, {{"a.weight", element::f8_e4m3, {4, 64}},
                               {"a.weight_scale", element::u8, {4, 2}}});
  const auto p = pair_scales(c, false);
  ASSERT_TRUE(p.faults.empty()) << p.faults[0].text();
  const auto s = read_scales(c, p.weights[0], 0, 0, 0, 4, 2);
  EXPECT_EQ(s.words, std::vector<std::uint32_t>(8, 0x00400000));  // 2^-127
}

TEST(CheckpointPairs, ALostScaleIsAFaultUnlessItIsAllowed) {
  const folder f;
  const auto c = with(f.path, {{"a.weight", element::f8_e4m3, {4, 64}}});
  EXPECT_NE(first_fault(c).find("tensor a.weight: expected a scale "),
            std::string::npos);
  const auto p = pair_scales(c, true);
  EXPECT_TRUE(p.faults.empty());
  EXPECT_EQ(p.weights.size(), 1U);
}

TEST(CheckpointTiles, CoverEachNumberOnce) {
  for (const matrices& m : {matrices{1, 5, 7, 1, 1},
                            {3, 300, 1000, 128, 128},
                            {2, 129, 9000000, 128, 128},
                            {1, 1, 5000000, 1, 2},
                            {1, 3000000, 1, 128, 128},
                            {0, 4, 4, 1, 1}}) {
    std::uint64_t count = 0;
    for_each_tile(m, [&](const tile& t) {
      count += t.count();
      EXPECT_EQ(t.i % m.height, 0U);
      EXPECT_EQ(t.j % m.width, 0U);
      EXPECT_LE(t.count(), std::max(tile_numbers, m.height * m.width));
    });
    EXPECT_EQ(count, m.outer * m.rows * m.cols);
  }
}

TEST(CheckpointArrays, RefusesWhatIsNoZip) {
  for (const std::string& text :
       {std::string(), std::string("PK\5\6"), std::string(30, 'x'),
        "PK\5\6" + std::string(6, '\0') + "\1" + std::string(11, '\0')}) {
    EXPECT_THROW((void)members_of_npz(text, "F"), input_error);
  }
}

TEST(Sha256, IsTheSameInParts) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t cut = 0; cut <= text.size(); cut += 13) {
    sha256 h;
    h.add(std::string_view(text).substr(0, cut));
    h.add(std::string_view(text).substr(cut));
    EXPECT_EQ(h.hex(), sha256_hex(text));
    sha256 words(false);
    words.add(std::string_view(text).substr(cut));
    EXPECT_EQ(words.hex(), sha256_hex(std::string_view(text).substr(cut)));
  }
  EXPECT_EQ(sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace zeroulp::checkpoint
