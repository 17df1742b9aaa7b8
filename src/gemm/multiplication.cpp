#include "src/gemm/multiplication.hpp"

#include <fmt/format.h>

#include "zeroulp/io.hpp"

namespace zeroulp {

multiplication::multiplication(const path& follows, const prepared_operand& x,
                               const prepared_operand& y)
    : p(follows), a(&x), b(&y), plan(plan_chain(p, x.cols())) {
  if (!x.is_packed() || !y.is_packed() ||
      engine::current_simd() == engine::simd::reference) {
    plan.by = chain_plan::kernel::core;
  }
}

double multiplication::work_each() const {
  const double work =
      plan.by == chain_plan::kernel::core ? core_work : product_work;
  return work * static_cast<double>(a->cols());
}

void multiplication::run_steps(const tile& t, std::ptrdiff_t first, int part,
                               std::ptrdiff_t steps, float* c) const {
  const float_mode mode(float_mode::toward_zero);
  zeroulp::run_steps({a->side(t.row, plan.min_exponent_a),
                      b->side(t.col, plan.min_exponent_b), plan.rule,
                      plan.order, first, part, steps, c, memory().scratch});
}

void multiplication::run(const tile& t, std::ptrdiff_t begin,
                         std::ptrdiff_t end, float* c) const {
  if (plan.by == chain_plan::kernel::steps) {
    return run_steps(t, begin, 0, ceil_div(end - begin, plan.rule.length), c);
  }
  const auto side_a = a->side(t.row, 0);
  const auto side_b = b->side(t.col, 0);
  const int outputs = t.rows * tile_rows;
  if (plan.by == chain_plan::kernel::sums) {
    run_sums(
        {side_a, side_b, begin, end - begin, c, nullptr, memory().scratch});
    // Every zero is +0.
    for (int i = 0; i < outputs; ++i) c[i] += 0.0f;
    return;
  }
  double* exact = memory().exact;
  std::fill_n(exact, outputs, 0.0);
  run_sums(
      {side_a, side_b, begin, end - begin, nullptr, exact, memory().scratch});
  for (int i = 0; i < outputs; ++i) c[i] = static_cast<float>(exact[i] + 0.0);
}

void check_shapes(const prepared_operand& a, const prepared_operand& b,
                  std::ptrdiff_t rows, std::ptrdiff_t cols) {
  if (a.cols() == b.cols() && rows == a.rows() && cols == b.rows()) return;
  throw input_error(
      fmt::format("gemm: A is {} x {}, B {} x {}, D {} x {}: A and B must have "
                  "the same K",
                  a.rows(), a.cols(), b.rows(), b.cols(), rows, cols));
}

}  // namespace zeroulp
