// What the C ABI refuses, matrices and values: the status, a text that says
// what and where, and nothing written.

#include <limits>

#include "conformance/tests/c_abi/c_abi_arguments.hpp"

namespace zeroulp {
namespace {

TEST(CAbiErrors, TheArgumentsBelowAreValid) {
  for (const call& run :
       {recode_call, arithmetic_call, quantize_call, by_amax_call, amaxes_call,
        make_scales_call, dequantize_call, dequantize_to_call, retile_call,
        pack_call, step_call, gemm_call, exact_call}) {
    arguments a;
    EXPECT_EQ(run(a), ZEROULP_OK) << last_error();
  }
  arguments a;
  a.to_stored.cols = 2;
  EXPECT_EQ(layout_call(a), ZEROULP_OK) << last_error();
  a.codes.data.assign(a.codes.data.size(), 0x7f);
  EXPECT_EQ(compare_call(a), ZEROULP_OK) << last_error();
}

TEST(CAbiErrors, MatricesThatAreNone) {
  const auto x = [](auto change) {
    return [change](arguments& a) { change(a.in_x); };
  };
  const auto codes = [](auto change) {
    return [change](arguments& a) { change(a.to_codes); };
  };
  expect_refused(quantize_call, x([](auto& m) { m.data = nullptr; }),
                 "zeroulp_quantize: x: data is NULL, but there are 4 x 8");
  expect_refused(quantize_call, x([](auto& m) { m.rows = -1; }),
                 "x: -1 x 8 elements");
  expect_refused(quantize_call, x([](auto& m) { m.cols = -8; }),
                 "x: 4 x -8 elements");
  expect_refused(quantize_call, x([](auto& m) { m.element_bytes = 3; }),
                 "x: elements of 3 bytes: 1, 2, 4 or 8 are taken");
  expect_refused(quantize_call, x([](auto& m) { m.element_bytes = 8; }),
                 "x: elements of 8 bytes, but 1 to 4 are taken here");
  expect_refused(quantize_call, x([](auto& m) { m.element_bytes = 2; }),
                 "x: elements of 2 bytes, but codes of 32 bits");
  expect_refused(quantize_call, x([](auto& m) {
                   m.data = static_cast<const char*>(m.data) + 2;
                 }),
                 "x: data is not aligned to elements of 4 bytes");
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t stride : {most, most / 3, least, -most}) {
    expect_refused(quantize_call, x([&](auto& m) { m.row_stride = stride; }),
                   "exceed the memory");
    expect_refused(quantize_call, x([&](auto& m) { m.col_stride = stride; }),
                   "exceed the memory");
  }
  // Each dimension fits, their sum or product does not.
  expect_refused(quantize_call, x([](auto& m) { m.row_stride = most / 12; }),
                 "exceed the memory");
  expect_refused(quantize_call, x([](auto& m) {
                   m.rows = m.cols = std::int64_t{1} << 40;
                   m.row_stride = m.col_stride = 0;
                 }),
                 "exceed the memory");
  expect_refused(quantize_call, codes([](auto& m) { m.row_stride = 0; }),
                 "codes: elements overlap: 4 x 8 with strides 0 and 1");
  expect_refused(quantize_call, codes([](auto& m) { m.col_stride = 0; }),
                 "codes: elements overlap");
  expect_refused(quantize_call, codes([](auto& m) { m.row_stride = 7; }),
                 "codes: elements overlap");
  expect_refused(quantize_call, codes([](auto& m) { m.row_stride = -7; }),
                 "codes: elements overlap");
  expect_refused(quantize_call,
                 codes([](auto& m) { m.row_stride = 6, m.col_stride = 4; }),
                 "codes: elements overlap");
}

TEST(CAbiErrors, StridesThatOnlyLookLikeOverlapAreTaken) {
  const auto f = c_format(fp32);
  const auto x = any_data(2, 3, 1, false);
  std::vector<std::uint32_t> out(16, 7);
  const auto in = x.in();
  // (i, j) -> 3 i + 2 j: 0 2 4 / 3 5 7.
  const zeroulp_matrix to{out.data(), 2, 3, 3, 2, 4};
  ZEROULP_CALLS(zeroulp_recode(&f, &in, &f, &to, 0, nullptr, nullptr));
  EXPECT_EQ(out[3], x.view()(1, 0));
  EXPECT_EQ(out[4], x.view()(0, 2));
  EXPECT_EQ(out[1], 7u);
  // Backwards, from the last element.
  const zeroulp_matrix back{out.data() + 5, 2, 3, -3, -1, 4};
  ZEROULP_CALLS(zeroulp_recode(&f, &in, &f, &back, 0, nullptr, nullptr));
  EXPECT_EQ(out[5], x.view()(0, 0));
  EXPECT_EQ(out[0], x.view()(1, 2));
  // No elements need no memory.
  const zeroulp_const_matrix none{nullptr, 0, 3, 0, 0, 4};
  const zeroulp_matrix nowhere{nullptr, 0, 3, 0, 0, 4};
  ZEROULP_CALLS(zeroulp_recode(&f, &none, &f, &nowhere, 0, nullptr, nullptr));
}

TEST(CAbiErrors, ShapesThatDoNotFit) {
  const auto shrink = [](auto arguments::*m) {
    return [m](arguments& a) { (a.*m).cols -= 1; };
  };
  expect_refused(quantize_call, shrink(&arguments::to_codes),
                 "codes: 4 x 7, but 4 x 8 in x");
  expect_refused(quantize_call, shrink(&arguments::to_scales),
                 "scales: 4 x 1, but 4 x 2 groups");
  expect_refused(by_amax_call, shrink(&arguments::in_scales),
                 "zeroulp_quantize_by_amax: amaxes: 4 x 1, but 4 x 2 groups");
  expect_refused(by_amax_call, shrink(&arguments::to_codes), "codes: 4 x 7");
  expect_refused(by_amax_call, shrink(&arguments::to_scales), "scales: 4 x 1");
  expect_refused(by_scale_call, shrink(&arguments::in_scales),
                 "zeroulp_quantize_by_scale: scales: 4 x 1, but 4 x 2 groups");
  expect_refused(by_scale_call, shrink(&arguments::to_codes), "codes: 4 x 7");
  expect_refused(amaxes_call, shrink(&arguments::to_scales), "amaxes: 4 x 1");
  expect_refused(make_scales_call, shrink(&arguments::to_words),
                 "scales: 4 x 7, but 4 x 8 amaxes");
  expect_refused(dequantize_call, shrink(&arguments::in_scales),
                 "scales: 4 x 1");
  expect_refused(dequantize_call, shrink(&arguments::to_words), "out: 4 x 7");
  expect_refused(dequantize_to_call, shrink(&arguments::to_words),
                 "zeroulp_dequantize_to: out: 4 x 7");
  expect_refused(retile_call, shrink(&arguments::in_scales), "scales: 4 x 1");
  expect_refused(retile_call, shrink(&arguments::to_transposed),
                 "out: 8 x 3, but 8 x 4 in the transpose");
  expect_refused(retile_call, shrink(&arguments::to_out_scales),
                 "out_scales: 8 x 0");
  expect_refused(pack_call, shrink(&arguments::to_packed),
                 "packed: 4 x 11, but 4 x 12 bytes");
  expect_refused(recode_call, shrink(&arguments::to_codes), "out: 4 x 7");
  expect_refused(arithmetic_call, shrink(&arguments::in_x), "a: 4 x 7");
  expect_refused(step_call, shrink(&arguments::to_d), "d: 4 x 0, but 4 x 1");
  expect_refused(step_call, shrink(&arguments::in_c), "c: 4 x 0, but 4 x 1");
  expect_refused(gemm_call, shrink(&arguments::to_outputs),
                 "d: 4 x 3, but 4 x 4 products");
  expect_refused(exact_call, shrink(&arguments::to_doubles), "out: 4 x 3");
  expect_refused(
      layout_call, [](auto&) {}, "stored: 4 x 4, but 4 x 2 words");
  const auto other_k = [](arguments& a) { a.right.codes.cols = 7; };
  expect_refused(gemm_call, other_k, "same K");
  expect_refused(exact_call, other_k, "same K");
  expect_refused(
      gemm_call, [](arguments& a) { a.left.scales = a.in_scales; },
      "scales of A: 4 x 2, but the recipe needs 1 x 1");
}

TEST(CAbiErrors, ValuesThatAreNone) {
  for (const int value : {-1, 7, INT32_MIN, INT32_MAX}) {
    expect_refused(
        recode_call, [&](auto& a) { a.rounding = value; }, "rounding is");
    expect_refused(
        arithmetic_call, [&](auto& a) { a.operation = value; }, "operation is");
    expect_refused(
        layout_call, [&](auto& a) { a.layout = value; }, "layout is");
    expect_refused(
        pack_call, [&](auto& a) { a.packing = value; }, "packing is");
    for (auto member :
         {&::zeroulp_convention::scale, &::zeroulp_convention::element,
          &::zeroulp_convention::amax, &::zeroulp_convention::unit_scale,
          &::zeroulp_convention::bf16_amax, &::zeroulp_convention::power_of_two,
          &::zeroulp_convention::exponent, &::zeroulp_convention::bf16_scale,
          &::zeroulp_convention::unrounded_inverse,
          &::zeroulp_convention::through}) {
      expect_refused(
          quantize_call, [&](auto& a) { a.quantizer.how.*member = value; },
          "quantizer.how.");
    }
    for (auto member :
         {&zeroulp_policy::saturate_finite, &zeroulp_policy::saturate_infinite,
          &zeroulp_policy::nan_sign, &zeroulp_policy::nan_payload,
          &zeroulp_policy::scale_magnitude}) {
      expect_refused(
          recode_call, [&](auto& a) { a.policy.*member = value; }, "policy.");
      expect_refused(
          quantize_call,
          [&](auto& a) { a.quantizer.how.conversion.*member = value; },
          "policy.");
    }
    expect_refused(
        quantize_call, [&](auto& a) { a.quantizer.scale = value; },
        "quantizer.scale is");
    expect_refused(
        retile_call, [&](auto& a) { a.retiling.scale = value; },
        "retiling.scale is");
    expect_refused(
        retile_call, [&](auto& a) { a.retiling.rule = value; },
        "retiling.rule is");
    expect_refused(
        step_call, [&](auto& a) { a.path.lowering = value; },
        "path.lowering is");
    for (auto member :
         {&zeroulp_accumulator::conversion, &zeroulp_accumulator::cut,
          &zeroulp_accumulator::addend, &zeroulp_accumulator::renormalized}) {
      expect_refused(
          step_call, [&](auto& a) { a.path.accumulator.*member = value; },
          "accumulator.");
      expect_refused(
          gemm_call, [&](auto& a) { a.recipe.accumulator.*member = value; },
          "accumulator.");
    }
    expect_refused(
        gemm_call, [&](auto& a) { a.recipe.promotion = value; },
        "recipe.promotion is");
    expect_refused(
        gemm_call, [&](auto& a) { a.recipe.epilogue = value; },
        "recipe.epilogue is");
  }
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.group.cols = -1; },
      "quantizer.group: 1 x -1");
  expect_refused(
      dequantize_call, [](auto& a) { a.group.rows = -1; }, "group: -1 x 4");
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.how.amax_floor = 0x80000000; },
      "amax_floor is 80000000");
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.how.scale_floor = 0x7f800000; },
      "scale_floor is 7f800000: negative or not finite");
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.how.largest = 0x80000000; },
      "largest is 80000000: negative or not finite");
  // What a later version may name is 0.
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.how.reserved[5] = 1; },
      "quantizer.how.reserved[5] is 1: use 0");
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.reserved[0] = -1; },
      "quantizer.reserved[0] is -1");
  expect_refused(
      retile_call, [](auto& a) { a.retiling.reserved[4] = 1; },
      "retiling.reserved[4]");
  expect_refused(
      step_call, [](auto& a) { a.path.reserved[7] = 1; }, "path.reserved[7]");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.reserved[4] = 1; },
      "recipe.reserved[4]");
  expect_refused(
      retile_call, [](auto& a) { a.retiling.tile = -1; }, "retiling.tile is");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.interval = -32; }, "interval is -32");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.interval = 33; }, "recipe: ");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.splits = 0; }, "splits is 0");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.a.cols = -1; }, "recipe.a: 0 x -1");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.epilogue = 1; }, "c: 4 x 1");
}

