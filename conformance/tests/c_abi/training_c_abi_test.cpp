// The C ABI's training path gives what C++ gives, and refuses what does not fit
// before it writes anything.

#include <functional>
#include <tuple>

#include "conformance/tests/c_abi/c_abi_parts.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp {
namespace {

zeroulp_quantizer c_quantizer(const char* from, const char* to) {
  zeroulp_quantizer q;
  EXPECT_EQ(
      zeroulp_quantizer_from_names(from, to, "zeroulp", nullptr, "1x128", &q),
      ZEROULP_OK);
  return q;
}

quantizer cpp_quantizer(format from, format to) {
  return {from, to, zeroulp_convention, scale_kind::float32, {1, 128}};
}

template <class T>
table<T> codes_of(format f, const table<std::uint32_t>& x) {
  table<T> codes(x.rows, x.cols);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    codes.data[i] = static_cast<T>(recode(fp32, x.data[i], f));
  }
  return codes;
}

constexpr std::ptrdiff_t m = 5;
constexpr std::ptrdiff_t n = 200;

/// Codes and scales for m x n elements in groups of 1 x 128.
struct quantized_table {
  table<std::uint8_t> codes{m, n, 0xa5};
  table<std::uint32_t> scales{m, 2, 0xa5a5a5a5};

  zeroulp_quantized out() { return {codes.out(), scales.out()}; }
  zeroulp_const_quantized in() const { return {codes.in(), scales.in()}; }
  quantized_matrix<std::uint8_t> view() {
    return {codes.view(), scales.view()};
  }
  quantized_matrix<const std::uint8_t, const std::uint32_t> view() const {
    return {codes.view(), scales.view()};
  }
  friend bool operator==(const quantized_table&,
                         const quantized_table&) = default;
};

/// Valid arguments of every function of the training path, and what they gave.
struct training_arguments {
  table<std::uint32_t> x = any_data(m, n, 1, false);
  table<std::uint16_t> g = codes_of<std::uint16_t>(bf16, x);
  table<std::uint16_t> u = codes_of<std::uint16_t>(bf16, any_data(m, n, 2));
  table<std::uint16_t> dh = codes_of<std::uint16_t>(bf16, any_data(m, n, 3));
  table<std::uint16_t> weights =
      codes_of<std::uint16_t>(bf16, any_data(1, n, 4));
  quantized_table g_cache, u_cache, h_out, dg_out, du_out;
  table<std::uint16_t> h{m, n, 0xa5a5}, dg{h}, du{h}, y{h}, copy{h}, sums{m, n};
  table<std::uint32_t> rstd{m, 1, 0xa5a5a5a5}, w = x, root{m, n};
  table<std::uint16_t> moment_m = g, moment_v{m, n, 0x3c00};
  table<std::int32_t> slots{m, 3, 2};
  table<std::uint32_t> slot_weights{m, 3, 0x3f000000};
  table<std::int32_t> rows{m, 1, 1};

  zeroulp_swiglu layer{c_quantizer("bf16", "e4m3"),
                       c_quantizer("bf16", "e5m2")};
  zeroulp_rms_layer rms{c_format(bf16), c_format(bf16), 0x358637bd,
                        c_quantizer("bf16", "e4m3")};
  zeroulp_adamw_settings settings{1e-3, 0.9, 0.95, 1e-8, 0.1, 3};
  zeroulp_adamw_step step{
      {}, c_format(bf16), c_format(bf16), ZEROULP_STOCHASTIC};
  zeroulp_format from = c_format(bf16);
  std::int32_t function = ZEROULP_RSQRT, rule = ZEROULP_COMBINE_FP32_SLOTS;

  zeroulp_const_matrix in_x = x.in(), in_g = g.in(), in_u = u.in(),
                       in_dh = dh.in(), in_weights = weights.in(),
                       in_slots = slots.in(), in_rows = rows.in(),
                       in_slot_weights = slot_weights.in();
  zeroulp_matrix to_h = h.out(), to_dg = dg.out(), to_du = du.out(),
                 to_y = y.out(), to_rstd = rstd.out(), to_w = w.out(),
                 to_m = moment_m.out(), to_v = moment_v.out(),
                 to_copy = copy.out(), to_sums = sums.out(),
                 to_root = root.out(), to_codes = h_out.codes.out(),
                 to_scales = h_out.scales.out();
  zeroulp_quantized to_h_out = h_out.out(), to_g_cache = g_cache.out(),
                    to_u_cache = u_cache.out(), to_dg_out = dg_out.out(),
                    to_du_out = du_out.out();
  zeroulp_const_quantized in_g_cache = g_cache.in(), in_u_cache = u_cache.in();

