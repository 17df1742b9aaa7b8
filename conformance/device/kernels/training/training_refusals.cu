// Requests that AdamW, combine and dispatch must refuse before they launch a
// kernel; and invalid row numbers, which only the kernel sees.

#include "conformance/device/support/guarded_scales.hpp"
#include "conformance/device/support/refusals.hpp"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::conformance::device {
namespace {

using cuda::row_numbers;
using weight_words = cuda::basic_matrix<const std::uint32_t>;

row_numbers numbers(std::ptrdiff_t m, std::ptrdiff_t n) {
  return {reinterpret_cast<const std::int32_t*>(nowhere()), m, n};
}

verdict refused_adamw(const effort&) {
  verdict v;
  const adamw_step good{{}, bf16, bf16, rounding::nearest_even, 0, 0};
  const auto no = [&](const char* what, const adamw_step& step, const_matrix g,
                      const matrix& m, const matrix& second, const matrix& w,
                      const matrix& copy = {}) {
    must_refuse(what, v, [&] { cuda::adamw(step, g, m, second, w, copy); });
  };
  const auto x = codes(100, 200);
  const matrix null{nullptr, 100, 200};
  const matrix odd{nowhere() + 2, 100, 200};
  auto step = good;
  step.gradient = fp16;
  no("g of fp16", step, x, x, x, x);
  step = good, step.moment = e4m3;
  no("moments of e4m3", step, x, x, x, x);
  step = good, step.mode = rounding::toward_zero;
  no("toward zero", step, x, x, x, x);
  step = good, step.mode = static_cast<rounding>(7);
  no("no rounding", step, x, x, x, x);
  no("null g", good, null, x, x, x);
  no("null m", good, x, null, x, x);
  no("null v", good, x, x, null, x);
  no("null w", good, x, x, x, null);
  no("misaligned g", good, {nowhere() + 1, 100, 200}, x, x, x);
  no("misaligned w", good, x, x, x, odd);
  no("a misaligned copy", good, x, x, x, x, {nowhere() + 1, 100, 200});
  step = good, step.moment = fp32;
  no("misaligned m", step, x, odd, x, x);
  no("misaligned v", step, x, x, odd, x);
  no("negative rows", good, codes(-1, 200), x, x, x);
  no("negative columns", good, codes(100, -1), x, x, x);
  no("a short stride", good, x, {nowhere(), 100, 200, 199}, x, x);
  no("another shape of v", good, x, x, codes(200, 100), x);
  no("another shape of w", good, x, x, x, codes(100, 199));
  no("another shape of the copy", good, x, x, x, x, codes(99, 200));
  no("too large", good, codes(huge, huge), x, x, x);
  const auto long_row = codes(1, huge);
  no("too many elements", good, long_row, long_row, long_row, long_row);
  return v;
}

verdict refused_combine(const effort&) {
  verdict v;
  const auto no = [&](const char* what, combine_rule rule, const_matrix x,
                      const row_numbers& slots, const weight_words& weights,
                      const matrix& out) {
    must_refuse(what, v, [&] { cuda::combine(rule, x, slots, weights, out); });
  };
  constexpr auto once = combine_rule::fp32_slots;
  constexpr auto pair = combine_rule::bf16_pair;
  const auto x = codes(50, 200);
  const auto out = codes(100, 200);
  const auto slots = numbers(100, 8);
  const weight_words weights{words(), 100, 8};
  no("no rule", static_cast<combine_rule>(3), x, slots, {}, out);
  no("a pair of eight", pair, x, slots, {}, out);
  no("a weighted pair", pair, x, numbers(100, 2), {words(), 100, 2}, out);
  no("null x", once, {nullptr, 50, 200}, slots, {}, out);
  no("null slots", once, x, {nullptr, 100, 8}, {}, out);
  no("null out", once, x, slots, {}, {nullptr, 100, 200});
  no("misaligned x", once, {nowhere() + 1, 50, 200}, slots, {}, out);
  no("misaligned slots", once, x,
     {reinterpret_cast<const std::int32_t*>(nowhere() + 2), 100, 8}, {}, out);
  no("misaligned weights", once, x, slots,
     {reinterpret_cast<const std::uint32_t*>(nowhere() + 2), 100, 8}, out);
  no("misaligned out", once, x, slots, {}, {nowhere() + 1, 100, 200});
  no("negative rows", once, codes(-1, 200), slots, {}, out);
  no("negative slots", once, x, numbers(100, -1), {}, out);
  no("a short stride", once, {nowhere(), 50, 200, 199}, slots, {}, out);
  no("a short stride of slots", once, x, {slots.data, 100, 8, 7}, {}, out);
  no("fewer weights", once, x, slots, {words(), 100, 7}, out);
  no("other rows", once, x, slots, weights, codes(99, 200));
  no("other columns", once, x, slots, weights, codes(100, 201));
  no("too large", once, codes(50, 2), numbers(huge, 8), {}, codes(huge, 2));
  return v;
}

verdict refused_dispatch(const effort&) {
  verdict v;
  const quantizer good{
      bf16, e4m3, zeroulp_convention, scale_kind::float32, {1, 128}};
  const auto no = [&](const char* what, const quantizer& q, const_matrix x,
                      const row_numbers& rows, const quantized& y) {
    must_refuse(what, v, [&] { cuda::dispatch(q, x, rows, y); });
  };
  const auto x = codes(50, 200);
  const auto rows = numbers(100, 1);
  const quantized y{codes(100, 200), scales_of(2)};
  auto q = good;
  q.from = fp32;
  no("x of fp32", q, x, rows, y);
  q = good, q.to = bf16;
  no("codes of bf16", q, x, rows, y);
  q = good, q.group = {128, 128};
  no("groups of 128x128", q, x, rows, y);
  q = good, q.group = {1, 0};
  no("groups of a row", q, x, rows, {codes(100, 200), scales_of(1)});
  q = good, q.scale = static_cast<scale_kind>(5);
  no("no kind", q, x, rows, y);
  q = good, q.how.element = static_cast<element_rule>(5);
  no("no convention", q, x, rows, y);
  no("null x", good, {nullptr, 50, 200}, rows, y);
  no("null rows", good, x, {nullptr, 100, 1}, y);
  no("nothing to write", good, x, rows, {});
  no("null scales", good, x, rows, {codes(100, 200), {}});
  no("misaligned x", good, {nowhere() + 1, 50, 200}, rows, y);
  no("misaligned rows", good, x,
     {reinterpret_cast<const std::int32_t*>(nowhere() + 2), 100, 1}, y);
  no("two columns of rows", good, x, numbers(100, 2), y);
  no("negative rows", good, x, numbers(-1, 1), y);
  no("a short stride", good, {nowhere(), 50, 200, 199}, rows, y);
  no("rows of x", good, x, rows, {codes(50, 200), scales_of(2)});
  no("a short stride of scales", good, x, rows,
     {codes(100, 200), scales_of(1)});
  no("ue8m0 for any scale", good, x, rows,
     {codes(100, 200), scales_of(100, scale_layout::packed_ue8m0)});
  no("too many rows", good, codes(50, 2), numbers(huge, 1),
     {codes(huge, 2), scales_of(1)});
  return v;
}

/// Two rows of ones, and row numbers, some of which name no row.
struct strange_numbers {
  static constexpr std::ptrdiff_t rows = 2, count = 9, cols = 200;
  static constexpr std::uint32_t number[count] = {
      0, ~0u, 2, ~1u, 1, 0x7fffffff, 0x80000000, 3, 0};
  guarded_matrix x{rows, cols, 2};
  guarded_matrix numbers{count, 1, 4, {0, 1}};

