// The chain of one instruction over K, and exact products.

#include <fmt/format.h>

#include <algorithm>

#include "src/gemm/multiplication.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

/// D = the chain of steps from C.
struct instruction_chain {
  multiplication product;
  matrix_view<const std::uint32_t> c;
  matrix_view<std::uint32_t> d;

  std::uint32_t addend(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const auto bits = low_bits(product.p.acc.stored.bits());
    return c.data == nullptr ? 0 : c(i, j) & static_cast<std::uint32_t>(bits);
  }

  /// Returns true iff a kernel cannot start from `x`, or not end right.
  bool is_outside(float x) const {
    if (product.plan.by == chain_plan::kernel::exact_sums) return x != 0;
    const std::uint32_t exponent = bit_cast<std::uint32_t>(x) >> 23 & 255;
    const step_rule& rule = product.plan.rule;
    if (product.plan.by != chain_plan::kernel::steps || rule.wide) {
      return exponent == 255;
    }
    return x != 0 && (exponent < narrow_least_exponent + 127 ||
                      exponent >= static_cast<std::uint32_t>(
                                      103 + 127 + rule.fraction_bits));
  }

  /// The two FP16 instructions of an FP8 one, then the sum with c.
  void run_lowered(const tile& t, float* x) const {
    tile_memory& m = memory();
    const bool half = product.plan.rule.half;
    for (std::ptrdiff_t k = 0; k < product.a->cols(); k += 32) {
      clear(t, m.partial);
      if (product.p.lowering == lowering::hmma_chained) {
        product.run_steps(t, k, 0, 2, m.partial);
      } else {
        clear(t, m.second);
        product.run_steps(t, k, 0, 1, m.partial);
        product.run_steps(t, k, 1, 1, m.second);
        add_tile({t.rows, t.cols, half, m.second, m.partial});
      }
      add_tile({t.rows, t.cols, half, m.partial, x});
    }
  }

  void compute(const tile& t) const {
    tile_memory& m = memory();
    const format f = product.p.acc.stored;
    const bool kernel = product.plan.by != chain_plan::kernel::core;
    if (kernel) {
      for_each_output(t, [&](int i, int j, int at) {
        m.sum[at] = to_float(decode(f, addend(t.row + i, t.col + j)));
      });
      product.p.lowering == lowering::direct
          ? product.run(t, 0, product.a->cols(), m.sum)
          : run_lowered(t, m.sum);
    }
    for_each_output(t, [&](int i, int j, int at) {
      const std::ptrdiff_t row = t.row + i;
      const std::ptrdiff_t col = t.col + j;
      const std::uint32_t from = addend(row, col);
      if (!kernel || product.needs_core(row, col) ||
          is_outside(to_float(decode(f, from)))) {
        d(row, col) = product.core_chain(row, col, 0, product.a->cols(), from);
      } else if (f == fp32 && m.sum[at] == m.sum[at]) {
        d(row, col) = bit_cast<std::uint32_t>(m.sum[at]);
      } else {
        d(row, col) = static_cast<std::uint32_t>(
            encode(f, decode(m.sum[at]), {}, cuda_nosat));
      }
    });
  }
};

}  // namespace

namespace engine {

void multiply(const path& p, const prepared_operand& a,
              const prepared_operand& b, matrix_view<const std::uint32_t> c,
              matrix_view<std::uint32_t> d) {
  check_shapes(a, b, d.rows, d.cols);
  if (c.data != nullptr && (c.rows != d.rows || c.cols != d.cols)) {
    throw input_error("multiply: C must have the shape of D");
  }
  if (!(a.element() == p.a) || !(b.element() == p.b)) {
    throw input_error(
        fmt::format("multiply: operands of {} and {}, but the "
                    "path takes {} and {}",
                    name_of(a.element()), name_of(b.element()), name_of(p.a),
                    name_of(p.b)));
  }
  const instruction_chain all{{p, a, b}, c, d};
  for_each_tile(d.rows, d.cols, all.product.work_each(),
                [&](const tile& t) { all.compute(t); });
}

}  // namespace engine
}  // namespace zeroulp
