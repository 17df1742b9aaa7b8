// The compiled quantizers and re-tiling give the core's bits, with every set of
// vector instructions, any strides and any number of threads.

#include <gtest/gtest.h>
#if __has_include(<omp.h>)
#include <omp.h>
#endif

#include <cmath>
#include <thread>

#include "conformance/tests/engine/arrays_parts.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

words numbers_as(format to, const words& x) {
  words codes(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    codes[i] =
        static_cast<std::uint32_t>(recode(fp32, x[i], to, {}, ocp_nonsaturate));
  }
  return codes;
}

struct quantized {
  words codes;
  words scales;
  words amaxes;
};

/// By the core, from the amaxes given or, without any, from the groups' own.
quantized core_quantize(const quantizer& q, const words& x, std::ptrdiff_t m,
                        std::ptrdiff_t n, const words& given = {}) {
  const auto count = groups_of(q.group, m, n);
  quantized out{words(x.size()), words(count.all()), words(count.all())};
  const matrix_view<const std::uint32_t> in(x.data(), m, n);
  const matrix_view<std::uint32_t> codes(out.codes.data(), m, n);
  std::size_t next = 0;
  for_each_group(q.group, m, n,
                 [&](std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t i,
                     std::ptrdiff_t j, std::ptrdiff_t gm, std::ptrdiff_t gn) {
                   const auto group = in.block(i, j, gm, gn);
                   const auto amax =
                       given.empty() ? group_amax(q, group) : given[next];
                   out.amaxes[next] = amax;
                   out.scales[next++] = quantize_group(
                       q, group, amax, codes.block(i, j, gm, gn));
                 });
  return out;
}

quantized engine_quantize(const quantizer& q, const words& x, std::ptrdiff_t m,
                          std::ptrdiff_t n, stored_as how,
                          const words& given = {}) {
  const auto count = groups_of(q.group, m, n);
  auto in = make_stored(how, storage_bytes(q.from), m, n, x);
  stored codes(how, storage_bytes(q.to), m, n);
  stored scales(how, 4, count.m, count.n);
  stored amaxes(how, 4, count.m, count.n);
  if (given.empty()) {
    engine::quantize(q, in.view(), codes.view(), scales.as<std::uint32_t>());
    engine::group_amaxes(q, in.view(), amaxes.as<std::uint32_t>());
  } else {
    amaxes.fill(given);
    engine::quantize(q, in.view(), amaxes.as<const std::uint32_t>(),
                     codes.view(), scales.as<std::uint32_t>());
  }
  quantized out{codes.content(), scales.content(), amaxes.content()};
  EXPECT_TRUE(codes.is_intact() && scales.is_intact() && amaxes.is_intact());
  return out;
}

void expect_equal_quantization(const quantizer& q, const words& x,
                               std::ptrdiff_t m, std::ptrdiff_t n,
                               stored_as how, const words& given = {},
                               const char* what = "") {
  const auto expected = core_quantize(q, x, m, n, given);
  with_every_simd([&](const char* name) {
    const auto found = engine_quantize(q, x, m, n, how, given);
    ASSERT_EQ(found.amaxes, expected.amaxes) << name << " " << what;
    ASSERT_EQ(found.scales, expected.scales) << name << " " << what;
    ASSERT_EQ(found.codes, expected.codes)
        << name << " " << what << ", groups " << name_of(q.group);
  });
}

TEST(Arrays, QuantizationEqualsTheCoreForEveryConvention) {
  constexpr std::ptrdiff_t m = 21, n = 37;
  constexpr group_shape groups[] = {{1, 16}, {16, 1}, {8, 8}, {0, 0},
                                    {1, 0},  {3, 5},  {0, 1}, {1, 1}};
  std::uint64_t seed = 0;
  for (const auto& convention : named_conventions) {
    for (const auto& scale : named_scale_kinds) {
      for (const format from : {fp32, bf16, fp16}) {
        for (const family kind : families) {
          ++seed;
          const auto x = numbers_as(
              from, make_numbers(kind, seed, static_cast<std::size_t>(m * n)));
          const format to = seed % 3 == 0 ? e5m2 : seed % 5 == 0 ? e5m6 : e4m3;
          for (const group_shape g : {groups[seed % 8], groups[seed / 8 % 8]}) {
            expect_equal_quantization(
                {from, to, convention.value, scale.value, g}, x, m, n,
                storages[seed / 2 % 4], {}, convention.name);
          }
        }
      }
    }
  }
}