TEST(CAbiErrors, FormatsThatAreNone) {
  const struct {
    zeroulp_format f;
    const char* text;
  } cases[] = {
      {{0, 3, 7, 0}, "1 to 11 exponent"},
      {{12, 3, 7, 0}, "1 to 11 exponent"},
      {{256 + 4, 3, 7, 1}, "1 to 11 exponent"},
      {{4, -1, 7, 1}, "0 to 52 fraction"},
      {{4, 53, 7, 1}, "0 to 52 fraction"},
      {{4, 3, 7, 5}, "specials are 0 to 4"},
      {{4, 3, 7, -1}, "specials are 0 to 4"},
      {{4, 0, 7, ZEROULP_SPECIALS_IEEE}, "NaN needs a fraction bit"},
      {{8, 1, 127, ZEROULP_SPECIALS_SCALE}, "a scale has no fraction"},
      {{1, 0, 0, ZEROULP_SPECIALS_FN}, "zero is its only number"},
      {{11, 52, 1024, 0}, "beyond FP64's"},
      {{11, 52, 1022, 0}, "beyond FP64's"},
      {{4, 3, 65536 + 7, 1}, "beyond FP64's"},
      {{4, 3, INT32_MIN, 1}, "beyond FP64's"},
  };
  for (const auto& row : cases) {
    const zeroulp_format f = row.f;
    const char* text = row.text;
    const auto set = [&](zeroulp_format arguments::*m) {
      return [m, f](arguments& a) { a.*m = f; };
    };
    expect_refused(recode_call, set(&arguments::fp32_format), text);
    expect_refused(recode_call, set(&arguments::e4m3_format), text);
    expect_refused(arithmetic_call, set(&arguments::fp32_format), text);
    expect_refused(dequantize_call, set(&arguments::e4m3_format), text);
    expect_refused(dequantize_to_call, set(&arguments::fp32_format), text);
    expect_refused(compare_call, set(&arguments::e4m3_format), text);
    expect_refused(
        quantize_call, [&](auto& a) { a.quantizer.from = f; }, text);
    expect_refused(
        quantize_call, [&](auto& a) { a.quantizer.to = f; }, text);
    expect_refused(
        retile_call, [&](auto& a) { a.retiling.from = f; }, text);
    expect_refused(
        retile_call, [&](auto& a) { a.retiling.to = f; }, text);
    expect_refused(
        step_call, [&](auto& a) { a.path.a = f; }, text);
    expect_refused(
        step_call, [&](auto& a) { a.path.accumulator.output = f; }, text);
    expect_refused(
        gemm_call, [&](auto& a) { a.recipe.output = f; }, text);
    expect_refused(
        gemm_call, [&](auto& a) { a.left.format = f; }, text);
    char name[32];
    EXPECT_EQ(zeroulp_format_name(&f, name, sizeof name),
              ZEROULP_INVALID_ARGUMENT);
  }
}