  training_arguments() {
    slots(1, 1) = rows(2, 0) = -1;
    quantize(cpp_quantizer(bf16, e4m3), std::as_const(g).view(),
             g_cache.codes.view(), g_cache.scales.view());
    quantize(cpp_quantizer(bf16, e4m3), std::as_const(u).view(),
             u_cache.codes.view(), u_cache.scales.view());
    EXPECT_EQ(zeroulp_make_adamw_factors(&settings, &step.factors), ZEROULP_OK);
  }
  training_arguments(const training_arguments&) = delete;

  auto everything() const {
    return std::tuple(g_cache, u_cache, h_out, dg_out, du_out, h, dg, du, y,
                      copy, sums, rstd, w, root, moment_m, moment_v);
  }
};

using call = std::function<zeroulp_status(training_arguments&)>;

const call apply_call = [](auto& a) {
  return zeroulp_apply(a.function, &a.in_x, &a.to_root);
};
const call forward_call = [](auto& a) {
  return zeroulp_swiglu_forward(&a.layer, &a.in_g, &a.in_u, &a.to_h,
                                &a.to_h_out, &a.to_g_cache, &a.to_u_cache);
};
const call backward_call = [](auto& a) {
  return zeroulp_swiglu_backward(&a.layer, &a.from, &a.in_dh, &a.in_g_cache,
                                 &a.in_u_cache, &a.to_h, &a.to_dg, &a.to_du,
                                 &a.to_dg_out, &a.to_du_out);
};
const call rms_call = [](auto& a) {
  return zeroulp_rms_norm(&a.rms, &a.in_g, &a.in_weights, &a.to_y, &a.to_rstd,
                          &a.to_h_out);
};
const call adamw_call = [](auto& a) {
  return zeroulp_adamw(&a.step, 7, 11, &a.in_g, &a.to_m, &a.to_v, &a.to_w,
                       &a.to_copy);
};
const call combine_call = [](auto& a) {
  return zeroulp_combine(a.rule, &a.in_g, &a.in_slots, &a.in_slot_weights,
                         &a.to_sums);
};
const call dispatch_call = [](auto& a) {
  return zeroulp_dispatch(&a.layer.cache, &a.in_g, &a.in_rows, &a.to_codes,
                          &a.to_scales);
};

TEST(CAbiTraining, SwigluEqualsTheCore) {
  training_arguments a, want;
  const swiglu_layer layer{cpp_quantizer(bf16, e4m3),
                           cpp_quantizer(bf16, e5m2)};
  swiglu_forward(layer, std::as_const(want.g).view(),
                 std::as_const(want.u).view(), want.h.view(), want.h_out.view(),
                 want.g_cache.view(), want.u_cache.view());
  ZEROULP_CALLS(forward_call(a));
  EXPECT_EQ(a.everything(), want.everything());
  swiglu_backward(layer, bf16, std::as_const(want.dh).view(),
                  std::as_const(want.g_cache).view(),
                  std::as_const(want.u_cache).view(), want.h.view(),
                  want.dg.view(), want.du.view(), want.dg_out.view(),
                  want.du_out.view());
  ZEROULP_CALLS(backward_call(a));
  EXPECT_EQ(a.everything(), want.everything());
  // Everything but one output may be left out.
  training_arguments b;
  ZEROULP_CALLS(zeroulp_swiglu_backward(
      &b.layer, &b.from, &b.in_dh, &b.in_g_cache, &b.in_u_cache, nullptr,
      nullptr, nullptr, nullptr, &b.to_du_out));
  EXPECT_EQ(b.du_out, want.du_out);
  EXPECT_EQ(b.dg_out, quantized_table());
}

TEST(CAbiTraining, RmsNormAdamwAndFunctionsEqualTheCore) {
  training_arguments a, want;
  rms_norm(rms_layer{bf16, bf16, 0x358637bd, cpp_quantizer(bf16, e4m3)},
           std::as_const(want.g).view(), std::as_const(want.weights).view(),
           want.y.view(), want.rstd.view(), want.h_out.view());
  ZEROULP_CALLS(rms_call(a));
  adamw({make_adamw_factors({1e-3, 0.9, 0.95, 1e-8, 0.1, 3}), bf16, bf16,
         rounding::stochastic, 7, 11},
        std::as_const(want.g).view(), want.moment_m.view(),
        want.moment_v.view(), want.w.view(), want.copy.view());
  ZEROULP_CALLS(adamw_call(a));
  for (std::size_t i = 0; i < want.root.data.size(); ++i) {
    want.root.data[i] = rsqrt<core_fp32>({want.x.data[i]}).value;
  }
  ZEROULP_CALLS(apply_call(a));
  EXPECT_EQ(a.everything(), want.everything());
}

