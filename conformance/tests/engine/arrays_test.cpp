// The compiled conversions and packing give the core's bits, with every set of
// vector instructions and any strides. ZEROULP_LEVEL sets how many of the 2^32
// FP32 codes are swept.

#include "zeroulp/arrays.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/float_sweep.hpp"
#include "conformance/tests/engine/arrays_parts.hpp"
#include "conformance/tests/level.hpp"
#include "zeroulp/core/pack.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

struct conversion {
  format from;
  format to;
  rounding mode;
  policy how;
};

std::string describe(const conversion& c, std::uint32_t code) {
  return name_of(c.from) + " to " + name_of(c.to) + ", " +
         std::string(name_of(c.mode)) + ", code " + std::to_string(code);
}

/// Holds the engine's conversion of `codes` against the core's.
void expect_equal_conversion(const conversion& c, const words& codes,
                             const words& random) {
  const auto n = static_cast<std::ptrdiff_t>(codes.size());
  words expected(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    expected[i] = static_cast<std::uint32_t>(
        recode(c.from, codes[i], c.to, {c.mode, random[i]}, c.how));
  }
  auto in = make_stored(stored_as::dense, storage_bytes(c.from), 1, n, codes);
  with_every_simd([&](const char* name) {
    stored out(stored_as::dense, storage_bytes(c.to), 1, n);
    engine::recode(c.from, in.view(), c.to, out.view(), c.mode, c.how,
                   {random.data(), 1, n});
    const words found = out.content();
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(found[i], expected[i])
          << name << ": " << describe(c, codes[i]) << ", random " << random[i];
    }
  });
}

void expect_equal_conversions(format from, format to, const words& codes) {
  const words random = random_words(17, codes.size());
  for (const auto& mode : named_roundings) {
    for (const auto& how : named_policies) {
      expect_equal_conversion({from, to, mode.value, how.value}, codes, random);
    }
  }
}

std::vector<format> narrow_formats() {
  std::vector<format> formats = conformance::what_if_formats();
  for (const auto& f : conformance::named_formats_up_to(22)) {
    formats.push_back(f.value);
  }
  formats.push_back({8, 3, 140, specials::ieee});  // subnormals of FP32
  formats.push_back({8, 3, 130, specials::fn});    // numbers where FP32 has Inf
  formats.push_back({5, 2, -100, specials::fn});
  formats.push_back({5, 2, 160, specials::fnuz});
  return formats;
}

TEST(Arrays, RecodingFp32EqualsTheCoreAroundEveryCodeAndMidpoint) {
  for (const format to : narrow_formats()) {
    const auto stride = std::uint64_t{1} << std::max(0, to.bits() - 8);
    words codes;
    for (const auto x : conformance::boundary_codes(fp32, to, stride)) {
      codes.push_back(static_cast<std::uint32_t>(x));
    }
    for (const auto x : conformance::special_codes(fp32)) {
      codes.push_back(static_cast<std::uint32_t>(x));
    }
    expect_equal_conversions(fp32, to, codes);
  }
}

TEST(Arrays, RecodingEveryNarrowCodeEqualsTheCore) {
  for (const format from : narrow_formats()) {
    // Of up to 8 bits each code several times: then a table pays.
    words codes(std::size_t{1} << std::clamp(from.bits(), 10, 12));
    const int skipped = std::max(0, from.bits() - 12);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = static_cast<std::uint32_t>(i << skipped | (i & 1));
    }
    for (const format to : {fp32, e4m3, e5m2, bf16, ue8m0, e4m3fnuz}) {
      expect_equal_conversions(from, to, codes);
    }
  }
}

TEST(Arrays, RecodingAll16BitCodesEqualsTheCore) {
  words codes(1 << 16);
  for (std::uint32_t i = 0; i < codes.size(); ++i) codes[i] = i;
  const words random = random_words(18, codes.size());
  std::size_t next = 0;
  for (const format from : {bf16, fp16}) {
    for (const format to : {e4m3, e5m2, e5m6, bf16, fp16, fp32, e2m1}) {
      for (const auto& mode : named_roundings) {
        const policy how = named_policies[next++ % 5].value;
        expect_equal_conversion({from, to, mode.value, how}, codes, random);
      }
    }
  }
}