TEST(CAbiErrors, FormatsThatAnOperationDoesNotTake) {
  expect_refused(
      quantize_call, [](auto& a) { a.quantizer.from = c_format(e5m2); },
      "from fp32, bf16 or fp16");
  for (const format f : {ue8m0, fp64, format{9, 4, 255, specials::ieee}}) {
    expect_refused(
        quantize_call, [&](auto& a) { a.quantizer.to = c_format(f); },
        "quantizer.to: elements are quantized to");
    expect_refused(
        retile_call, [&](auto& a) { a.retiling.to = c_format(f); },
        "retiling.to: elements are quantized to");
  }
  expect_refused(
      step_call, [](auto& a) { a.path.a = c_format(fp64); },
      "path.a: its numbers are beyond FP32's");
  expect_refused(
      step_call,
      [](auto& a) {
        a.path.lowering = 1;
        a.path.b = c_format(bf16);
      },
      "path.lowering: ");
  expect_refused(
      gemm_call, [](auto& a) { a.left.format = c_format(fp64); },
      "a: its numbers are beyond FP32's");
  expect_refused(
      gemm_call, [](auto& a) { a.recipe.output = c_format(fp64); },
      "recipe.output has 64 bits");
  const auto accumulator = [](auto change) {
    return [change](arguments& a) { change(a.path.accumulator); };
  };
  expect_refused(step_call, accumulator([](auto& x) { x.length = 0; }),
                 "accumulator.length: 0");
  expect_refused(step_call, accumulator([](auto& x) { x.length = 32768; }),
                 "accumulator.length is 32768");
  expect_refused(step_call, accumulator([](auto& x) { x.fraction_bits = 45; }),
                 "accumulator.fraction_bits is 45");
  expect_refused(step_call,
                 accumulator([](auto& x) { x.exponent_floor = 32768; }),
                 "accumulator.exponent_floor is 32768");
  expect_refused(step_call,
                 accumulator([](auto& x) { x.stored = c_format(fp16); }),
                 "accumulator: output and stored");
  expect_refused(step_call,
                 accumulator([](auto& x) { x.stored = c_format(fp64); }),
                 "accumulator: output and stored");
  expect_refused(step_call,
                 accumulator([](auto& x) { x.output = c_format(e4m3); }),
                 "accumulator: output and stored");
  expect_refused(
      step_call,
      [](auto& a) {
        a.path.lowering = 1;
        a.path.a = c_format(bf16);
      },
      "path.lowering: ");
  expect_refused(
      step_call,
      [](auto& a) {
        a.path.lowering = 2;
        a.path.accumulator.length = 0;
        a.path.accumulator.fraction_bits = ZEROULP_UNCUT;
      },
      "path.lowering: ");
  // 32 operands are a step's; one more is not.
  expect_refused(
      step_call,
      [](auto& a) { a.in_codes.cols = 33, a.in_codes.col_stride = 0; },
      "a: 33 operands, but a step takes at most 32");
}