TEST(Arrays, QuantizationToAnyFormatEqualsTheCore) {
  const auto x = make_numbers(family::wide, 5, 6 * 40);
  for (const format to :
       {bf16, fp16, tf32, fp32, e2m1, e2m3, e4m3fnuz,
        format{4, 0, 7, specials::fn}, format{5, 2, -60, specials::finite}}) {
    for (const auto& convention : named_conventions) {
      expect_equal_quantization(
          {fp32, to, convention.value, scale_kind::float32, {1, 20}}, x, 6, 40,
          stored_as::dense, {}, convention.name);
    }
  }
}

TEST(Arrays, QuantizationByGivenAmaxesEqualsTheCore) {
  const words amaxes{0,          1,          0x007fffff, 0x00800000,
                     0x7f800000, 0x7f7fffff, 0x7fc00000, 0x3f800000,
                     0x12345678, 0x7e812345, 0x3f812345, 0x1a5a5a5a};
  const auto n = static_cast<std::ptrdiff_t>(amaxes.size());
  // Of the second, scales of large amaxes overflow.
  for (const format to : {e4m3, format{3, 2, 8, specials::finite}}) {
    for (const family kind : families) {
      const auto x =
          make_numbers(kind, 77, static_cast<std::size_t>(n) * 2 * 16);
      for (const auto& convention : named_conventions) {
        for (const auto& scale : named_scale_kinds) {
          expect_equal_quantization(
              {fp32, to, convention.value, scale.value, {2, 16}}, x, 2, n * 16,
              stored_as::dense, amaxes, convention.name);
        }
      }
    }
  }
}

// x = fl(midpoint * scale) and its neighbours: where the exact quotient is off
// a tie by less than FP32 can say.
TEST(Arrays, ExactQuotientsNextToTiesEqualTheCore) {
  for (const format to : {e4m3, e5m2, fp16}) {
    for (std::uint64_t i = 0; i < 60; ++i) {
      counter_rng rng{23, i};
      // From where the vectors leave off up to the largest scales.
      const std::uint32_t amax =
          static_cast<std::uint32_t>(i < 30 ? rng.between(30, 70)
                                            : rng.between(1, 254))
              << 23 |
          (rng.next32() & 0x7fffff);
      const auto s =
          make_scale({fp32, to, zeroulp_convention, scale_kind::float32}, amax)
              .scale;
      words x;
      const std::uint64_t step = to == fp16 ? 97 : 1;
      for (std::uint64_t code = 0; code < to.max_code(); code += step) {
        auto middle = decode(to, code);
        const auto next = decode(to, code + 1);
        if (middle.exponent != next.exponent || middle.is_zero()) continue;
        middle.significand += next.significand;
        --middle.exponent;
        const auto near = static_cast<std::uint32_t>(
            encode(fp32, product(middle, decode(fp32, s))));
        for (std::uint32_t d = 0; d < 5; ++d) x.push_back(near + d - 2);
      }
      expect_equal_quantization(
          {fp32, to, zeroulp_convention, scale_kind::float32, {1, 0}}, x, 1,
          static_cast<std::ptrdiff_t>(x.size()), stored_as::dense, {amax});
    }
  }
}

TEST(Arrays, LargeGroupsAndLongLinesEqualTheCore) {
  struct shape {
    std::ptrdiff_t m, n;
    group_shape group;
  };
  for (const shape& s :
       {shape{1100, 1000, {0, 0}}, shape{3, 5000, {1, 0}},
        shape{2, 5000, {1, 2048}}, shape{5000, 3, {0, 1}},
        shape{1, (1 << 20) + 9, {1, 0}}, shape{130, 300, {128, 128}}}) {
    const auto x =
        make_numbers(family::ordinary, 31, static_cast<std::size_t>(s.m * s.n));
    const auto how = vllm_convention;  // its quotient is quick
    expect_equal_quantization({fp32, e4m3, how, scale_kind::float32, s.group},
                              x, s.m, s.n, stored_as::dense);
  }
}

