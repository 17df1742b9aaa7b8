#include "src/gemm/multiplication.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

/// The exact product of two rows, rounded once to FP64.
double slow_product(const path& p, const prepared_row& a, const prepared_row& b,
                    std::ptrdiff_t k) {
  const int count = static_cast<int>(k);
  const auto found = detail::find_specials(a, b, count, unpacked{});
  if (found.any()) {
    const bool nan = found.nan || (found.plus && found.minus);
    return to_double(nan ? unpacked{0, 0, kind::nan, false}
                         : unpacked{0, 0, kind::infinite, found.minus});
  }
  const auto sum = detail::exact_sum(p, a, b, count, unpacked{});
  return bit_cast<double>(encode(fp64, sum, {}, ocp_nonsaturate));
}

}  // namespace

namespace engine {

void exact_products(const prepared_operand& a, const prepared_operand& b,
                    matrix_view<double> out) {
  if (a.cols() != b.cols() || out.rows != a.rows() || out.cols != b.rows()) {
    throw input_error("exact products: A and B must have the same K");
  }
  const path p{a.element(), b.element(), exact_f32};
  const std::ptrdiff_t k = a.cols();
  const bool fast = a.is_packed() && b.is_packed() &&
                    current_simd() != simd::reference &&
                    is_exact_in_double(p.a, p.b, k);
  const double work =
      (fast ? product_work : core_work) * static_cast<double>(k);
  for_each_tile(out.rows, out.cols, work, [&](const tile& t) {
    double* sums = memory().exact;
    if (fast) {
      std::fill_n(sums, t.rows * tile_rows, 0.0);
      run_sums({a.side(t.row, 0), b.side(t.col, 0), 0, k, nullptr, sums,
                memory().scratch});
    }
    for_each_output(t, [&](int i, int j, int at) {
      const std::ptrdiff_t row = t.row + i;
      const std::ptrdiff_t col = t.col + j;
      const bool plain = fast && !a.is_special(row) && !b.is_special(col);
      // Every zero is +0.
      out(row, col) =
          plain ? sums[at] + 0.0 : slow_product(p, {&a, row}, {&b, col}, k);
    });
  });
}

}  // namespace engine
}  // namespace zeroulp