TEST(CAbiErrors, ElementsTooNarrowForTheirCodes) {
  expect_refused(
      gemm_call, [](auto& a) { a.to_outputs.element_bytes = 2; },
      "d: elements of 2 bytes, but codes of 32 bits");
  expect_refused(
      arithmetic_call, [](auto& a) { a.in_x.element_bytes = 2; },
      "a: elements of 2 bytes, but codes of 32 bits");
  expect_refused(
      pack_call, [](auto& a) { a.in_wide.element_bytes = 1; },
      "codes: elements of 1 bytes, but 2 to 4 are taken here");
  expect_refused(
      exact_call, [](auto& a) { a.to_doubles.element_bytes = 4; },
      "out: elements of 4 bytes, but 8 are taken here");
  const std::uint8_t one = 1;
  const std::uint16_t two = 2;
  const zeroulp_const_matrix x{&one, 1, 1, 1, 1, 1}, y{&two, 1, 1, 1, 1, 2};
  zeroulp_comparison c;
  EXPECT_EQ(zeroulp_compare(nullptr, &x, &y, &c), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(),
            "zeroulp_compare: b: elements of 2 bytes, but 1 are taken here");
}

TEST(CAbiErrors, NumbersOutOfRange) {
  // K beyond 2^31 - 1, of one element.
  expect_refused(
      gemm_call,
      [](auto& a) {
        a.left.codes.cols = std::int64_t{1} << 31;
        a.left.codes.row_stride = a.left.codes.col_stride = 0;
      },
      "a.codes: K is 2147483648");
  std::int64_t rows = -5, cols = -5;
  std::uint32_t amax = 5;
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t n : {std::int64_t{-1}, most, most - 3}) {
    EXPECT_EQ(zeroulp_layout_shape(1, n, 1, &rows, &cols),
              ZEROULP_INVALID_ARGUMENT);
    EXPECT_EQ(zeroulp_layout_shape(1, 1, n, &rows, &cols),
              ZEROULP_INVALID_ARGUMENT);
    EXPECT_EQ(zeroulp_packed_bytes(0, n, &rows), ZEROULP_INVALID_ARGUMENT);
  }
  EXPECT_EQ(zeroulp_layout_shape(4, 1, 1, &rows, &cols),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_packed_bytes(2, 1, &rows), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_delayed_amax(&amax, -1, 1, 0, 0, &amax),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_delayed_amax(&amax, 1, 1, 2, 0, &amax),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(rows, -5);
  EXPECT_EQ(cols, -5);
  EXPECT_EQ(amax, 5u);
}

TEST(CAbiErrors, CodesTooWideForTheirFormatAreNotCompared) {
  const auto f = c_format(e5m6);
  const std::uint16_t x[] = {1, 0x1234};
  const zeroulp_const_matrix m{x, 1, 2, 2, 1, 2};
  zeroulp_comparison c;
  EXPECT_EQ(zeroulp_compare(&f, &m, &m, &c), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(),
            "zeroulp_compare: a: element (0, 1) is 1234, but codes have 12 "
            "bits");
}

}  // namespace
}  // namespace zeroulp
