// Defines the product of two operands on tiles, one a thread at a time: what
// the promoted GEMM and the chain of an instruction share. Internal.

#ifndef ZEROULP_SRC_GEMM_MULTIPLICATION_HPP_
#define ZEROULP_SRC_GEMM_MULTIPLICATION_HPP_

#include <algorithm>
#include <cstddef>
#include <exception>

#include "src/base/float_mode.hpp"
#include "src/base/threads.hpp"
#include "src/gemm/chain_plan.hpp"
#include "src/gemm/tile.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp {

/// Outputs [row, row + rows) x [col, col + cols).
struct tile {
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  int rows;
  int cols;
};

/// Calls `use` with each tile of an m x n matrix, on all threads; what it
/// throws reaches the caller. An output takes it `each` nanoseconds.
template <class Use>
void for_each_tile(std::ptrdiff_t m, std::ptrdiff_t n, double each, Use use) {
  std::exception_ptr thrown;
  const std::ptrdiff_t wide = ceil_div(n, tile_rows);
  const std::ptrdiff_t tiles = ceil_div(m, tile_rows) * wide;
  [[maybe_unused]] const double work =
      tiles > 1 ? each * static_cast<double>(m) * static_cast<double>(n) : 0;
#pragma omp parallel for schedule(static) num_threads(threads_for(work))
  for (std::ptrdiff_t t = 0; t < tiles; ++t) {
    const float_mode mode(float_mode::nearest);
    const std::ptrdiff_t row = t / wide * tile_rows;
    const std::ptrdiff_t col = t % wide * tile_rows;
    try {
      use(tile{row, col,
               static_cast<int>(std::min<std::ptrdiff_t>(m - row, tile_rows)),
               static_cast<int>(std::min<std::ptrdiff_t>(n - col, tile_rows))});
    } catch (...) {
#pragma omp critical(zeroulp_thrown)
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

template <class Use>
void for_each_output(const tile& t, Use use) {
  for (int i = 0; i < t.rows; ++i) {
    for (int j = 0; j < t.cols; ++j) use(i, j, i * tile_rows + j);
  }
}

/// What a thread computes a tile in.
struct tile_memory {
  alignas(64) float partial[tile_rows * tile_rows];
  alignas(64) float second[tile_rows * tile_rows];
  alignas(64) float sum[tile_rows * tile_rows];
  alignas(64) float total[tile_rows * tile_rows];
  alignas(64) double exact[tile_rows * tile_rows];
  alignas(64) float scale_a[tile_rows];
  alignas(64) float scale_b[tile_rows];
  alignas(64) std::uint32_t codes[tile_rows * tile_rows];
  alignas(64) std::byte scratch[kernel_scratch];
};

/// That of the calling thread. Throws std::bad_alloc when first asked for.
tile_memory& memory();

inline void clear(const tile& t, float* x) {
  std::fill_n(x, t.rows * tile_rows, 0.0f);
}

/// A row of a prepared operand, element by element.
struct prepared_row {
  const prepared_operand* operand;
  std::ptrdiff_t i;
  unpacked operator[](std::ptrdiff_t k) const { return operand->value(i, k); }
};

/// Two operands whose products follow a path, and the kernels for it.
struct multiplication {
  path p;
  const prepared_operand* a;
  const prepared_operand* b;
  chain_plan plan;

  multiplication(const path& follows, const prepared_operand& x,
                 const prepared_operand& y);

  /// Returns true iff only the core can compute the output.
  bool needs_core(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return plan.by == chain_plan::kernel::core || a->is_special(i) ||
           b->is_special(j);
  }

  /// How long an output takes, roughly, in nanoseconds.
  double work_each() const;

  std::uint32_t core_chain(std::ptrdiff_t i, std::ptrdiff_t j,
                           std::ptrdiff_t begin, std::ptrdiff_t end,
                           std::uint64_t c) const {
    return static_cast<std::uint32_t>(
        chain(p, prepared_row{a, i}, prepared_row{b, j}, begin, end, c));
  }

  /// Number `part` of the order and those that follow, from element `first` of
  /// K, from c and into it.
  void run_steps(const tile& t, std::ptrdiff_t first, int part,
                 std::ptrdiff_t steps, float* c) const;

  /// The chain of steps over [begin, end) of K, from c and into it; not of a
  /// lowered path. Exact sums take c for 0.
  void run(const tile& t, std::ptrdiff_t begin, std::ptrdiff_t end,
           float* c) const;
};

/// Throws input_error unless D = A B^T fits.
void check_shapes(const prepared_operand& a, const prepared_operand& b,
                  std::ptrdiff_t rows, std::ptrdiff_t cols);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_GEMM_MULTIPLICATION_HPP_
