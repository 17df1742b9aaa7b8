// What training in NVFP4 does besides quantizing: blocks of 16 rows, stochastic
// rounding, the Hadamard transform; and their C ABI.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"
#include "zeroulp/zeroulp.h"

namespace zeroulp {
namespace {

using words = std::vector<std::uint32_t>;
using bytes = std::vector<std::uint8_t>;

/// Numbers of some binades, FP32 bits.
words numbers(std::size_t count, std::uint64_t seed) {
  counter_rng rng(seed, 0);
  words x(count);
  for (auto& v : x) {
    v = (120 + rng.below(8)) << 23 | (rng.next32() & 0x807fffff);
  }
  return x;
}

struct quantized {
  bytes codes;
  bytes scales;
};

quantized quantize(const block_quantizer& q, const words& x, std::ptrdiff_t m,
                   const words& random = {}) {
  const std::ptrdiff_t k = static_cast<std::ptrdiff_t>(x.size()) / m;
  const std::ptrdiff_t blocks = ceil_div(k, q.how.block);
  quantized out{bytes(x.size()), bytes(static_cast<std::size_t>(m * blocks))};
  words second(1);
  engine::quantize_blocks(q, matrix_view<const std::uint32_t>(x.data(), m, k),
                          matrix_view<std::uint8_t>(out.codes.data(), m, k),
                          {out.scales.data(), m, blocks}, {second.data(), 1, 1},
                          {random.empty() ? nullptr : random.data(), m, k});
  return out;
}

TEST(Nvfp4Training, BlocksOfSixteenRowsAreThoseOfTheTranspose) {
  constexpr std::ptrdiff_t n = 48;
  const words x = numbers(n * n, 1);
  words turned(x.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) turned[j * n + i] = x[i * n + j];
  }
  block_quantizer q{fp32, e2m1, exact_nvfp4, second_level::tensor};
  const auto differs = [&] {
    const auto a = quantize(q, x, n);
    const auto b = quantize(q, turned, n);
    int count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        count += a.codes[i * n + j] != b.codes[j * n + i] ? 1 : 0;
      }
    }
    return count;
  };
  EXPECT_GT(differs(), 0);
  q.block_rows = 16;
  EXPECT_EQ(differs(), 0);
}

TEST(Nvfp4Training, EachWordOfEightBitsRoundsAsOftenUpAsItLies) {
  // Between 1 and 1.5 under a scale of 1: away for f * 256 of 256 words.
  block_quantizer q{fp32, e2m1, exact_nvfp4, second_level::none};
  for (const std::uint32_t part : {0u, 1u, 77u, 128u, 255u}) {
    words x(256 * 16, 0x3f800000u | part << 14);
    for (std::size_t i = 0; i < 256; ++i) x[i * 16] = 0x40c00000;  // 6
    words random(x.size());
    for (std::uint32_t i = 0; i < 256; ++i) {
      for (std::size_t k = 0; k < 16; ++k) random[i * 16 + k] = i << 24;
    }
    const auto got = quantize(q, x, 256, random);
    std::uint32_t up = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(got.codes[i * 16], 7);
      const auto code = got.codes[i * 16 + 1];
      EXPECT_TRUE(code == 2 || code == 3) << int{code};
      up += code == 3 ? 1 : 0;
    }
    EXPECT_EQ(up, part);
  }
}

TEST(Nvfp4Training, TheTransformIsItsOwnInverse) {
  for (const int size : {2, 4, 16, 64, 1024}) {
    words x(static_cast<std::size_t>(2 * size));
    counter_rng rng(9, static_cast<std::uint64_t>(size));
    for (auto& v : x) {
      v = static_cast<std::uint32_t>(encode(
          fp32, unpacked{rng.below(999), 0, kind::finite, rng.one_in(2)}));
    }
    hadamard_transform t{fp32, fp32, size, fp32_one};
    words y(x.size());
    const auto run = [&](const words& from, words& to) {
      engine::hadamard(t, nullptr, nullptr,
                       matrix_view<const std::uint32_t>(from.data(), 2, size),
                       matrix_view<std::uint32_t>(to.data(), 2, size));
    };
    run(x, y);
    // 1 / size, a power of two: exact.
    t.scale = static_cast<std::uint32_t>(
        encode(fp32, quotient(unpacked{1, 0, kind::finite, false},
                              unpacked{static_cast<std::uint64_t>(size), 0,
                                       kind::finite, false})));
    words back(x.size());
    run(y, back);
    EXPECT_NE(y, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(back[i] & 0x7fffffff, x[i] & 0x7fffffff) << size;
    }
  }
}

zeroulp_format format_of(const char* name) {
  zeroulp_format f{};
  EXPECT_EQ(zeroulp_format_from_name(name, &f), ZEROULP_OK);
  return f;
}

