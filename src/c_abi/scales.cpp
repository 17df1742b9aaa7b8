// The C ABI: scales from amaxes, and how matrices of scales lie in memory.

#include "src/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {
namespace {

scale_layout layout_of(std::int32_t layout) {
  return enum_of(layout, scale_layout::packed_ue8m0, "layout");
}

void need_layout(scale_layout layout, const const_code_view& scales,
                 const const_code_view& stored) {
  const auto shape = stored_shape(layout, scales.rows, scales.cols);
  need_shape(stored, "stored", shape.rows, shape.cols, "words of this layout");
}

void run_make_scales(const zeroulp_quantizer* given,
                     const zeroulp_const_matrix* amaxes,
                     const zeroulp_matrix* scales,
                     const zeroulp_matrix* inverses) {
  const quantizer q = quantizer_of(given);
  const auto from = view_of(amaxes, "amaxes");
  const auto to = view_of(scales, "scales");
  const auto in = words_of(from, "amaxes");
  const auto out = words_of(to, "scales");
  need_shape(to, "scales", from.rows, from.cols, "amaxes");
  matrix_view<std::uint32_t> inverse;
  if (inverses != nullptr) {
    const auto v = view_of(inverses, "inverses");
    need_shape(v, "inverses", from.rows, from.cols, "amaxes");
    inverse = words_of(v, "inverses");
  }
  in_order(in, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const auto s = make_scale(q, in(i, j));
    out(i, j) = s.scale;
    if (inverses != nullptr) inverse(i, j) = s.inverse;
  });
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_make_scales(const zeroulp_quantizer* quantizer,
                                   const zeroulp_const_matrix* amaxes,
                                   const zeroulp_matrix* scales,
                                   const zeroulp_matrix* inverses) {
  return guarded(__func__,
                 [&] { run_make_scales(quantizer, amaxes, scales, inverses); });
}

zeroulp_status zeroulp_delayed_amax(const std::uint32_t* history,
                                    std::int64_t count, std::uint32_t current,
                                    std::int32_t rule, std::uint32_t decay,
                                    std::uint32_t* amax) {
  return guarded(__func__, [&] {
    const auto how =
        enum_of(rule, zeroulp::history_rule::moving_average, "rule");
    if (count < 0) refuse("count is {}", count);
    if (how == zeroulp::history_rule::moving_average &&
        decay > zeroulp::fp32_one) {
      refuse("decay is not a number from 0 to 1");
    }
    if (count > 0) needed(history, "history");
    needed(amax, "amax") =
        zeroulp::delayed_amax(history, count, current, how, decay);
  });
}

zeroulp_status zeroulp_layout_shape(std::int32_t layout, std::int64_t mn,
                                    std::int64_t k, std::int64_t* rows,
                                    std::int64_t* cols) {
  return guarded(__func__, [&] {
    const auto how = layout_of(layout);
    if (mn < 0 || k < 0 || mn > INT64_MAX - 4 || k > INT64_MAX - 4) {
      refuse("mn x k is {} x {}", mn, k);
    }
    needed(rows, "rows");
    needed(cols, "cols");
    const auto shape = stored_shape(how, mn, k);
    *rows = shape.rows;
    *cols = shape.cols;
  });
}

zeroulp_status zeroulp_lay_out_scales(std::int32_t layout,
                                      const zeroulp_const_matrix* scales,
                                      const zeroulp_matrix* stored) {
  return guarded(__func__, [&] {
    const auto how = layout_of(layout);
    const auto from = view_of(scales, "scales");
    const auto to = view_of(stored, "stored");
    const auto in = words_of(from, "scales");
    const auto out = words_of(to, "stored");
    need_layout(how, from, to);
    if (to.is_empty()) return;
    zeroulp::lay_out_scales(how, in, out);
  });
}

zeroulp_status zeroulp_read_scales(std::int32_t layout,
                                   const zeroulp_const_matrix* stored,
                                   const zeroulp_matrix* scales) {
  return guarded(__func__, [&] {
    const auto how = layout_of(layout);
    const auto from = view_of(stored, "stored");
    const auto to = view_of(scales, "scales");
    const auto in = words_of(from, "stored");
    const auto out = words_of(to, "scales");
    need_layout(how, to, from);
    in_order(out, [&](std::ptrdiff_t i, std::ptrdiff_t k) {
      out(i, k) = zeroulp::scale_at(how, in, i, k);
    });
  });
}
