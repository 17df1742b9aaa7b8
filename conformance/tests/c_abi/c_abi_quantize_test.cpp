// The C ABI's names, quantizers, scales and packing give what C++ gives.

#include "conformance/tests/c_abi/c_abi_parts.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/model_arm.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp {
namespace {

template <class Table>
void expect_lists(std::int32_t number, const Table& rows, bool has_values) {
  std::int64_t index = 0;
  for (const auto& row : rows) {
    const char* name = zeroulp_name(number, index);
    ASSERT_NE(name, nullptr);
    EXPECT_EQ(name, std::string(row.name));
    std::int32_t value = -1;
    if (has_values) {
      ZEROULP_CALLS(zeroulp_value_from_name(number, name, &value));
      EXPECT_EQ(value, index);
    } else {
      EXPECT_EQ(zeroulp_value_from_name(number, name, &value),
                ZEROULP_INVALID_ARGUMENT);
    }
    ++index;
  }
  EXPECT_EQ(zeroulp_name(number, index), nullptr);
  EXPECT_EQ(zeroulp_name(number, -1), nullptr);
}

TEST(CAbi, NamesAreThoseOfTheTables) {
  expect_lists(ZEROULP_ROUNDINGS, named_roundings, true);
  expect_lists(ZEROULP_SCALE_KINDS, named_scale_kinds, true);
  expect_lists(ZEROULP_SCALE_LAYOUTS, named_scale_layouts, true);
  expect_lists(ZEROULP_RETILE_RULES, named_retile_rules, true);
  expect_lists(ZEROULP_FORMATS, named_formats, false);
  expect_lists(ZEROULP_POLICIES, named_policies, false);
  expect_lists(ZEROULP_CONVENTIONS, named_conventions, false);
  expect_lists(ZEROULP_RECIPES, all_recipes(), false);
  expect_lists(ZEROULP_PATHS, all_paths(), false);
  expect_lists(ZEROULP_ARMS, named_arms, false);
  expect_lists(ZEROULP_BLOCK_SCALED_PATHS, all_block_scaled_paths(), false);
  expect_lists(ZEROULP_BLOCK_CONVENTIONS, named_block_conventions, false);
  expect_lists(ZEROULP_BLOCK_RECIPES, all_block_recipes(), false);
  expect_lists(ZEROULP_SIMD_SETS, engine::named_simds, true);
  EXPECT_EQ(zeroulp_name(-1, 0), nullptr);
  EXPECT_EQ(zeroulp_name(14, 0), nullptr);
}

TEST(CAbi, FormatsHaveTheirFieldsAndTheirNames) {
  for (const auto& row : named_formats) {
    zeroulp_format f;
    ZEROULP_CALLS(zeroulp_format_from_name(row.name, &f));
    EXPECT_EQ(f.exponent_bits, row.value.exp_bits);
    EXPECT_EQ(f.fraction_bits, row.value.man_bits);
    EXPECT_EQ(f.bias, row.value.bias);
    EXPECT_EQ(f.specials, static_cast<int>(row.value.kind));
    char name[16];
    ZEROULP_CALLS(zeroulp_format_name(&f, name, sizeof name));
    EXPECT_STREQ(name, row.name);
  }
  zeroulp_format f;
  ZEROULP_CALLS(zeroulp_format_from_name("e6m9", &f));
  char name[5];
  ZEROULP_CALLS(zeroulp_format_name(&f, name, sizeof name));
  EXPECT_STREQ(name, "e6m9");
}

// Every format without a name of its own has one that says all of it.
TEST(CAbi, NamesOfFormatsSayBiasAndSpecials) {
  for (const int exp_bits : {1, 2, 4, 5, 8, 11}) {
    for (const int man_bits : {0, 1, 3, 6}) {
      for (const int bias : {-3, 0, 1, 7, 15, 127, 1023}) {
        for (const int kind : {0, 1, 2, 3}) {
          const zeroulp_format f{exp_bits, man_bits, bias, kind};
          char name[32];
          // Not of IEEE 754 with one exponent bit, nor beyond FP64.
          if (zeroulp_format_name(&f, name, sizeof name) != ZEROULP_OK) {
            EXPECT_TRUE((kind == 0 && (exp_bits == 1 || man_bits == 0)) ||
                        (exp_bits == 1 && man_bits == 0) ||
                        last_error().find("beyond FP64") != std::string::npos)
                << exp_bits << man_bits << " " << bias << " " << last_error();
            continue;
          }
          zeroulp_format again;
          ZEROULP_CALLS(zeroulp_format_from_name(name, &again));
          EXPECT_EQ(std::memcmp(&f, &again, sizeof f), 0) << name;
        }
      }
    }
  }
}

TEST(CAbi, GroupsAndConventionsHaveTheirFields) {
  zeroulp_group g{-1, -1};
  ZEROULP_CALLS(zeroulp_group_from_name("128x64", &g));
  EXPECT_EQ(g.rows, 128);
  EXPECT_EQ(g.cols, 64);
  ZEROULP_CALLS(zeroulp_group_from_name("tensor", &g));
  EXPECT_EQ(g.rows, 0);
  EXPECT_EQ(g.cols, 0);
  ::zeroulp_convention c;
  ZEROULP_CALLS(zeroulp_convention_from_name("trt_llm", &c));
  EXPECT_EQ(c.amax_floor, 0u);
  EXPECT_EQ(c.scale, ZEROULP_SCALE_RECIPROCAL_INVERSE);
  EXPECT_EQ(c.element, ZEROULP_ELEMENT_INVERSE);
  EXPECT_EQ(c.amax, ZEROULP_AMAX_SKIP_NAN);
  EXPECT_EQ(c.unit_scale, ZEROULP_UNIT_SCALE_OF_ZERO);
  EXPECT_EQ(c.bf16_amax, 1);
  EXPECT_EQ(c.power_of_two, 0);
  EXPECT_EQ(c.conversion.saturate_infinite, 1);
  EXPECT_EQ(c.conversion.nan_payload, ZEROULP_ALL_ONES);
  ZEROULP_CALLS(zeroulp_convention_from_name("transformer_engine", &c));
  EXPECT_EQ(c.unit_scale, ZEROULP_UNIT_SCALE);
  ZEROULP_CALLS(zeroulp_convention_from_name("vllm", &c));
  EXPECT_EQ(c.unit_scale, 0);
  EXPECT_EQ(c.conversion.nan_payload, ZEROULP_LOWEST);
}

TEST(CAbi, AQuantizerTakesTheConventionsKindOfScaleUnlessToldOtherwise) {
  zeroulp_quantizer q;
  const auto scale_of = [&q](const char* convention, const char* scale) {
    EXPECT_EQ(zeroulp_quantizer_from_names("bf16", "e5m2", convention, scale,
                                           "1x128", &q),
              ZEROULP_OK);
    return q.scale;
  };
  EXPECT_EQ(scale_of("vllm", nullptr), ZEROULP_SCALE_FP32);
  EXPECT_EQ(scale_of("transformer_engine", nullptr), ZEROULP_SCALE_POW2);
  EXPECT_EQ(scale_of("transformer_engine", "fp32"), ZEROULP_SCALE_FP32);
  EXPECT_EQ(scale_of("vllm", "pow2_down"), ZEROULP_SCALE_POW2_DOWN);
}

/// A quantizer in both languages, and matrices for it.
template <class X, class Code>
struct quantization {
  quantizer q;
  zeroulp_quantizer c{};
  table<X> x{37, 300};
  table<Code> codes{37, 300}, expected_codes{37, 300};
  table<std::uint32_t> scales, amaxes, expected_scales, expected_amaxes;