// Random bits that are just enough to round away, and one less.
TEST(Arrays, StochasticRoundingEqualsTheCoreAtItsThreshold) {
  for (const format to : {e4m3, e5m6, bf16, e5m2fnuz}) {
    words codes, random;
    for (std::uint64_t i = 0; i < 20000; ++i) {
      counter_rng rng{19, i};
      const std::uint32_t x = rng.next32();
      const unpacked v = decode(fp32, x);
      if (!v.is_finite() || v.is_zero()) continue;
      const int beyond = msb(v.significand) + v.exponent - to.min_exponent();
      const int shift =
          to.quantum_exponent() + std::max(beyond, 0) - v.exponent;
      const auto fraction =
          static_cast<std::uint32_t>(extract(v.significand, shift - 32));
      codes.insert(codes.end(), {x, x, x});
      random.insert(random.end(), {~fraction, ~fraction + 1, 0xffffffffu});
    }
    expect_equal_conversion({fp32, to, rounding::stochastic, keep_specials},
                            codes, random);
  }
}

/// Holds every stride-th FP32 code, a block of them at a time.
void sweep(const conversion& c, std::uint64_t stride) {
  constexpr std::size_t block = 1 << 18;
  words codes;
  for (std::uint64_t x = 0; x < std::uint64_t{1} << 32; x += stride) {
    codes.push_back(static_cast<std::uint32_t>(x));
    if (codes.size() < block && x + stride < std::uint64_t{1} << 32) continue;
    expect_equal_conversion(c, codes, random_words(x, codes.size()));
    if (testing::Test::HasFatalFailure()) return;
    codes.clear();
  }
}

TEST(Arrays, SweepsOfFp32EqualTheCore) {
  const std::uint64_t stride = conformance::sweep_stride(test::level());
  for (const auto& mode : named_roundings) {
    sweep({fp32, e4m3, mode.value, cuda_satfinite}, 4 * stride + 1);
  }
  for (const format to : {e4m3, e5m2, e5m6, bf16, fp16}) {
    sweep({fp32, to, rounding::nearest_even, ocp_nonsaturate}, stride);
  }
}

TEST(Arrays, PackingEqualsTheCoreInBothLayouts) {
  using bytes = matrix_view<std::uint8_t>;
  using const_bytes = matrix_view<const std::uint8_t>;
  struct layout {
    std::ptrdiff_t (*size)(std::ptrdiff_t);
    void (*core)(matrix_view<const std::uint32_t>, bytes);
    void (*pack)(engine::const_code_view, bytes);
    void (*unpack)(const_bytes, engine::code_view);
  };
  for (const layout& l : {layout{packed_bytes, pack_bytes<std::uint32_t>,
                                 engine::pack_bytes, engine::unpack_bytes},
                          layout{packed_word_bytes, pack_words<std::uint32_t>,
                                 engine::pack_words, engine::unpack_words}}) {
    for (const std::ptrdiff_t n : {0, 1, 2, 7, 8, 9, 16, 31, 100, 20001}) {
      constexpr std::ptrdiff_t m = 3;
      auto codes = random_words(60, static_cast<std::size_t>(m * n));
      const std::ptrdiff_t size = l.size(n);
      words expected(static_cast<std::size_t>(m * size));
      stored core(stored_as::dense, 1, m, size);
      l.core({codes.data(), m, n}, core.as<std::uint8_t>());
      for (const stored_as how : storages) {
        for (const int width : {2, 4}) {
          auto in = make_stored(how, width, m, n, codes);
          stored packed(how, 1, m, size);
          l.pack(in.view(), packed.as<std::uint8_t>());
          ASSERT_EQ(packed.content(), core.content()) << n;
          stored back(how, width, m, n);
          l.unpack(packed.as<const std::uint8_t>(), back.view());
          words low = codes;
          for (auto& c : low) c &= 0xfff;
          ASSERT_EQ(back.content(), low) << n;
          ASSERT_TRUE(packed.is_intact() && back.is_intact());
        }
      }
    }
  }
}

