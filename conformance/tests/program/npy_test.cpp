// The .npy format: what is not exactly one array of a known type
// is refused in one line.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

using bytes = std::vector<std::byte>;

bytes to_bytes(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::string file_with(const std::string& dict, std::size_t data,
                      int version = 1) {
  std::string result = "\x93NUMPY";
  result += static_cast<char>(version);
  result += '\0';
  const int width = version == 1 ? 2 : 4;
  for (int i = 0; i < width; ++i) {
    result += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  }
  return result + dict + std::string(data, '\x2A');
}

array parse(const std::string& text) { return parse_npy(to_bytes(text), "x"); }

// The message, or "" where the file is accepted.
std::string refusal(const std::string& text) {
  try {
    (void)parse(text);
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': ";

TEST(NpyReader, AcceptsEveryTypeAndVersion) {
  const struct {
    const char* descr;
    dtype type;
  } rows[] = {{"<f2", dtype::f16}, {"<f4", dtype::f32}, {"=f8", dtype::f64},
              {"|u1", dtype::u8},  {"<u1", dtype::u8},  {"<u2", dtype::u16},
              {"<u4", dtype::u32}, {"f4", dtype::f32}};
  for (const auto& row : rows) {
    for (const int version : {1, 2, 3}) {
      const array a = parse(
          file_with(std::string("{'descr': '") + row.descr +
                        "', 'fortran_order': False, 'shape': (2, 3), }  \n",
                    6 * size_of(row.type), version));
      EXPECT_EQ(a.type, row.type);
      EXPECT_EQ(a.shape, (std::vector<std::size_t>{2, 3}));
      EXPECT_EQ(a.size(), 6U);
    }
  }
}

TEST(NpyReader, AcceptsAnyKeyOrderRankAndSpacing) {
  EXPECT_EQ(parse(file_with(good + "()}", 4)).size(), 1U);
  EXPECT_EQ(parse(file_with(good + "(5,)}", 20)).shape.size(), 1U);
  EXPECT_EQ(parse(file_with(good + "( 5 , )\t,\n}", 20)).size(), 5U);
  EXPECT_EQ(parse(file_with(good + "(5L, 1L)}", 20)).size(), 5U);
  EXPECT_EQ(parse(file_with(good + "(0, 7)}", 0)).size(), 0U);
  EXPECT_EQ(parse(file_with("{\"shape\":(1,1),\"fortran_order\":True,"
                            "\"descr\":\"<u4\"}",
                            4))
                .type,
            dtype::u32);
}

TEST(NpyReader, RefusesMalformedHeadersInOneLineThatSaysWhatToDo) {
  const struct {
    std::string file;
    const char* says;
  } rows[] = {
      {"", "not a .npy"},
      {"\x93NUM", "ends in its header"},
      {"PK\x03\x04 a zip file", "not a .npy"},
      {"\x93NUMPX\x01\x02\x03\x04", "not a .npy"},
      {std::string("\x93NUMPY\x01\0\x05", 9), "ends in its header"},
      {std::string("\x93NUMPY\x02\0\x05\0", 10), "ends in its header"},
      {std::string("\x93NUMPY\x01\0\xFF\xFF{}", 12), "runs past the end"},
      {std::string("\x93NUMPY\x01\0\x03\0{}", 12), "runs past the end"},
      {std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF{}", 14), "runs past"},
      {std::string("\x93NUMPY\x00\0\x02\0{}", 12), "unknown version 0.0"},
      {std::string("\x93NUMPY\x04\0\x02\0{}", 12), "unknown version 4.0"},
      {std::string("\x93NUMPY\x01\x01\x02\0{}", 12), "unknown version 1.1"},
      {file_with("", 0), "needs '{'"},
      {file_with("{", 0), "quoted name"},
      {file_with("{}", 0), "no key 'descr'"},
      {file_with("{'descr': '<f4', 'shape': (1,)}", 4), "'fortran_order'"},
      {file_with("{'descr': '<f4', 'fortran_order': True}", 4), "'shape'"},
      {file_with("{'fortran_order': True, 'shape': (1,)}", 4), "'descr'"},
      {file_with(good + "(1,), 'shape': (1,)}", 4), "stands twice"},
      {file_with(good + "(1,), 'more': 1}", 4), "unknown header key 'more'"},
      {file_with(good + "(1,)", 4), "needs '}'"},
      {file_with(good + "(1,)} x", 4), "text after the header"},
      {file_with(good + "(1,)}" + std::string(1, '\0'), 4), "text after"},
      {file_with(good + "(1,), , }", 4), "quoted name"},
      {file_with("{'descr: '<f4'}", 4), "':'"},
      {file_with("{'descr", 4), "does not end"},
      {file_with("{'" + std::string(999, 'a') + "': 1}", 4), "too long"},
      {file_with("{descr: '<f4'}", 4), "quoted name"},
      {file_with("{'descr' '<f4'}", 4), "':'"},
      {file_with("{'descr': '<f4', 'fortran_order': 0}", 4), "neither True"},
      {file_with("{'descr': '<f4', 'fortran_order': ", 0), "neither True"},
      {file_with(good + "(-1,)}", 4), "integers >= 0"},
      {file_with(good + "(1.0,)}", 4), "integers >= 0"},
      {file_with(good + "(1e3,)}", 4), "integers >= 0"},
      {file_with(good + "(0x4,)}", 4), "integers >= 0"},
      {file_with(good + "(None,)}", 4), "integers >= 0"},
      {file_with(good + "(,)}", 4), "integers >= 0"},
      {file_with(good + "(1,,2)}", 4), "integers >= 0"},
      {file_with(good + "(1 2)}", 4), "integers >= 0"},
      {file_with(good + "(1, 2", 4), "integers >= 0"},
      {file_with(good + "(4)}", 16), "integers >= 0"},
      {file_with(good + "4}", 16), "tuple"},
      {file_with(good + "[4]}", 16), "tuple"},
      {file_with(good + "'(4,)'}", 16), "tuple"},
      {file_with(good + "(((4,),),)}", 16), "integers >= 0"},
      {file_with(good + "(18446744073709551616,)}", 4), "64 bits"},
      {file_with(good + "(99999999999999999999999,)}", 4), "64 bits"},
      {file_with(good + "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                        "1,1,1,1,1,1,1,1)}",
                 4),
       "32 dimensions"},
      {file_with("{'descr': '>f4', 'fortran_order': True, 'shape': (1,)}", 4),
       "save x.astype('<f4')"},
      {file_with("{'descr': '|O', 'fortran_order': True, 'shape': (1,)}", 4),
       "Python objects"},
      {file_with("{'descr': '<V2', 'fortran_order': True, 'shape': (1,)}", 2),
       "x.view('uint16')"},
      {file_with("{'descr': '|V1', 'fortran_order': True, 'shape': (1,)}", 1),
       "x.view('uint8')"},
      {file_with("{'descr': [('a', '<f4')], 'fortran_order': True, "
                 "'shape': (1,)}",
                 4),
       "structured"},
      {file_with("{'descr': '<i4', 'fortran_order': True, 'shape': (1,)}", 4),
       "unknown element type '<i4'"},
      {file_with("{'descr': '', 'fortran_order': True, 'shape': (1,)}", 4),
       "unknown element type"},
      {file_with("{'descr': '<', 'fortran_order': True, 'shape': (1,)}", 4),
       "unknown element type"},
      {file_with("{'descr': '<f16', 'fortran_order': True, 'shape': (1,)}", 16),
       "unknown element type"},
      {file_with("{'descr': '<\nf', 'fortran_order': True, 'shape': (1,)}", 4),
       "unknown element type '<?f'"},
      {file_with("{'descr': 4, 'fortran_order': True, 'shape': (1,)}", 4),
       "quoted name"},
      {file_with(good + "(2, 3)}", 23), "needs 24 bytes of data"},
      {file_with(good + "(2, 3)}", 25), "the file has 25"},
      {file_with(good + "(2, 3)}", 0), "the file has 0"},
      {file_with(good + "(0, 3)}", 1), "needs 0 bytes"},
  };
  for (const auto& row : rows) {
    const std::string message = refusal(row.file);
    EXPECT_NE(message.find(row.says), std::string::npos)
        << "expected: " << row.says << "\nmessage: " << message;
    EXPECT_EQ(message.rfind("x: byte ", 0), 0U) << message;
    EXPECT_NE(message.find("; "), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(NpyReader, RefusesAShapeWhoseProductOverflows) {
  for (const char* shape :
       {"(4294967296, 4294967296)", "(4611686018427387904,)",
        "(18446744073709551615,)", "(3, 6148914691236517206)",
        "(0, 4294967296, 4294967296)", "(4294967296, 4294967296, 0)",
        "(2, 2, 2, 2, 2305843009213693952)"}) {
    const std::string message = refusal(file_with(good + shape + "}", 4));
    EXPECT_NE(message.find("overflows"), std::string::npos) << shape;
  }
}

TEST(NpyReader, RefusesAHugeShapeWithoutAllocatingIt) {
  const std::string message =
      refusal(file_with(good + "(1152921504606846976, 1)}", 4));
  EXPECT_NE(message.find("needs 4611686018427387904"), std::string::npos);
}

TEST(NpyReader, TransposesFortranOrderOfAnyRank) {
  std::string file = file_with(
      "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 4)}", 0);
  for (unsigned k = 0; k < 4; ++k) {
    for (unsigned j = 0; j < 3; ++j) {
      for (unsigned i = 0; i < 2; ++i) {
        file += static_cast<char>(100 * i + 10 * j + k);
        file += '\0';
      }
    }
  }
  const array a = parse(file);
  const auto x = a.as<std::uint16_t>();
  ASSERT_EQ(x.size(), 24U);
  for (unsigned n = 0; n < 24; ++n) {
    EXPECT_EQ(x[n], 100 * (n / 12) + 10 * (n / 4 % 3) + n % 4);
  }
  EXPECT_EQ(parse(file_with("{'descr': '<u2', 'fortran_order': True, "
                            "'shape': (3, 0)}",
                            0))
                .size(),
            0U);
  EXPECT_EQ(parse(file_with("{'descr': '<u2', 'fortran_order': True, "
                            "'shape': ()}",
                            2))
                .size(),
            1U);
}

// A changed file is refused, or it is an array whose size agrees with its
// shape and with the bytes that the file holds.
TEST(NpyReader, NeverAcceptsAnInconsistentSizeUnderRandomDamage) {
  std::mt19937_64 random(20240607);
  const auto below = [&](std::size_t n) { return random() % n; };
  std::vector<double> values(24, 1.5);
  int accepted = 0;
  for (int round = 0; round < 60000; ++round) {
    const array source = make_array<double>({4, 6}, values);
    bytes file = to_bytes(npy_header(source));
    file.insert(file.end(), source.data.begin(), source.data.end());
    const std::size_t reach = below(8) == 0 ? file.size() : 80;
    switch (below(5)) {
      case 0:
        file.resize(below(file.size()));
        break;
      case 1:
        file.resize(file.size() + 1 + below(100));
        break;
      case 2:
        for (std::size_t n = 1 + below(3); n > 0; --n) {
          file[below(reach)] ^= static_cast<std::byte>(1U << below(8));
        }
        break;
      case 3:
        file[below(reach)] = static_cast<std::byte>(below(256));
        break;
      default: {
        constexpr std::string_view likely = "0123456789,()'{}: <>|fu-L\n";
        for (std::size_t n = 1 + below(2); n > 0; --n) {
          file[below(reach)] =
              static_cast<std::byte>(likely[below(likely.size())]);
        }
      }
    }
    const std::size_t size = file.size();
    try {
      const array a = parse_npy(std::move(file), "x");
      std::size_t wanted = size_of(a.type);
      for (const std::size_t dim : a.shape) wanted *= dim;
      ASSERT_EQ(wanted, a.data.size());
      ASSERT_LE(a.data.size(), size);
      ++accepted;
    } catch (const input_error& error) {
      ASSERT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(accepted, 100);    // padding and data may change
  EXPECT_LT(accepted, 30000);  // the rest was refused
}

TEST(Array, RefusesElementsOfAnotherType) {
  const array a = make_array<float>({2}, std::vector<float>{1, -2});
  EXPECT_EQ(a.as<float>()[1], -2.0F);
  EXPECT_EQ(a.as<std::uint32_t>()[1], 0xC0000000U);
  EXPECT_THROW((void)a.as<double>(), std::invalid_argument);
  EXPECT_THROW((void)a.as<std::uint16_t>(), std::invalid_argument);
  EXPECT_THROW((void)make_array<float>({3}, std::vector<float>{1, 2}),
               std::invalid_argument);
  const array half =
      make_array<std::uint16_t>({1}, std::vector<std::uint16_t>{1}, dtype::f16);
  EXPECT_EQ(half.as<std::uint16_t>()[0], 1);
}

TEST(NpyHeader, IsWhatNumPyWrites) {
  const std::string text =
      npy_header(make_array<float>({2, 3}, std::vector<float>(6)));
  const std::string dict =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(text, std::string("\x93NUMPY\x01\0v\0", 10) + dict +
                      std::string(117 - dict.size(), ' ') + "\n");
  const array one = make_array<float>({6}, std::vector<float>(6));
  EXPECT_NE(npy_header(one).find("'shape': (6,), }"), std::string::npos);
  EXPECT_THROW((void)npy_header({dtype::f32, {2}, bytes(7)}),
               std::invalid_argument);
}

}  // namespace
}  // namespace zeroulp
