#include "tools/study/error/products.hpp"

#include "src/gemm/multiplication.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study {
namespace {

double scale_of(const scaled_operand& x, std::ptrdiff_t i, std::ptrdiff_t k) {
  const auto bits = scales_of_row(x.scales, x.group, i).at(k);
  return static_cast<double>(bit_cast<float>(bits));
}

/// Elements of K from `k` on that one scale of each side covers.
std::ptrdiff_t covered(const scaled_operand& a, const scaled_operand& b,
                       std::ptrdiff_t k) {
  std::ptrdiff_t end = a.elements->cols();
  for (const auto* x : {&a, &b}) {
    const std::ptrdiff_t size = x->scales.data == nullptr ? 0 : x->group.k;
    if (size > 0) end = std::min(end, (k / size + 1) * size);
  }
  return end - k;
}

}  // namespace

void reference_products(const scaled_operand& a, const scaled_operand& b,
                        matrix_view<double> out) {
  const prepared_operand& x = *a.elements;
  const prepared_operand& y = *b.elements;
  check_shapes(x, y, out.rows, out.cols);
  for (const auto* one : {&x, &y}) {
    if (!one->is_packed()) {
      throw input_error("reference products: elements beyond FP32");
    }
    for (std::ptrdiff_t i = 0; i < one->rows(); ++i) {
      if (one->is_special(i)) {
        throw input_error("reference products: an element is NaN or Inf");
      }
    }
  }
  const double work = product_work * static_cast<double>(x.cols());
  for_each_tile(out.rows, out.cols, work, [&](const tile& t) {
    tile_memory& m = memory();
    for_each_output(t,
                    [&](int i, int j, int) { out(t.row + i, t.col + j) = 0; });
    for (std::ptrdiff_t k = 0; k < x.cols();) {
      const std::ptrdiff_t count = covered(a, b, k);
      std::fill_n(m.exact, t.rows * tile_rows, 0.0);
      run_sums({x.side(t.row, 0), y.side(t.col, 0), k, count, nullptr, m.exact,
                m.scratch});
      for_each_output(t, [&](int i, int j, int at) {
        out(t.row + i, t.col + j) += m.exact[at] * (scale_of(a, t.row + i, k) *
                                                    scale_of(b, t.col + j, k));
      });
      k += count;
    }
  });
}

}  // namespace zeroulp::study