TEST(CAbiTraining, CombineAndDispatchEqualTheCore) {
  training_arguments a, want;
  combine(combine_rule::fp32_slots, std::as_const(want.g).view(),
          std::as_const(want.slots).view(),
          std::as_const(want.slot_weights).view(), want.sums.view());
  ZEROULP_CALLS(combine_call(a));
  dispatch(cpp_quantizer(bf16, e4m3), std::as_const(want.g).view(),
           std::as_const(want.rows).view(), want.h_out.codes.view(),
           want.h_out.scales.view());
  ZEROULP_CALLS(dispatch_call(a));
  EXPECT_EQ(a.everything(), want.everything());
  combine(combine_rule::bf16_hops, std::as_const(want.g).view(),
          std::as_const(want.slots).view(), {}, want.sums.view());
  ZEROULP_CALLS(zeroulp_combine(ZEROULP_COMBINE_BF16_HOPS, &a.in_g, &a.in_slots,
                                nullptr, &a.to_sums));
  EXPECT_EQ(a.sums, want.sums);
}

template <class Change>
void expect_refused(const call& run, Change change, const std::string& text) {
  training_arguments a;
  const auto before = a.everything();
  change(a);
  EXPECT_EQ(run(a), ZEROULP_INVALID_ARGUMENT) << text;
  EXPECT_NE(last_error().find(text), std::string::npos)
      << "want " << text << "\ngot " << last_error();
  EXPECT_EQ(a.everything(), before) << text;
}

TEST(CAbiTraining, ShapesThatDoNotFitAreRefused) {
  const auto shrink = [](auto training_arguments::*which) {
    return [which](training_arguments& a) { (a.*which).cols -= 1; };
  };
  const auto shrink_scales = [](auto training_arguments::*which) {
    return [which](training_arguments& a) { (a.*which).scales.cols -= 1; };
  };
  using a = training_arguments;
  expect_refused(apply_call, shrink(&a::to_root),
                 "zeroulp_apply: out: 5 x 199");
  expect_refused(forward_call, shrink(&a::in_u), "u: 5 x 199");
  expect_refused(forward_call, shrink(&a::to_h), "h: 5 x 199");
  expect_refused(forward_call, shrink_scales(&a::to_h_out),
                 "h_out: 5 x 1, but 5 x 2 groups");
  expect_refused(forward_call, shrink_scales(&a::to_g_cache), "g_cache: 5 x 1");
  expect_refused(forward_call, shrink_scales(&a::to_u_cache), "u_cache: 5 x 1");
  expect_refused(backward_call, shrink_scales(&a::in_g_cache),
                 "g_cache: 5 x 1");
  expect_refused(backward_call, shrink_scales(&a::in_u_cache),
                 "u_cache: 5 x 1");
  expect_refused(backward_call, shrink_scales(&a::to_dg_out), "dg_out: 5 x 1");
  expect_refused(backward_call, shrink_scales(&a::to_du_out), "du_out: 5 x 1");
  expect_refused(backward_call, shrink(&a::to_h), "h: 5 x 199");
  expect_refused(backward_call, shrink(&a::to_dg), "dg: 5 x 199");
  expect_refused(backward_call, shrink(&a::to_du), "du: 5 x 199");
  expect_refused(rms_call, shrink(&a::in_weights), "w: 1 x 199, but 1 x 200");
  expect_refused(rms_call, shrink(&a::to_y), "y: 5 x 199");
  expect_refused(rms_call, shrink(&a::to_rstd), "rstd: 5 x 0, but 5 x 1");
  expect_refused(adamw_call, shrink(&a::to_m), "m: 5 x 199");
  expect_refused(adamw_call, shrink(&a::to_v), "v: 5 x 199");
  expect_refused(adamw_call, shrink(&a::to_w), "w: 5 x 199");
  expect_refused(adamw_call, shrink(&a::to_copy), "copy: 5 x 199");
  expect_refused(combine_call, shrink(&a::in_slot_weights),
                 "weights: 5 x 2, but 5 x 3 slots");
  expect_refused(combine_call, shrink(&a::to_sums), "out: 5 x 199");
  expect_refused(dispatch_call, shrink(&a::to_codes), "codes: 5 x 199");
  expect_refused(dispatch_call, shrink(&a::to_scales), "scales: 5 x 1");
  expect_refused(
      dispatch_call, [](auto& x) { x.in_rows.cols = 0; }, "rows");
}

