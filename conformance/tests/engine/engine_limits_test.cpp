// The edges of what the compiled library takes: float environments of others,
// accumulators beyond its kernels' windows, empty sums, refusals.

#include <gtest/gtest.h>

#include <thread>

#include "zeroulp/random.hpp"
#include "zeroulp/simd.hpp"
#include "zeroulp/zeroulp.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace zeroulp {
namespace {

using in = matrix_view<const std::uint32_t>;
using out = matrix_view<std::uint32_t>;

struct quantized {
  std::vector<std::uint32_t> codes;
  std::vector<std::uint32_t> scales;
  std::vector<std::uint32_t> values;
  std::vector<std::uint32_t> sums;
  friend bool operator==(const quantized&, const quantized&) = default;
};

constexpr std::ptrdiff_t rows = 256;
constexpr std::ptrdiff_t cols = 256;

/// Quantizes, dequantizes and multiplies numbers of every magnitude.
quantized run_all() {
  std::vector<std::uint32_t> x(rows * cols);
  for (std::size_t i = 0; i < x.size(); ++i) {
    counter_rng rng{5, i / 128};
    const auto exponent = rng.below(250) << 23;
    x[i] = exponent +
           (static_cast<std::uint32_t>(counter_rng{6, i}.next()) & 0x80ffffff);
  }
  quantized q{x, std::vector<std::uint32_t>(rows * 2), x, x};
  const quantizer how{
      fp32, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}};
  engine::quantize(how, in(x.data(), rows, cols),
                   out(q.codes.data(), rows, cols), {q.scales.data(), rows, 2});
  engine::dequantize(e4m3, how.group, in(q.codes.data(), rows, cols),
                     {q.scales.data(), rows, 2}, {q.values.data(), rows, cols});
  const prepared_operand a(e4m3, in(q.codes.data(), rows, cols));
  engine::gemm(cublaslt_1x128_1x128_recipe, a, {q.scales.data(), rows, 2}, a,
               {q.scales.data(), rows, 2}, {}, {q.sums.data(), rows, rows});
  return q;
}

#if defined(__SSE2__)
TEST(EngineLimits, TheCallersFloatEnvironmentChangesNoBit) {
  const quantized right = run_all();
  const unsigned before = _mm_getcsr();
  // Toward zero, up, down; flush to zero and denormals are zero.
  for (const unsigned mode : {0x7f80u, 0x5f80u, 0x3f80u, 0x9fc0u, 0x1f80u}) {
    quantized here;
    quantized workers;  // threads that are born with this mode
    unsigned after = 0;
    std::thread([&] {
      _mm_setcsr(mode);
      here = run_all();
      after = _mm_getcsr();
      std::thread([&] { workers = run_all(); }).join();
    }).join();
    EXPECT_EQ(here, right) << std::hex << mode;
    EXPECT_EQ(workers, right) << std::hex << mode;
    EXPECT_EQ(after, mode);
  }
  EXPECT_EQ(_mm_getcsr() & 0xffc0, before & 0xffc0);
}
#endif

TEST(EngineLimits, TheReferenceGivesTheSameBits) {
  const quantized right = run_all();
  engine::use_simd(engine::simd::reference);
  const quantized core = run_all();
  engine::use_simd(engine::supported_simd().back());
  EXPECT_EQ(core, right);
}

void expect_chain(const path& p, std::uint32_t c, std::ptrdiff_t k) {
  const std::vector<std::uint32_t> ones(
      static_cast<std::size_t>(k),
      static_cast<std::uint32_t>(encode(p.a, decode(1.0f))));
  const in row(ones.data(), 1, k);
  const prepared_operand x(p.a, row);
  std::uint32_t d = 0;
  engine::multiply(p, x, x, {&c, 1, 1}, {&d, 1, 1});
  const decoded_row<std::uint32_t> values{ones.data(), 1, p.a};
  EXPECT_EQ(d, chain(p, values, values, 0, k, c)) << c << " " << k;
}

TEST(EngineLimits, ExponentFloorsOfAnyHeightGiveTheCoresBits) {
  for (const int floor : {99, 100, 101, 127, 300, 1010, 2443, 32767}) {
    for (const int fraction : {2, 13, 25, 40}) {
      accumulator acc = hopper_fp8_f32;
      acc.output = fp32;
      acc.exponent_floor = static_cast<std::int16_t>(floor);
      acc.fraction_bits = static_cast<std::int16_t>(fraction);
      for (const std::uint32_t c : {0u, 0x3f800000u, 0x73800000u}) {
        expect_chain({e4m3, e4m3, acc}, c, 32);
      }
    }
  }
}

TEST(EngineLimits, WithoutProductsCStays) {
  for (const auto& acc :
       {hopper_fp8_f32, hopper_half_f32, fp32_sequential, exact_f32}) {
    for (const std::uint32_t c : {0x80000000u, 0x7f800001u, 0x00000001u}) {
      expect_chain({e4m3, e4m3, acc}, c, 0);
    }
  }
}

TEST(EngineLimits, BitsAboveAnFp16AddendAreIgnored) {
  const std::uint32_t code = 0x38;
  const prepared_operand x(e4m3, in(&code, 1, 1));
  for (const auto set : {engine::simd::reference, engine::simd::portable}) {
    engine::use_simd(set);
    const std::uint32_t c = 0xabcd7fff;
    std::uint32_t d = 0;
    engine::multiply({e4m3, e4m3, hopper_fp8_f16}, x, x, {&c, 1, 1},
                     {&d, 1, 1});
    EXPECT_EQ(d, 0x7fffu);
  }
  engine::use_simd(engine::supported_simd().back());
}

TEST(EngineLimits, SumsThatJustFitFp64AreExact) {
  const std::ptrdiff_t k = 1 << 17;
  const std::vector<std::uint8_t> codes(static_cast<std::size_t>(k), 0x7e);
  const prepared_operand x(e4m3,
                           matrix_view<const std::uint8_t>(codes.data(), 1, k));
  double sum = 0;
  engine::exact_products(x, x, {&sum, 1, 1});
  EXPECT_EQ(sum, 448.0 * 448.0 * static_cast<double>(k));
}

TEST(EngineLimits, RefusesWhatDoesNotFit) {
  const std::vector<std::uint32_t> codes(4, 0x38);
  const prepared_operand x(e4m3, in(codes.data(), 2, 2));
  std::vector<std::uint32_t> d(4);
  const in small(codes.data(), 1, 1);
  recipe r = unpromoted_recipe;
  r.output = fp64;
  EXPECT_THROW(engine::gemm(r, x, {}, x, {}, {}, {d.data(), 2, 2}),
               input_error);
  r.output = fp32;
  r.end = epilogue::accumulate;
  EXPECT_THROW(engine::gemm(r, x, {}, x, {}, small, {d.data(), 2, 2}),
               input_error);
  EXPECT_THROW(engine::multiply({e5m2, e4m3, hopper_fp8_f32}, x, x, {},
                                {d.data(), 2, 2}),
               input_error);
  EXPECT_THROW(
      engine::multiply(hopper_wgmma_e4m3, x, x, small, {d.data(), 2, 2}),
      input_error);
}

}  // namespace
}  // namespace zeroulp
