// Twenty recipes that have no name are found by what they make of operands:
// each field as it is.

#include <gtest/gtest.h>

#include "conformance/tests/fuzz/identify_gemm_parts.hpp"
#include "conformance/tests/level.hpp"

namespace zeroulp::fuzz {
namespace {

constexpr auto add = promotion::add;
constexpr auto product = promotion::product_of_scales;
constexpr auto in_turn = promotion::one_then_other;
constexpr auto b_first = promotion::other_then_one;
constexpr auto store = epilogue::store;
constexpr auto accumulate = epilogue::accumulate;
constexpr accumulator hopper = hopper_fp8_f32;
constexpr granularity rows{1, 0};

struct hidden_recipe {
  recipe r;
  bool scaled;
  format a;
  format b;
  conformance::gemm_shape shape;
};

constexpr hidden_recipe hidden[] = {
    {{hopper, 64, add, per_tensor, per_tensor, 1, store, fp32},
     false,
     e4m3,
     e4m3,
     {40, 72, 1024}},
    {{hopper, 256, add, per_tensor, per_tensor, 3, store, fp32},
     false,
     e4m3,
     e5m2,
     {33, 65, 2048}},
    {{hopper, 0, add, per_tensor, per_tensor, 4, store, bf16},
     false,
     e4m3,
     e4m3,
     {96, 160, 4096}},
    {{hopper, 128, add, per_tensor, per_tensor, 2, accumulate, bf16},
     false,
     e5m2,
     e4m3,
     {64, 256, 2048}},
    {{hopper, 128, add, per_tensor, per_tensor, 1, store, bf16},
     true,
     e4m3,
     e4m3,
     {128, 136, 1024}},
    {{hopper, 96, add, rows, rows, 1, store, fp32},
     true,
     e4m3,
     e4m3,
     {24, 40, 1100}},
    {{hopper, 128, product, rows, rows, 1, store, bf16},
     true,
     e4m3,
     e4m3,
     {96, 200, 1536}},
    {{hopper, 32, product, {1, 32}, {1, 32}, 1, store, fp32},
     true,
     e4m3,
     e4m3,
     {48, 40, 512}},
    {{hopper, 128, product, tile_1x128, tile_1x128, 5, store, bf16},
     true,
     e4m3,
     e4m3,
     {130, 200, 2048}},
    {{hopper, 64, in_turn, tile_1x128, block_128x128, 1, store, fp32},
     true,
     e4m3,
     e4m3,
     {40, 300, 1024}},
    {{hopper, 128, in_turn, block_128x128, block_128x128, 2, store, fp32},
     true,
     e5m2,
     e5m2,
     {150, 140, 2000}},
    {{hopper, 128, in_turn, tile_1x128, tile_1x128, 1, accumulate, fp32},
     true,
     e4m3,
     e4m3,
     {20, 33, 640}},
    {{hopper, 256, product, {1, 256}, {1, 256}, 1, store, bf16},
     true,
     e4m3,
     e4m3,
     {64, 192, 4096}},
    {{ada_fp8_f32, 128, product, tile_1x128, block_128x128, 1, store, bf16},
     true,
     e4m3,
     e4m3,
     {64, 256, 1024}},
    {{ada_fp8_f32, 0, add, per_tensor, per_tensor, 1, store, fp32},
     true,
     e4m3,
     e5m2,
     {30, 50, 1000}},
    {{what_if_fraction(12), 128, add, per_tensor, per_tensor, 2, store, bf16},
     false,
     e4m3,
     e4m3,
     {64, 128, 2048}},
    {{what_if_fraction(17), 64, product, tile_1x128, tile_1x128, 1, store,
      fp32},
     true,
     e4m3,
     e4m3,
     {24, 40, 1024}},
    {{what_if_sign_fill, 0, add, per_tensor, per_tensor, 1, store, fp32},
     false,
     e4m3,
     e4m3,
     {32, 32, 768}},
    {{what_if_c_last, 128, b_first, tile_1x128, tile_1x128, 1, store, fp32},
     true,
     e4m3,
     e4m3,
     {16, 24, 1024}},
    {{hopper_half_f32, 64, add, per_tensor, per_tensor, 3, store, fp32},
     false,
     bf16,
     bf16,
     {40, 60, 1024}},
};

std::string update_text(const hidden_recipe& h) {
  switch (h.r.update) {
    case product:
      return "fma(p, fl(sa*sb), acc)";
    case in_turn:
      return "fma(fl(p*sa), sb, acc)";
    case b_first:
      return "fma(fl(p*sb), sa, acc)";
    case add:
      break;
  }
  return h.scaled ? "fl(acc+p), scales at the end" : "fl(acc+p)";
}

std::string scales_text(const hidden_recipe& h, granularity g) {
  const auto text = [](std::int32_t n, const char* all) {
    return n == 0 ? std::string(all) : std::to_string(n);
  };
  if (!h.scaled) return "no scales";
  if (g == per_tensor) return "tensor";
  return text(g.mn, "M") + "x" + text(g.k, "K");
}

class IdentifyHiddenGemm : public testing::TestWithParam<std::size_t> {};

// Fields that these outputs cannot tell have more than one value.
TEST_P(IdentifyHiddenGemm, IsFoundFieldByField) {
  const auto& h = hidden[GetParam()];
  if (test::level() == 0 && GetParam() % 4 != 0) GTEST_SKIP() << "at level 0";
  const auto e = multiplied(h.r, h.a, h.b, h.shape, h.scaled, 100 + GetParam());
  const auto a = identify_gemm(e);
  ASSERT_TRUE(a.exact);
  const auto finds = [&a](const std::string& field, const std::string& value) {
    EXPECT_TRUE(has(values(a.found, field), value)) << field << " " << value;
  };
  const auto interval = h.r.interval;
  finds("interval", interval == 0 ? "none" : std::to_string(interval));
  finds("update", update_text(h));
  finds("splits of K", std::to_string(h.r.splits));
  finds("scales of A", scales_text(h, h.r.a));
  finds("scales of B", scales_text(h, h.r.b));
  finds("epilogue", h.r.end == store ? "store" : "fl(acc+C)");
  EXPECT_EQ(a.how.acc, h.r.acc);
  EXPECT_LE(values(a.found, "accumulator").size(), 2u);
  EXPECT_LE(a.found.members, a.tried / 100);
  EXPECT_TRUE(a.tells);
  if (h.r.acc == hopper) {
    EXPECT_FALSE(a.fp32_sum) << "which rules Hopper out";
  }
}

INSTANTIATE_TEST_SUITE_P(All, IdentifyHiddenGemm,
                         testing::Range(std::size_t{0}, std::size(hidden)));

}  // namespace
}  // namespace zeroulp::fuzz