TEST(CAbiTraining, ValuesThatAreNoneAreRefused) {
  expect_refused(
      apply_call, [](auto& a) { a.function = 3; }, "function is 3");
  expect_refused(
      combine_call, [](auto& a) { a.rule = 3; }, "rule is 3");
  expect_refused(
      combine_call, [](auto& a) { a.rule = ZEROULP_COMBINE_BF16_PAIR; },
      "bf16_pair takes two slots, without weights");
  expect_refused(
      combine_call, [](auto& a) { a.slots(0, 2) = 5; },
      "slot (0, 2): there is no row 5 of 5");
  expect_refused(
      dispatch_call, [](auto& a) { a.rows(4, 0) = -2; },
      "rows (4, 0): there is no row -2 of 5");
  expect_refused(
      dispatch_call, [](auto& a) { a.layer.cache.group.rows = 2; }, "dispatch");
  expect_refused(
      forward_call, [](auto& a) { a.layer.out.scale = 9; },
      "quantizer.scale is 9");
  expect_refused(
      backward_call, [](auto& a) { a.from = c_format(e4m3); },
      "from: fp32, bf16 or fp16 is taken");
  expect_refused(
      rms_call, [](auto& a) { a.rms.weight = c_format(e4m3); },
      "layer.weight: fp32, bf16 or fp16");
  expect_refused(
      adamw_call, [](auto& a) { a.step.rounding = 7; }, "rounding is 7");
  expect_refused(
      adamw_call, [](auto& a) { a.step.moment = c_format(fp64); },
      "step.moment: its numbers are beyond FP32's");
  expect_refused(
      adamw_call, [](auto& a) { a.to_m.element_bytes = 1; },
      "m: elements of 1 bytes");
  expect_refused(
      forward_call, [](auto& a) { a.to_h.row_stride = 0; },
      "h: elements overlap");
  zeroulp_adamw_factors f{};
  const zeroulp_adamw_settings s{1e-3, 0.9, 0.95, 1e-8, 0.1, 0};
  EXPECT_EQ(zeroulp_make_adamw_factors(&s, &f), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(),
            "zeroulp_make_adamw_factors: settings.step is 0: use 1 and up");
  EXPECT_EQ(f.step, 0u);
}

TEST(CAbiTraining, MissingArgumentsAreRefused) {
  training_arguments a;
  const auto refused = [](zeroulp_status s, const char* text) {
    EXPECT_EQ(s, ZEROULP_INVALID_ARGUMENT) << text;
    EXPECT_NE(last_error().find(text), std::string::npos) << last_error();
  };
  refused(zeroulp_apply(0, nullptr, &a.to_root), "x is NULL");
  refused(zeroulp_apply(0, &a.in_x, nullptr), "out is NULL");
  refused(zeroulp_swiglu_forward(nullptr, &a.in_g, &a.in_u, nullptr, nullptr,
                                 nullptr, nullptr),
          "layer is NULL");
  refused(zeroulp_swiglu_forward(&a.layer, &a.in_g, nullptr, nullptr, nullptr,
                                 nullptr, nullptr),
          "u is NULL");
  refused(zeroulp_swiglu_backward(&a.layer, &a.from, &a.in_dh, nullptr,
                                  &a.in_u_cache, nullptr, nullptr, nullptr,
                                  nullptr, nullptr),
          "g_cache is NULL");
  refused(zeroulp_rms_norm(&a.rms, &a.in_g, nullptr, nullptr, nullptr, nullptr),
          "w is NULL");
  refused(
      zeroulp_adamw(nullptr, 0, 0, &a.in_g, &a.to_m, &a.to_v, &a.to_w, nullptr),
      "step is NULL");
  refused(
      zeroulp_adamw(&a.step, 0, 0, &a.in_g, &a.to_m, &a.to_v, nullptr, nullptr),
      "w is NULL");
  refused(zeroulp_combine(0, &a.in_g, nullptr, nullptr, &a.to_sums),
          "slots is NULL");
  refused(
      zeroulp_dispatch(nullptr, &a.in_g, &a.in_rows, &a.to_codes, &a.to_scales),
      "quantizer is NULL");
  refused(zeroulp_make_adamw_factors(nullptr, nullptr), "settings is NULL");
}

}  // namespace
}  // namespace zeroulp
