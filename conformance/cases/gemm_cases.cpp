#include "conformance/cases/gemm_cases.hpp"

#include <algorithm>

#include "conformance/cases/step_cases.hpp"
#include "conformance/cases/step_paths.hpp"

namespace zeroulp::conformance {
namespace {

constexpr format spec_e4m3{4, 3, 7, specials::fn};
constexpr format spec_e5m2{5, 2, 15, specials::ieee};
constexpr format spec_bf16{8, 7, 127, specials::ieee};
constexpr format spec_fp16{5, 10, 15, specials::ieee};
constexpr format spec_tf32{8, 10, 127, specials::ieee};
constexpr format spec_fp32{8, 23, 127, specials::ieee};

accumulator accumulator_of(const std::string& row, operands takes) {
  for (const auto& r : specified_rows()) {
    if (r.name == row && r.takes == takes && r.acc.stored == spec_fp32) {
      return r.acc;
    }
  }
  return {};
}

template <class T, std::size_t N>
T one_of(const T (&list)[N], counter_rng& rng) {
  return list[rng.below(static_cast<std::uint32_t>(N))];
}

/// An accumulator, and operands that it takes.
recipe_choice make_accumulator(counter_rng& rng) {
  const format fa = rng.one_in(3) ? spec_e5m2 : spec_e4m3;
  const format fb = rng.one_in(3) ? spec_e5m2 : spec_e4m3;
  recipe_choice how{{}, fa, fb};
  const auto use = [&](accumulator acc, format f) {
    how.r.acc = acc;
    how.fa = how.fb = f;
  };
  const auto half = accumulator_of("hopper.wgmma", operands::half);
  how.r.acc = accumulator_of("hopper.wgmma", operands::fp8);
  switch (rng.below(18)) {
    case 0:
    case 1:
      use(half, spec_bf16);
      break;
    case 2:
      use(half, spec_fp16);
      break;
    case 3:
      use(accumulator_of("hopper.wgmma", operands::tf32_only), spec_tf32);
      break;
    case 4:
      how.r.acc = accumulator_of("ada.mma", operands::fp8);
      break;
    case 5:
      how.r.acc = accumulator_of("blackwell.tcgen05", operands::f8f6f4);
      break;
    case 6:
      how.r.acc = specified_fraction(rng.between(8, 34));
      break;
    case 7:
      how.r.acc = accumulator_of("sequential", operands::any);
      break;
    case 8:
      how.r.acc = accumulator_of("exact", operands::any);
      break;
    case 9:
      // Sums have more bits than F: an empty step would show.
      how.r.acc = specified_fraction(rng.between(8, 20));
      how.r.acc.output = spec_fp32;
      break;
    case 10: {
      const char* const rows[] = {"whatif.sign_fill", "whatif.top14",
                                  "whatif.c_last"};
      how.r.acc = accumulator_of(one_of(rows, rng), operands::fp8);
      break;
    }
    default:
      break;
  }
  return how;
}

std::uint32_t fp32_bits(std::uint32_t sign, std::uint32_t e, std::uint32_t m) {
  return sign << 31 | e << 23 | (m & 0x7fffff);
}

}  // namespace

std::vector<specified_recipe> specified_recipes() {
  using up = promotion;
  const auto fp8 = accumulator_of("hopper.wgmma", operands::fp8);
  const auto sequential = accumulator_of("sequential", operands::any);
  const auto exact = accumulator_of("exact", operands::any);
  const granularity all{0, 0};
  const granularity tile{1, 128};
  const granularity block{128, 128};
  const auto store = epilogue::store;
  const auto join = epilogue::accumulate;
  const auto f = spec_fp32;
  const auto h = spec_bf16;
  return {
      {"unpromoted", {fp8, 0, up::add, all, all, 1, store, f}},
      {"cublaslt.tensorwise", {fp8, 128, up::add, all, all, 1, store, f}},
      {"cublaslt.1x128_128x128",
       {fp8, 128, up::product_of_scales, tile, block, 1, store, h}},
      {"cublaslt.1x128_1x128",
       {fp8, 128, up::one_then_other, tile, tile, 1, store, h}},
      {"cublaslt.1x128_1x128.k128",
       {fp8, 128, up::other_then_one, tile, tile, 1, store, h}},
      {"cublaslt.1x128_1x128.m1",
       {fp8, 128, up::product_of_scales, block, tile, 1, store, h}},
      {"deepgemm.1d2d",
       {fp8, 128, up::product_of_scales, tile, block, 1, store, h}},
      {"deepgemm.1d1d",
       {fp8, 128, up::product_of_scales, tile, tile, 1, join, f}},
      {"deepseek_v3.inference",
       {fp8, 128, up::one_then_other, tile, block, 1, store, h}},
      {"cutlass.blockwise",
       {fp8, 128, up::one_then_other, tile, block, 1, store, h}},
      {"cutlass.blockwise_one_scale",
       {fp8, 128, up::product_of_scales, tile, block, 1, store, h}},
      {"cutlass.fast_accumulation", {fp8, 0, up::add, all, all, 1, store, f}},
      {"sequential", {sequential, 0, up::add, all, all, 1, store, f}},
      {"exact", {exact, 0, up::add, all, all, 1, store, f}},
  };
}

std::uint32_t make_code(format f, code_family family, counter_rng& rng) {
  const std::uint64_t minus = std::uint64_t{1} << (f.exp_bits + f.man_bits);
  const std::uint64_t sign =
      family != code_family::positive && rng.one_in(2) ? minus : 0;
  const std::uint64_t largest = largest_code(f);
  const std::uint64_t m = rng.next() >> (64 - f.man_bits);
  std::uint64_t code = 0;
  switch (family) {
    case code_family::sparse:
      if (!rng.one_in(8)) break;
      [[fallthrough]];
    case code_family::finite:
      code = rng.next() % (largest + 1);
      break;
    case code_family::huge:
      code = largest - rng.below(1u << f.man_bits);
      break;
    case code_family::special:
      if (rng.one_in(200)) {
        code = rng.one_in(2) ? largest + 1 : rng.next() % minus;
        break;
      }
      [[fallthrough]];
    case code_family::normal:
    case code_family::positive: {
      auto e = static_cast<std::uint64_t>(f.bias) + 1;
      while (e > 0 && !rng.one_in(2)) --e;
      code = e << f.man_bits | m;
      break;
    }
  }
  return static_cast<std::uint32_t>(sign | code);
}

std::uint32_t make_scale_bits(scale_family family, counter_rng& rng) {
  const std::uint32_t m = rng.next32();
  switch (family) {
    case scale_family::power_of_two:
      return fp32_bits(0, 120 + rng.below(16), 0);
    case scale_family::normal:
      return fp32_bits(0, 118 + rng.below(12), m);
    case scale_family::subnormal:
      return rng.one_in(2) ? fp32_bits(0, 0, m) : fp32_bits(0, 50, m);
    case scale_family::huge:
      return fp32_bits(0, 180 + rng.below(75), m);
    case scale_family::special:
      if (rng.one_in(2)) return fp32_bits(m >> 31, 118 + rng.below(12), m);
      switch (rng.below(8)) {
        case 0:
          return fp32_bits(m >> 31, 0, 0);
        case 1:
          return fp32_bits(m >> 31, 255, 0);
        case 2:
          return fp32_bits(m >> 31, 255, m | 1);
        default:
          return m;
      }
    case scale_family::none:
      break;
  }
  return fp32_bits(0, 127, 0);
}

recipe_choice make_recipe(counter_rng& rng) {
  recipe_choice how = make_accumulator(rng);
  recipe& r = how.r;
  const int length = r.acc.length;
  constexpr promotion updates[] = {promotion::add, promotion::product_of_scales,
                                   promotion::one_then_other,
                                   promotion::other_then_one};
  r.update = one_of(updates, rng);
  if (length > 0 && !rng.one_in(5)) {
    const int common[] = {128, 128, 64, 256, 512, 1024, 96, length};
    r.interval = one_of(common, rng);
    r.interval -= r.interval % length;
  }
  const auto covered = [&] {
    constexpr int rows[] = {0, 1, 2, 3, 64, 128};
    granularity g{one_of(rows, rng), 0};
    const bool may = r.interval > 0 && r.update != promotion::add;
    if (may && !rng.one_in(4)) g.k = r.interval * rng.between(1, 3);
    return g;
  };
  r.a = covered();
  r.b = covered();
  r.splits = rng.one_in(2) ? 1 : rng.between(2, 5);
  r.end = rng.one_in(3) ? epilogue::accumulate : epilogue::store;
  r.output = rng.one_in(2) ? spec_fp32 : spec_bf16;
  return how;
}

gemm_case make_gemm_case(const recipe_choice& how, gemm_shape shape,
                         code_family codes, scale_family scales,
                         counter_rng& rng) {
  gemm_case g{how.r, how.fa, how.fb, {}, {}, {}, {}, {}};
  const auto operand = [&](format f, std::ptrdiff_t rows) {
    oracle::grid x(rows, shape.k);
    for (auto& word : x.words) word = make_code(f, codes, rng);
    return x;
  };
  g.a = operand(how.fa, shape.m);
  g.b = operand(how.fb, shape.n);
  const auto scale_grid = [&](granularity by, std::ptrdiff_t rows) {
    if (scales == scale_family::none) return oracle::grid();
    // One scale over all of K is there for K = 0 too.
    oracle::grid s(oracle::groups_along(rows, by.mn),
                   by.k == 0 ? 1 : oracle::groups_along(shape.k, by.k));
    for (auto& word : s.words) word = make_scale_bits(scales, rng);
    return s;
  };
  g.sa = scale_grid(how.r.a, shape.m);
  g.sb = scale_grid(how.r.b, shape.n);
  if (scales == scale_family::normal && rng.one_in(4)) {
    (rng.one_in(2) ? g.sa : g.sb) = {};
  }
  g.c = oracle::grid(shape.m, shape.n);
  for (auto& word : g.c.words) {
    const bool any = codes == code_family::special && rng.one_in(3);
    word = any ? rng.next32()
               : fp32_bits(rng.below(2), 115 + rng.below(20), rng.next32());
  }
  g.layout = static_cast<placement>(rng.below(placement_count));
  return g;
}

gemm_shape make_shape(counter_rng& rng) {
  constexpr int lengths[] = {1,   2,   31,  32,  33,  64,  95,  127,
                             128, 129, 160, 255, 256, 257, 300, 384};
  gemm_shape shape{rng.between(1, 4), rng.between(1, 4), one_of(lengths, rng)};
  if (rng.one_in(24)) shape.k = 0;
  if (rng.one_in(24)) shape.k = rng.between(1000, 1100);
  if (rng.one_in(24)) {
    auto& edge = rng.one_in(2) ? shape.m : shape.n;
    edge = rng.between(127, 130);
    shape.k = std::min<std::ptrdiff_t>(shape.k, 33);
  }
  return shape;
}

}  // namespace zeroulp::conformance