  quantization(const quantizer& given, const char* names[5])
      : q(given),
        scales(ceil_div(37, q.group.height(37)),
               ceil_div(300, q.group.width(300))),
        amaxes(scales),
        expected_scales(scales),
        expected_amaxes(scales) {
    EXPECT_EQ(zeroulp_quantizer_from_names(names[0], names[1], names[2],
                                           names[3], names[4], &c),
              ZEROULP_OK);
    const auto data = any_data(37, 300, 5);
    for (std::size_t i = 0; i < x.data.size(); ++i) {
      x.data[i] = static_cast<X>(recode(fp32, data.data[i], q.from));
    }
    for (std::ptrdiff_t j = 0; j < 300; ++j) x(3, j) = 0;
  }

  void expect_the_cores() {
    const auto in = x.in();
    const auto to_codes = codes.out();
    const auto to_scales = scales.out();
    const auto to_amaxes = amaxes.out();
    const auto view = std::as_const(x).view();
    quantize(q, view, expected_codes.view(), expected_scales.view());
    for_each_group(q.group, 37, 300,
                   [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                       std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                     expected_amaxes(gi, gj) =
                         group_amax(q, view.block(i, j, m, n));
                   });
    ZEROULP_CALLS(zeroulp_quantize(&c, &in, &to_codes, &to_scales));
    EXPECT_EQ(codes, expected_codes);
    EXPECT_EQ(scales, expected_scales);
    ZEROULP_CALLS(zeroulp_group_amaxes(&c, &in, &to_amaxes));
    EXPECT_EQ(amaxes, expected_amaxes);

    // Of the past: half as large.
    for (auto& amax : amaxes.data) {
      if (amax > 0x800000 && amax < 0x7f800000) amax -= 0x800000;
    }
    auto inverses = amaxes;
    for_each_group(q.group, 37, 300,
                   [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                       std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                     expected_scales(gi, gj) = quantize_group(
                         q, view.block(i, j, m, n), amaxes(gi, gj),
                         expected_codes.view().block(i, j, m, n));
                   });
    const auto past = amaxes.in();
    ZEROULP_CALLS(
        zeroulp_quantize_by_amax(&c, &in, &past, &to_codes, &to_scales));
    EXPECT_EQ(codes, expected_codes);
    EXPECT_EQ(scales, expected_scales);
    // By scales that are given: those, and by 1 a cast.
    for (const bool cast : {false, true}) {
      if (cast) std::fill(scales.data.begin(), scales.data.end(), fp32_one);
      quantize_by_scale(q, view, std::as_const(scales).view(),
                        expected_codes.view());
      const auto by = scales.in();
      ZEROULP_CALLS(zeroulp_quantize_by_scale(&c, &in, &by, &to_codes));
      EXPECT_EQ(codes, expected_codes);
    }
    const auto to_inverses = inverses.out();
    ZEROULP_CALLS(zeroulp_make_scales(&c, &past, &to_scales, &to_inverses));
    EXPECT_EQ(scales, expected_scales);
    for (std::size_t i = 0; i < inverses.data.size(); ++i) {
      EXPECT_EQ(inverses.data[i], make_scale(q, amaxes.data[i]).inverse);
    }
    ZEROULP_CALLS(zeroulp_make_scales(&c, &past, &to_scales, nullptr));
    EXPECT_EQ(scales, expected_scales);
  }
};

TEST(CAbi, QuantizingEqualsTheCoreByEveryConvention) {
  for (const auto& how : named_conventions) {
    for (const auto& kind : named_scale_kinds) {
      const char* wide[] = {"fp32", "e4m3", how.name, kind.name, "1x128"};
      quantization<std::uint32_t, std::uint8_t>(
          {fp32, e4m3, how.value, kind.value, {1, 128}}, wide)
          .expect_the_cores();
      const char* half[] = {"bf16", "e5m6", how.name, kind.name, "16x100"};
      quantization<std::uint16_t, std::uint16_t>(
          {bf16, e5m6, how.value, kind.value, {16, 100}}, half)
          .expect_the_cores();
      const char* whole[] = {"fp16", "e5m2", how.name, kind.name, "tensor"};
      quantization<std::uint32_t, std::uint32_t>(
          {fp16, e5m2, how.value, kind.value, {0, 0}}, whole)
          .expect_the_cores();
    }
  }
}

TEST(CAbi, AQuantizersFieldsMayBeChanged) {
  auto how = zeroulp_convention;
  how.element = element_rule::inverse;
  how.amax_floor = floor_1e_4;
  const char* names[] = {"fp32", "e4m3", "zeroulp", "fp32", "1x128"};
  quantization<std::uint32_t, std::uint8_t> both(
      {fp32, {3, 4, 5, specials::finite}, how, scale_kind::float32, {2, 50}},
      names);
  both.c.to = {3, 4, 5, ZEROULP_SPECIALS_FINITE};
  both.c.how.element = ZEROULP_ELEMENT_INVERSE;
  both.c.how.amax_floor = floor_1e_4;
  both.c.group = {2, 50};
  both.expect_the_cores();
}

TEST(CAbi, DequantizingEqualsTheCore) {
  const auto f = c_format(e5m2);
  const zeroulp_group g{4, 10};
  const auto codes = any_codes<std::uint8_t>(e5m2, 18, 33, 1);
  const auto scales = any_scales(5, 4, 2);
  table<std::uint32_t> expected(18, 33), out(18, 33);
  dequantize(e5m2, {4, 10}, codes.view(), scales.view(), expected.view());
  const auto from = codes.in();
  const auto by = scales.in();
  const auto to = out.out();
  ZEROULP_CALLS(zeroulp_dequantize(&f, &g, &from, &by, &to));
  EXPECT_EQ(out, expected);
}

TEST(CAbi, DequantizingToAFormatRoundsTheProductOnce) {
  const auto f = c_format(e5m2), b = c_format(bf16);
  const zeroulp_group g{4, 10};
  const auto codes = any_codes<std::uint8_t>(e5m2, 18, 33, 1);
  const auto scales = any_scales(5, 4, 2);
  table<std::uint16_t> expected(18, 33), out(18, 33);
  for (std::ptrdiff_t i = 0; i < 18; ++i) {
    for (std::ptrdiff_t j = 0; j < 33; ++j) {
      expected.view()(i, j) = static_cast<std::uint16_t>(
          encode(bf16,
                 product(decode(e5m2, codes.view()(i, j)),
                         decode(fp32, scales.view()(i / 4, j / 10))),
                 {}, cuda_nosat));
    }
  }
  const auto from = codes.in();
  const auto by = scales.in();
  const auto to = out.out();
  ZEROULP_CALLS(zeroulp_dequantize_to(&f, &g, &from, &by, &b, &to));
  EXPECT_EQ(out, expected);
}

TEST(CAbi, RetilingEqualsTheCore) {
  for (const auto& kind : named_scale_kinds) {
    for (const auto& rule : named_retile_rules) {
      for (const std::int32_t tile : {0, 16}) {
        const retiling r{e4m3, e5m2, kind.value, tile, rule.value};
        const zeroulp_retiling c{c_format(e4m3),
                                 c_format(e5m2),
                                 static_cast<int>(kind.value),
                                 tile,
                                 static_cast<int>(rule.value),
                                 {}};
        const auto codes = any_codes<std::uint8_t>(e4m3, 21, 40, 1);
        const auto scales = any_scales(21, tile == 0 ? 1 : 3, 2,
                                       kind.value != scale_kind::float32);
        table<std::uint8_t> expected(40, 21), out(40, 21);
        table<std::uint32_t> expected_scales(40, tile == 0 ? 1 : 2);
        auto out_scales = expected_scales;
        retile(r, codes.view(), scales.view(), expected.view(),
               expected_scales.view());
        const auto from = codes.in();
        const auto by = scales.in();
        const auto to = out.out();
        const auto to_scales = out_scales.out();
        ZEROULP_CALLS(zeroulp_retile(&c, &from, &by, &to, &to_scales));
        EXPECT_EQ(out, expected);
        EXPECT_EQ(out_scales, expected_scales);
      }
    }
  }
}

TEST(CAbi, PackingEqualsTheCoreAndUnpacks) {
  for (const bool words : {false, true}) {
    const auto packing = words ? ZEROULP_PACKING_WORDS : ZEROULP_PACKING_BYTES;
    const auto codes = any_codes<std::uint16_t>(e5m6, 5, 43, 1);
    std::int64_t bytes = 0;
    ZEROULP_CALLS(zeroulp_packed_bytes(packing, 43, &bytes));
    EXPECT_EQ(bytes, words ? packed_word_bytes(43) : packed_bytes(43));
    table<std::uint8_t> expected(5, bytes), packed(5, bytes, 0xa5);
    words ? pack_words(codes.view(), expected.view())
          : pack_bytes(codes.view(), expected.view());
    const auto from = codes.in();
    const auto to = packed.out();
    ZEROULP_CALLS(zeroulp_pack(packing, &from, &to));
    EXPECT_EQ(packed, expected);
    table<std::uint16_t> back(5, 43);
    const auto in = packed.in();
    const auto out = back.out();
    ZEROULP_CALLS(zeroulp_unpack(packing, &in, &out));
    EXPECT_EQ(back, codes);
  }
}

TEST(CAbi, ScaleLayoutsAreTheCores) {
  for (const auto& row : named_scale_layouts) {
    const auto layout = static_cast<std::int32_t>(row.value);
    const auto scales = any_scales(7, 9, 1, true);
    const auto shape = stored_shape(row.value, 7, 9);
    std::int64_t rows = 0, cols = 0;
    ZEROULP_CALLS(zeroulp_layout_shape(layout, 7, 9, &rows, &cols));
    ASSERT_EQ(rows, shape.rows);
    ASSERT_EQ(cols, shape.cols);
    table<std::uint32_t> expected(rows, cols), stored(rows, cols, 5);
    lay_out_scales(row.value, scales.view(), expected.view());
    const auto from = scales.in();
    const auto to = stored.out();
    ZEROULP_CALLS(zeroulp_lay_out_scales(layout, &from, &to));
    EXPECT_EQ(stored, expected);
    table<std::uint32_t> back(7, 9);
    const auto in = stored.in();
    const auto out = back.out();
    ZEROULP_CALLS(zeroulp_read_scales(layout, &in, &out));
    EXPECT_EQ(back, scales);
  }
}

TEST(CAbi, DelayedAmaxIsTheCores) {
  const auto history = any_scales(1, 9, 1);
  for (const auto rule :
       {history_rule::maximum, history_rule::moving_average}) {
    for (std::ptrdiff_t count = 0; count <= 9; ++count) {
      std::uint32_t amax = 0;
      ZEROULP_CALLS(zeroulp_delayed_amax(
          count == 0 ? nullptr : history.data.data(), count, 0x40000000,
          static_cast<int>(rule), 0x3f666666, &amax));
      EXPECT_EQ(amax, delayed_amax(history.data.data(), count, 0x40000000, rule,
                                   0x3f666666));
    }
  }
}

}  // namespace
}  // namespace zeroulp