TEST(Nvfp4Training, TheCAbiIsTheEngine) {
  const words x = numbers(32 * 40, 3);
  words random(x.size());
  zeroulp_matrix drawn{random.data(), 32, 40, 40, 1, 4};
  ASSERT_EQ(zeroulp_random_words(ZEROULP_PHILOX4X32_10, 13, 7, 5, &drawn),
            ZEROULP_OK);
  for (std::size_t i = 0; i < random.size(); ++i) {
    EXPECT_EQ(
        random[i],
        top_bits(random_word(random_source::philox4x32_10, 7, 5 + i), 13));
  }
  block_quantizer q{fp32, e2m1, transformer_engine_nvfp4, second_level::tensor};
  q.block_rows = 16;
  const auto want = quantize(q, x, 32, random);
  zeroulp_block_quantizer how{"transformer_engine.nvfp4",
                              format_of("fp32"),
                              format_of("e2m1"),
                              ZEROULP_SECOND_TENSOR,
                              448,
                              16,
                              {}};
  quantized got{bytes(want.codes.size()), bytes(want.scales.size())};
  words second(1);
  const zeroulp_const_matrix in{x.data(), 32, 40, 40, 1, 4};
  const zeroulp_const_matrix by{random.data(), 32, 40, 40, 1, 4};
  const zeroulp_matrix codes{got.codes.data(), 32, 40, 40, 1, 1};
  const zeroulp_matrix scales{got.scales.data(), 32, 3, 3, 1, 1};
  const zeroulp_matrix level{second.data(), 1, 1, 1, 1, 4};
  const auto call = [&](const zeroulp_const_matrix* words_of) {
    return zeroulp_quantize_blocks_by(&how, &in, words_of, &codes, &scales,
                                      &level);
  };
  ASSERT_EQ(call(&by), ZEROULP_OK) << zeroulp_last_error();
  EXPECT_EQ(got.codes, want.codes);
  EXPECT_EQ(got.scales, want.scales);
  ASSERT_EQ(call(nullptr), ZEROULP_OK);
  EXPECT_EQ(got.codes, quantize(q, x, 32).codes);
  EXPECT_NE(got.codes, want.codes);

  const zeroulp_const_matrix narrow{random.data(), 32, 39, 40, 1, 4};
  EXPECT_EQ(call(&narrow), ZEROULP_INVALID_ARGUMENT);
  how.reserved[4] = 1;
  EXPECT_EQ(call(&by), ZEROULP_INVALID_ARGUMENT);
  how.reserved[4] = 0;
  for (const std::int32_t rows : {0, -1, 32768}) {
    how.block_rows = rows;
    EXPECT_EQ(call(&by), ZEROULP_INVALID_ARGUMENT) << rows;
  }
  how.block_rows = 16;
  how.second_level = ZEROULP_SECOND_ROW;
  EXPECT_EQ(call(&by), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_random_words(2, 13, 7, 5, &drawn),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_random_words(0, 33, 7, 5, &drawn),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_random_words(0, 0, 7, 5, &drawn), ZEROULP_INVALID_ARGUMENT);
}

TEST(Nvfp4Training, TheCAbiTransformsAsTheEngine) {
  const words x = numbers(5 * 48, 4);
  words want(x.size());
  words got(x.size());
  const std::vector<std::int8_t> flips{1,  1,  1,  -1, 1,  -1, -1, -1,
                                       -1, -1, -1, 1,  -1, 1,  -1, -1};
  std::vector<std::int32_t> signs(flips.begin(), flips.end());
  zeroulp_hadamard_transform t{format_of("fp32"), format_of("fp32"), 16, 0, {}};
  const zeroulp_const_matrix in{x.data(), 5, 48, 48, 1, 4};
  const zeroulp_matrix out{got.data(), 5, 48, 48, 1, 4};
  engine::hadamard({fp32, fp32, 16, unit_hadamard_scale(16)}, nullptr,
                   flips.data(),
                   matrix_view<const std::uint32_t>(x.data(), 5, 48),
                   matrix_view<std::uint32_t>(want.data(), 5, 48));
  const auto call = [&](const zeroulp_path* p) {
    return zeroulp_hadamard(&t, p, signs.data(), &in, &out);
  };
  ASSERT_EQ(call(nullptr), ZEROULP_OK) << zeroulp_last_error();
  EXPECT_EQ(got, want);
  zeroulp_path tf32{};
  ASSERT_EQ(zeroulp_path_from_name("hopper.wgmma.bf16.bf16.f32", &tf32),
            ZEROULP_OK);
  EXPECT_EQ(call(&tf32), ZEROULP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(zeroulp_last_error()).find("the path takes bf16"),
            std::string::npos);
  signs[3] = 0;
  EXPECT_EQ(call(nullptr), ZEROULP_INVALID_ARGUMENT);
  signs[3] = 1;
  signs.resize(1024, 1);  // as many as the largest size reads
  for (const std::int32_t size : {0, 1, 3, 32, 2048, -16}) {
    t.size = size;
    EXPECT_EQ(call(nullptr), ZEROULP_INVALID_ARGUMENT) << size;
  }
}

}  // namespace
}  // namespace zeroulp