TEST(Arrays, DequantizationEqualsTheCore) {
  constexpr std::ptrdiff_t m = 19, n = 70;
  std::uint64_t seed = 40;
  for (const format from : {e4m3, e5m2, e5m6, bf16, fp32, ue8m0, e4m3fnuz}) {
    for (const family kind : families) {
      for (const group_shape g :
           {group_shape{1, 16}, {16, 1}, {8, 8}, {0, 0}}) {
        ++seed;
        const auto codes = random_words(seed, static_cast<std::size_t>(m * n));
        const auto count = groups_of(g, m, n);
        const auto scales = make_numbers(kind, seed, count.all());
        words expected(codes.size());
        dequantize(from, g,
                   matrix_view<const std::uint32_t>(codes.data(), m, n),
                   {scales.data(), count.m, count.n}, {expected.data(), m, n});
        const stored_as how = storages[seed % 4];
        auto in = make_stored(how, storage_bytes(from), m, n, codes);
        with_every_simd([&](const char* name) {
          stored out(storages[seed / 4 % 4], 4, m, n);
          engine::dequantize(from, g, in.view(),
                             {scales.data(), count.m, count.n},
                             out.as<std::uint32_t>());
          ASSERT_EQ(out.content(), expected) << name << " " << name_of(from);
          ASSERT_TRUE(out.is_intact());
        });
      }
    }
  }
}

/// x, rounded to nearest-even with 8 bits: BF16, by FP64 and nothing of ours.
std::uint32_t bf16_of(double x) {
  if (std::isnan(x)) return 0x7fff;
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x == 0) return sign;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int quantum = std::max(exponent - 8, -133);
  const double rounded = std::nearbyint(std::ldexp(std::abs(x), -quantum));
  const auto result = static_cast<float>(std::ldexp(rounded, quantum));
  return sign | bit_cast<std::uint32_t>(result) >> 16;
}

// Every code under scales of every exponent, and those near ties: against FP64,
// in which the product is exact.
TEST(Arrays, DequantizationToBf16RoundsTheExactProductOnce) {
  counter_rng rng(5, 0);
  words scales;
  for (std::uint32_t e = 0; e < 256; ++e) {
    const std::uint32_t first = e << 23;
    for (const std::uint32_t fraction : {0u, 1u, 0x7fffffu, 0x8000u, 0x8001u}) {
      scales.push_back(first | fraction);
    }
    for (int i = 0; i < 40; ++i) {
      // The FP32 product may lie halfway between two of BF16.
      const auto word = rng.next32();
      scales.push_back(first | (word & 0x7f0000) | 0x7fffu | (word & 1));
      scales.push_back(first | (rng.next32() & 0x7fffff));
    }
  }
  for (std::uint32_t s = 1; s < 1u << 23; s = s * 2 + 1) scales.push_back(s);
  const auto m = static_cast<std::ptrdiff_t>(scales.size());
  for (const format from : {e4m3, e5m2, e4m3fnuz}) {
    words codes, expected;
    std::ptrdiff_t twice = 0;
    for (const std::uint32_t scale : scales) {
      for (std::uint32_t code = 0; code < 256; ++code) {
        const auto x = bit_cast<float>(static_cast<std::uint32_t>(
            recode(from, code, fp32, {}, ocp_nonsaturate)));
        const double exact = static_cast<double>(x) * bit_cast<float>(scale);
        codes.push_back(code);
        expected.push_back(bf16_of(exact));
        twice += bf16_of(static_cast<float>(exact)) != expected.back() ? 1 : 0;
      }
    }
    EXPECT_GT(twice, 100) << "FP32's product, rounded again, is another number";
    auto in = make_stored(stored_as::dense, 1, m, 256, codes);
    with_every_simd([&](const char* name) {
      stored out(stored_as::dense, 2, m, 256);
      engine::dequantize(from, {1, 256}, in.view(), {scales.data(), m, 1}, bf16,
                         out.view());
      ASSERT_EQ(out.content(), expected) << name << " " << name_of(from);
    });
  }
}

