// engine::dequantize: FP32 multiplication of decoded codes; of formats that are
// not exact in FP32, the core's product.

#include "src/arrays/lines.hpp"

namespace zeroulp::engine {

void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales,
                matrix_view<std::uint32_t> out) {
  check_width(from, codes, "dequantize, codes");
  check_shape(out, codes.rows, codes.cols, "dequantize, output",
              "the codes are");
  // An empty matrix has no scales, or some that nobody reads.
  if (codes.rows == 0 || codes.cols == 0) return;
  check_shape(scales, ceil_div(codes.rows, group.height(codes.rows)),
              ceil_div(codes.cols, group.width(codes.cols)),
              "dequantize, scales", "the groups are");
  if (by_reference()) {
    return reference::dequantize(from, group, codes, scales, out);
  }
  const float_mode nearest(float_mode::nearest);
  if (runs_down(codes)) {
    codes = transposed(codes);
    group = {group.cols, group.rows};
    scales = scales.transposed();
    out = out.transposed();
  }
  const std::ptrdiff_t h = group.height(codes.rows);
  const std::ptrdiff_t w = group.width(codes.cols);
  const number_reader numbers(from, codes);
  const bool exact = has_decoding(from);
  const bool in_rows = codes.col_stride == 1 && out.col_stride == 1;
  const auto do_line = [&](std::ptrdiff_t i, std::ptrdiff_t j,
                           std::ptrdiff_t n) {
    line_buffer factors;
    line_buffer buffer;
    spread(
        j, n, w, [&](std::ptrdiff_t g) { return scales(i / h, g); },
        factors.word);
    std::uint32_t* to = in_rows ? &out(i, j) : buffer.word;
    if (exact) {
      scale_line(scaling::multiply, numbers.read(i, j, n, buffer), factors.word,
                 to, static_cast<std::size_t>(n));
    } else {
      gather(codes, i, j, n, buffer.word);
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        to[k] = dequantize_element(from, buffer.word[k], factors.word[k]);
      }
    }
    if (!in_rows) scatter(to, out, i, j, n);
  };
  for_lines(codes.rows, codes.cols, in_rows, do_line);
}

}  // namespace zeroulp::engine
