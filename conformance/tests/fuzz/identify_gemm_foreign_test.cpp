// Sums that no recipe of the grid makes are not given a name: nothing is found,
// and those in FP32 are said to be no Hopper FP8 tensor core's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>

#include "conformance/tests/fuzz/identify_gemm_parts.hpp"
#include "conformance/tests/level.hpp"

namespace zeroulp::fuzz {
namespace {

using products = std::vector<float>;

float narrowed(format f, float x) {
  return to_float(
      decode(f, recode(fp32, bit_cast<std::uint32_t>(x), f, {}, cuda_nosat)));
}

float cut(double x) {
  return to_float(decode(fp32, recode(fp64, bit_cast<std::uint64_t>(x), fp32,
                                      {rounding::toward_zero}, cuda_nosat)));
}

float pairwise(products p) {
  for (std::size_t count = p.size(); count > 1; count = (count + 1) / 2) {
    for (std::size_t k = 0; k < count / 2; ++k) p[k] = p[2 * k] + p[2 * k + 1];
    if (count % 2 == 1) p[count / 2] = p[count - 1];
  }
  return p[0];
}

template <std::size_t Lanes>
float in_lanes(const products& p) {
  products sums(Lanes, 0.0f);
  for (std::size_t k = 0; k < p.size(); ++k) sums[k % Lanes] += p[k];
  return pairwise(sums);
}

float in_blocks_of_64(const products& p) {
  float total = 0;
  for (std::size_t k = 0; k < p.size(); k += 64) {
    float sum = 0;
    for (std::size_t t = k; t < std::min(k + 64, p.size()); ++t) sum += p[t];
    total += sum;
  }
  return total;
}

float shuffled(products p) {
  counter_rng rng(3, 0);
  for (std::size_t k = p.size(); k > 1; --k) {
    std::swap(p[k - 1], p[rng.next() % k]);
  }
  return std::accumulate(p.begin(), p.end(), 0.0f);
}

float in_fp64(const products& p) {
  return static_cast<float>(std::accumulate(p.begin(), p.end(), 0.0));
}

float kahan(const products& p) {
  float sum = 0;
  float rest = 0;
  for (const float x : p) {
    const float y = x - rest;
    const float t = sum + y;
    rest = (t - sum) - y;
    sum = t;
  }
  return sum;
}

float truncated(const products& p) {
  float sum = 0;
  for (const float x : p) {
    sum = cut(static_cast<double>(sum) + static_cast<double>(x));
  }
  return sum;
}

template <int Exponent, int Fraction>
float rounded_each_time(const products& p) {
  constexpr format f{Exponent, Fraction, (1 << (Exponent - 1)) - 1,
                     specials::ieee};
  float sum = 0;
  for (const float x : p) sum = narrowed(f, sum + x);
  return sum;
}

float tf32_products(const products& p) {
  float sum = 0;
  for (const float x : p) sum += narrowed(tf32, x);
  return sum;
}

float in_int32(const products& p) {
  std::int64_t sum = 0;
  for (const float x : p) sum += std::llrint(static_cast<double>(x) * 4096);
  return static_cast<float>(sum) / 4096;
}

struct foreign_kernel {
  const char* name;
  float (*sum)(products);
  bool fp32;  ///< as accurate as FP32
};

template <float (*Sum)(const products&)>
float by_value(products p) {
  return Sum(p);
}

const foreign_kernel kernels[] = {
    {"pairwise", pairwise, true},
    {"one after the other", by_value<in_lanes<1>>, true},
    {"4 lanes", by_value<in_lanes<4>>, true},
    {"8 lanes", by_value<in_lanes<8>>, true},
    {"16 lanes", by_value<in_lanes<16>>, true},
    {"blocks of 64", by_value<in_blocks_of_64>, true},
    {"random order", shuffled, true},
    {"FP64, rounded once", by_value<in_fp64>, true},
    {"Kahan", by_value<kahan>, true},
    {"FP32, cut", by_value<truncated>, false},
    {"FP16", by_value<rounded_each_time<5, 10>>, false},
    {"BF16", by_value<rounded_each_time<8, 7>>, false},
    {"TF32 products", by_value<tf32_products>, false},
    {"fixed point", by_value<in_int32>, false},
};

/// Operands of deepgemm.1d2d, or with a scale each.
gemm_evidence operands(bool in_tiles, format output,
                       conformance::gemm_shape shape, std::uint64_t seed) {
  recipe r =
      parse_recipe(in_tiles ? "deepgemm.1d2d" : "cublaslt.tensorwise").value;
  r.output = output;
  return operands_for(r, e4m3, e4m3, shape, true, seed);
}

/// Where outputs tell little, something fits them; that is no finding.
void expect_nothing(const gemm_answer& a) {
  EXPECT_FALSE(a.tells) << a.best.agree << " of " << a.best.count
                        << ", by chance " << a.chance.agree << " of "
                        << a.chance.count;
  if (a.exact) return;
  EXPECT_FALSE(a.is_near);
  EXPECT_TRUE(a.found.names.empty());
  EXPECT_FALSE(a.first);
}

TEST(IdentifyForeignGemm, NothingIsFoundAndFp32IsSaid) {
  for (std::size_t n = 0; n < std::size(kernels); ++n) {
    const auto& kernel = kernels[n];
    if (test::level() == 0 && n % 5 != 0) continue;
    const format output = n % 2 == 0 ? bf16 : fp32;
    const bool in_tiles = n / 2 % 2 == 0;
    SCOPED_TRACE(kernel.name);
    auto e = operands(in_tiles, output, {64, 160, 512}, 20 + n);
    multiply_by(kernel.sum, in_tiles, e);
    const auto a = identify_gemm(e);
    expect_nothing(a);
    EXPECT_EQ(a.fp32_sum.has_value(), kernel.fp32);
  }
}

// The sums of E4M3 codes without scales are often exact in FP32, and BF16 hides
// the rest: most accurate recipes fit, and so do sums that are none.
TEST(IdentifyForeignGemm, AnFp32SumWithBf16OutputIsToldInTime) {
  const auto& named = unpromoted_recipe;
  recipe r = named;
  r.output = bf16;
  const conformance::gemm_shape shape{test::level() > 0 ? 384 : 32, 256, 1024};
  auto e = operands_for(r, e4m3, e4m3, shape, false, 31);
  multiply_by(pairwise, false, e);
  const auto start = std::clock();
  const auto a = identify_gemm(e);
  const auto seconds = static_cast<double>(std::clock() - start) /
                       static_cast<double>(CLOCKS_PER_SEC);
  ASSERT_TRUE(a.fp32_sum);
  EXPECT_EQ(a.fp32_sum->exact.agree, a.fp32_sum->exact.count);
  EXPECT_LT(a.fp32_sum->hopper.share(), 0.99);
  EXPECT_FALSE(a.tells);
  if (test::level() > 0) {
    EXPECT_LT(seconds, 20) << "of two cores";
  }
}

TEST(IdentifyForeignGemm, TensorCoresUsedOtherwiseAreNotNamed) {
  for (const format output : {bf16, fp32}) {
    recipe r = parse_recipe("deepgemm.1d2d").value;
    r.output = output;
    auto e = multiplied(r, e4m3, e4m3, {64, 160, 512}, true, 41);
    std::rotate(e.a.scales->words.begin(), e.a.scales->words.begin() + 1,
                e.a.scales->words.end());
    SCOPED_TRACE("wrong scales");
    expect_nothing(identify_gemm(e));
  }
  {
    SCOPED_TRACE("B transposed");
    recipe r = cublaslt_tensorwise_recipe;
    auto e = multiplied(r, e4m3, e4m3, {64, 256, 256}, false, 42);
    e.b.codes = oracle::flipped(e.b.codes);
    expect_nothing(identify_gemm(e));
  }
  {
    SCOPED_TRACE("promoted every 160");
    recipe r = cublaslt_tensorwise_recipe;
    r.interval = 160;
    for (const format output : {bf16, fp32}) {
      r.output = output;
      const auto a =
          identify_gemm(multiplied(r, e4m3, e4m3, {64, 256, 960}, false, 43));
      expect_nothing(a);
      EXPECT_FALSE(a.fp32_sum) << "which rules Hopper out";
    }
  }
}

}  // namespace
}  // namespace zeroulp::fuzz