TEST(Arrays, RetilingEqualsTheCore) {
  std::uint64_t seed = 50;
  for (const auto& formats : {std::pair{e4m3, e4m3},
                              {e5m6, e4m3},
                              {e5m2, e5m2},
                              {bf16, e4m3},
                              {e4m3, bf16},
                              {e4m3fnuz, e5m6}}) {
    const format from = formats.first;
    const format to = formats.second;
    for (const auto& rule : named_retile_rules) {
      for (const auto& scale : named_scale_kinds) {
        for (const std::int32_t tile : {16, 128, 7, 0}) {
          for (int kind = 0; kind < 7; ++kind) {
            ++seed;
            // Some with several blocks of rows and of columns.
            const std::ptrdiff_t m = seed % 16 == 0 ? 150 : 23;
            const std::ptrdiff_t n = seed % 16 == 0 ? 270 : 60;
            const retiling r{from, to, scale.value, tile, rule.value};
            const auto across = ceil_div(n, group_shape{1, tile}.width(n));
            const auto down = ceil_div(m, group_shape{tile, 1}.height(m));
            auto codes = random_words(seed, static_cast<std::size_t>(m * n));
            if (kind != 6) {
              for (auto& c : codes) {
                if (!decode(from, c).is_finite()) c = 0x12;
              }
            }
            const auto scales = make_scales(
                kind, from, seed, static_cast<std::size_t>(m * across));
            words out(codes.size());
            words out_scales(static_cast<std::size_t>(n * down));
            retile(r, matrix_view<const std::uint32_t>(codes.data(), m, n),
                   {scales.data(), m, across},
                   matrix_view<std::uint32_t>(out.data(), n, m),
                   {out_scales.data(), n, down});
            auto in = make_stored(storages[seed % 4], storage_bytes(from), m, n,
                                  codes);
            with_every_simd([&](const char* name) {
              stored codes_out(storages[seed / 4 % 4], storage_bytes(to), n, m);
              stored scales_out(storages[seed / 4 % 4], 4, n, down);
              engine::retile(r, in.view(), {scales.data(), m, across},
                             codes_out.view(), scales_out.as<std::uint32_t>());
              ASSERT_EQ(scales_out.content(), out_scales) << name;
              ASSERT_EQ(codes_out.content(), out)
                  << name << " " << rule.name << " " << scale.name << " tile "
                  << tile << " kind " << kind;
              ASSERT_TRUE(codes_out.is_intact() && scales_out.is_intact());
            });
          }
        }
      }
    }
  }
}

#if __has_include(<omp.h>)
/// Small groups and one large one, and the first re-tiled.
std::vector<words> run_on(int threads, const words& x, std::ptrdiff_t m,
                          std::ptrdiff_t n) {
  omp_set_num_threads(threads);
  const auto quantize_by = [&](group_shape g) {
    return engine_quantize(
        {fp32, e4m3, zeroulp_convention, scale_kind::float32, g}, x, m, n,
        stored_as::dense);
  };
  const auto tiles = quantize_by({1, 128});
  const auto whole = quantize_by({0, 0});
  auto codes = make_stored(stored_as::dense, 1, m, n, tiles.codes);
  stored out(stored_as::dense, 1, n, m);
  stored scales(stored_as::dense, 4, n, ceil_div(m, 128));
  engine::retile({e4m3, e4m3, scale_kind::float32, 128, retile_rule::amax},
                 codes.view(), {tiles.scales.data(), m, ceil_div(n, 128)},
                 out.view(), scales.as<std::uint32_t>());
  return {tiles.codes,  tiles.scales,  whole.codes,
          whole.scales, out.content(), scales.content()};
}

TEST(Arrays, TheNumberOfThreadsChangesNoBit) {
  constexpr std::ptrdiff_t m = 1030, n = 1020;
  const auto x =
      make_numbers(family::wide, 80, static_cast<std::size_t>(m * n));
  // The number that is asked for is the calling thread's own. LLVM's OpenMP
  // leaks where teams grow: the largest is first.
  std::thread([&] {
    const auto expected = run_on(8, x, m, n);
    for (int threads = 7; threads > 0; --threads) {
      EXPECT_EQ(run_on(threads, x, m, n), expected) << threads;
    }
  }).join();
}
#endif

}  // namespace
}  // namespace zeroulp
