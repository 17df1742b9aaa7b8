// engine::combine and dispatch, and the checks of the training path.

#include <fmt/format.h>

#include <vector>

#include "src/arrays/lines.hpp"
#include "src/training/kernels.hpp"
#include "src/training/shapes.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::engine {

void check_input(format f, const const_code_view& v, std::ptrdiff_t rows,
                 std::ptrdiff_t cols, const char* what) {
  check_width(f, v, what);
  check_shape(v, rows, cols, what, "what it goes with is");
}

void check_values(format f, const code_view& v, std::ptrdiff_t rows,
                  std::ptrdiff_t cols, const char* what) {
  if (v.data != nullptr) check_input(f, v, rows, cols, what);
}

void check_cache(const quantizer& q, const const_quantized_view& v,
                 std::ptrdiff_t rows, std::ptrdiff_t cols, const char* what) {
  check_input(q.to, v.codes, rows, cols, what);
  // An empty matrix has no scales, or some that nobody reads.
  if (rows == 0 || cols == 0) return;
  check_shape(v.scales, ceil_div(rows, q.group.height(rows)),
              ceil_div(cols, q.group.width(cols)), what, "the groups are");
}

void check_quantized(const quantizer& q, const quantized_view& v,
                     std::ptrdiff_t rows, std::ptrdiff_t cols,
                     const char* what) {
  if (v.codes.data != nullptr) {
    check_cache(q, {v.codes, v.scales}, rows, cols, what);
  }
}

void check_rows(const matrix_view<const std::int32_t>& rows,
                std::ptrdiff_t count, const char* what) {
  if (rows.cols == 0) return;
  for (std::ptrdiff_t i = 0; i < rows.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < rows.cols; ++j) {
      if (rows(i, j) >= -1 && rows(i, j) < count) continue;
      throw input_error(fmt::format("{} ({}, {}): there is no row {} of {}",
                                    what, i, j, rows(i, j), count));
    }
  }
}

void combine(combine_rule rule, const_code_view x,
             matrix_view<const std::int32_t> slots,
             matrix_view<const std::uint32_t> weights, code_view out) {
  check_width(bf16, x, "combine, x");
  check_width(bf16, out, "combine, output");
  check_shape(out, slots.rows, x.cols, "combine, output", "the sums are");
  check_rows(slots, x.rows, "combine, slot");
  const bool weighted = weights.data != nullptr;
  if (weighted) {
    check_shape(weights, slots.rows, slots.cols, "combine, weights",
                "the slots are");
  }
  if (rule == combine_rule::bf16_pair && (weighted || slots.cols > 2)) {
    throw input_error("combine: bf16_pair takes two slots, without weights");
  }
  const number_reader read_x(bf16, x);
  const code_writer write(bf16, rounding::nearest_even, cuda_nosat, out);
  const bool in_rows = x.col_stride == 1 && out.col_stride == 1;
  for_lines(out.rows, out.cols, in_rows,
            [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
              line_buffer sum;
              line_buffer buffer;
              std::fill_n(sum.word, n, 0u);
              bool any = false;
              for (std::ptrdiff_t s = 0; s < slots.cols; ++s) {
                if (slots(i, s) < 0) continue;
                contribute_line(rule, any,
                                read_x.read(slots(i, s), j, n, buffer),
                                weighted ? &weights(i, s) : nullptr, sum.word,
                                static_cast<std::size_t>(n));
                any = true;
              }
              write.write(sum.word, nullptr, i, j, n);
            });
}

void dispatch(const quantizer& q, const_code_view x,
              matrix_view<const std::int32_t> rows, code_view codes,
              matrix_view<std::uint32_t> scales) {
  check_shape(rows.rows, rows.cols, rows.rows, 1, "dispatch, rows",
              "what is taken is");
  check_rows(rows, x.rows, "dispatch, rows");
  if (q.group.rows != 1) {
    throw input_error("dispatch: groups of more rows than one");
  }
  check_input(q.from, x, x.rows, x.cols, "dispatch, x");
  check_cache(q, {codes, scales}, rows.rows, x.cols, "dispatch");
  if (rows.rows == 0 || x.cols == 0) return;
  // Gathered, so that the rows are quantized together.
  std::vector<std::uint32_t> gathered(
      static_cast<std::size_t>(rows.rows * x.cols));
  for (std::ptrdiff_t r = 0; r < rows.rows; ++r) {
    if (rows(r, 0) < 0) continue;
    gather(x, rows(r, 0), 0, x.cols, gathered.data() + r * x.cols);
  }
  quantize(q,
           matrix_view<const std::uint32_t>(gathered.data(), rows.rows, x.cols),
           codes, scales);
  const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(x.cols));
  for (std::ptrdiff_t r = 0; r < rows.rows; ++r) {
    if (rows(r, 0) >= 0) continue;
    scatter(zeros.data(), codes, r, 0, x.cols);
    for (std::ptrdiff_t j = 0; j < scales.cols; ++j) scales(r, j) = fp32_one;
  }
}

}  // namespace zeroulp::engine