TEST(Arrays, StridesAndElementWidthsDoNotMatter) {
  for (const auto& [m, n] : {std::pair<std::ptrdiff_t, std::ptrdiff_t>{0, 5},
                             {5, 0},
                             {1, 3000},
                             {3000, 1},
                             {70, 131}}) {
    const auto x =
        make_numbers(family::specials_too, 70, static_cast<std::size_t>(m * n));
    const auto random = random_words(71, x.size());
    for (const format to : {e4m3, fp32}) {
      words expected(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        expected[i] = static_cast<std::uint32_t>(recode(
            fp32, x[i], to, {rounding::stochastic, random[i]}, cuda_nosat));
      }
      for (const stored_as how_in : storages) {
        auto in = make_stored(how_in, 4, m, n, x);
        auto bits = make_stored(storages[(m + 1) % 4], 4, m, n, random);
        for (const stored_as how_out : storages) {
          for (const int width : {1, 2, 4}) {
            if (8 * width < to.bits()) continue;
            stored out(how_out, width, m, n);
            engine::recode(fp32, in.view(), to, out.view(),
                           rounding::stochastic, cuda_nosat,
                           bits.as<const std::uint32_t>());
            ASSERT_EQ(out.content(), expected);
            ASSERT_TRUE(out.is_intact());
          }
        }
      }
    }
  }
}

/// What `call` says in its input_error.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const input_error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Arrays, RefusesWhatDoesNotFit) {
  std::vector<std::uint32_t> x(12);
  std::vector<std::uint8_t> codes(12);
  const matrix_view<std::uint32_t> x34(x.data(), 3, 4), x43(x.data(), 4, 3);
  const matrix_view<std::uint32_t> scales(x.data(), 3, 1);
  const matrix_view<std::uint8_t> c34(codes.data(), 3, 4);
  const quantizer q{fp32, e4m3, zeroulp_convention, scale_kind::pow2, {1, 128}};
  EXPECT_EQ(error_of([&] { engine::recode(fp32, x43, e4m3, c34); }),
            "recode, output: 3 x 4, but the input is 4 x 3");
  EXPECT_EQ(error_of([&] { engine::recode(fp32, x34, bf16, c34); }),
            "recode, output: elements of 1 bytes do not hold the 16 bits of "
            "bf16");
  EXPECT_EQ(error_of([&] {
              engine::recode(fp32, x34, e4m3, c34, rounding::stochastic);
            }),
            "random bits: 0 x 0, but codes are 3 x 4");
  EXPECT_EQ(error_of([&] { engine::quantize(q, x34, c34, x34); }),
            "quantize, scales: 3 x 4, but the groups are 3 x 1");
  EXPECT_EQ(error_of([&] { engine::quantize(q, c34, c34, scales); }),
            "quantize, input: elements of 1 bytes do not hold the 32 bits of "
            "fp32");
  EXPECT_EQ(error_of([&] { engine::quantize(q, x34, x34, c34, scales); }),
            "quantize, amax: 3 x 4, but the groups are 3 x 1");
  EXPECT_EQ(error_of([&] {
              engine::dequantize(e4m3, {1, 4}, c34, x34, x34);
            }),
            "dequantize, scales: 3 x 4, but the groups are 3 x 1");
  EXPECT_EQ(error_of([&] {
              engine::retile(
                  {e4m3, e4m3, scale_kind::pow2, 128, retile_rule::amax}, c34,
                  scales, c34, scales);
            }),
            "retile, output: 3 x 4, but the transpose is 4 x 3");
  EXPECT_EQ(error_of([&] { engine::pack_bytes(x34, c34); }),
            "pack, bytes: 3 x 4, but the codes need 3 x 6");
  EXPECT_EQ(error_of([&] { engine::unpack_words(c34, c34); }),
            "unpack, codes: elements of 1 bytes do not hold the 12 bits of "
            "e5m6");
}

}  // namespace
}  // namespace zeroulp