  strange_numbers() {
    word_matrix ones(rows, cols), all(count, 1);
    ones.words.assign(ones.words.size(), 0x3f80);
    all.words.assign(number, number + count);
    x.upload(ones.view());
    numbers.upload(all.view());
  }
  row_numbers view() const {
    return {reinterpret_cast<const std::int32_t*>(numbers.words()), count, 1,
            numbers.stride()};
  }
};

verdict strange_slots(const effort&) {
  verdict v;
  const strange_numbers given;
  guarded_matrix out(given.count, given.cols, 2, {0, 8});
  cuda::combine(combine_rule::fp32_slots, given.x.view(), given.view(), {},
                out.view());
  finish_kernel();
  word_matrix sums(given.count, given.cols), right(given.count, given.cols);
  out.download(sums.view());
  for (std::ptrdiff_t i = 0; i < given.count; ++i) {
    const std::uint32_t n = given.number[i];
    for (std::ptrdiff_t j = 0; j < given.cols; ++j) {
      right.view()(i, j) = n < given.rows ? 0x3f80 : n == ~0u ? 0 : 0x7fff;
    }
  }
  compare_codes("sum", sums.view(), right.view(), v);
  return v;
}

verdict strange_rows(const effort&) {
  verdict v;
  const strange_numbers given;
  const quantizer q{bf16, e4m3, zeroulp_convention, scale_kind::pow2, {1, 128}};
  guarded_matrix out(given.count, given.cols, 1, {0, 8});
  guarded_scales out_scales(scale_layout::row_major, given.count, 2);
  cuda::dispatch(q, given.x.view(), given.view(),
                 {out.view(), out_scales.view()});
  finish_kernel();
  word_matrix codes(given.count, given.cols), scales(given.count, 2);
  out.download(codes.view());
  out_scales.download(scales.view());
  const std::uint32_t one = fp32_one;
  const auto s = make_scale(q, one);
  const auto code = static_cast<std::uint32_t>(quantize_element(q, s, one));
  word_matrix right_codes(given.count, given.cols), right(given.count, 2);
  for (std::ptrdiff_t i = 0; i < given.count; ++i) {
    const std::uint32_t n = given.number[i];
    const bool is_row = n < given.rows;
    for (std::ptrdiff_t j = 0; j < given.cols; ++j) {
      right_codes.view()(i, j) = is_row ? code : 0;
    }
    for (std::ptrdiff_t g = 0; g < 2; ++g) {
      right.view()(i, g) = is_row ? s.scale : n == ~0u ? one : fp32_nan;
    }
  }
  compare_codes("code", codes.view(), right_codes.view(), v);
  compare_codes("scale", scales.view(), right.view(), v);
  return v;
}

}  // namespace

check_list training_refusal_checks() {
  return {
      device_check("kernel.adamw.refusals", "S6", "definition", refused_adamw),
      device_check("kernel.combine.refusals", "S9", "definition",
                   refused_combine),
      device_check("kernel.dispatch.refusals", "S11", "definition",
                   refused_dispatch),
      device_check("kernel.combine.strange_slots", "S10", "definition",
                   strange_slots),
      device_check("kernel.dispatch.strange_rows", "S11", "definition",
                   strange_rows)};
}

}  // namespace zeroulp::conformance::device
