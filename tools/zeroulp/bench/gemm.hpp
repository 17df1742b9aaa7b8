// Defines `gemm_problem`: operands of a benchmark, the compiled product, and
// the core's for one output.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GEMM_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GEMM_HPP_

#include <fmt/format.h>

#include "tools/zeroulp/bench/bench.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::program {

/// M, N and K.
struct gemm_shape {
  std::ptrdiff_t m, n, k;
  double gmacs() const {
    return 1e-9 * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
  std::string text() const { return fmt::format("{}x{}x{}", m, n, k); }
};

template <class T>
matrix_view<const T> view_of(const std::vector<T>& v, std::ptrdiff_t m,
                             std::ptrdiff_t n) {
  return {v.data(), m, n};
}

/// The codes of one side.
template <class Code>
struct gemm_side {
  format f;
  std::ptrdiff_t rows;
  std::vector<Code> codes;

  gemm_side(format of, std::uint64_t seed, std::ptrdiff_t mn, std::ptrdiff_t k)
      : f(of), rows(mn), codes(normal_codes<Code>(of, seed, mn * k)) {}
  auto view() const {
    return view_of(codes, rows,
                   static_cast<std::ptrdiff_t>(codes.size()) / rows);
  }
};

/// The scales of one side of a recipe.
struct side_scales {
  granularity per;
  std::ptrdiff_t rows, cols;
  std::vector<std::uint32_t> words;

  side_scales(granularity g, std::uint64_t seed, std::ptrdiff_t mn,
              std::ptrdiff_t k)
      : per(g),
        rows(g.mn > 0 ? ceil_div(mn, g.mn) : 1),
        cols(g.k > 0 ? ceil_div(k, g.k) : 1),
        words(random_scales(seed, rows * cols)) {}
  auto view() const { return view_of(words, rows, cols); }
  /// Those of one row of the operand.
  auto row(std::ptrdiff_t i) const {
    return view().block(per.mn > 0 ? i / per.mn : 0, 0, 1, cols);
  }
};

/// A problem, by a path without scales or by a recipe with them.
template <class Code>
struct gemm_problem {
  gemm_shape shape;
  path unit;  ///< for a recipe: of its accumulator
  std::shared_ptr<const gemm_side<Code>> a, b;
  std::shared_ptr<const recipe> by;  ///< null: the path alone
  std::shared_ptr<const side_scales> a_scales, b_scales;

  /// One output by the core.
  std::uint32_t core(std::ptrdiff_t i, std::ptrdiff_t j) const {
    const gemm_operand<Code> x{
        a->f, a->view().block(i, 0, 1, shape.k),
        by ? a_scales->row(i) : decltype(a_scales->row(i)){}};
    const gemm_operand<Code> y{
        b->f, b->view().block(j, 0, 1, shape.k),
        by ? b_scales->row(j) : decltype(b_scales->row(j)){}};
    if (!by) {
      return static_cast<std::uint32_t>(
          chain(unit, x.row(0), y.row(0), 0, shape.k, 0));
    }
    std::uint32_t d = 0;
    gemm(*by, x, y, {}, matrix_view<std::uint32_t>(&d, 1, 1));
    return d;
  }

  void multiply(const prepared_operand& x, const prepared_operand& y,
                std::vector<std::uint32_t>& out) const {
    const matrix_view<std::uint32_t> d(out.data(), shape.m, shape.n);
    if (by) {
      engine::gemm(*by, x, a_scales->view(), y, b_scales->view(), {}, d);
    } else {
      engine::multiply(unit, x, y, {}, d);
    }
  }

  bench_job job(const std::string& name) const {
    bench_job j;
    j.name = name;
    j.unit = "GMAC/s";
    j.work = shape.gmacs();
    j.size = shape.text();
    return j;
  }

  /// Has `j` held against the core at random places of `out`.
  void sample(bench_job& j, std::vector<std::uint32_t>& out) const {
    for (int i = 0; i < sample_size; ++i) {
      const auto at = sampled_place(shape.m * shape.n, i);
      const auto row = at / shape.n;
      const auto col = at % shape.n;
      j.sample(out[static_cast<std::size_t>(at)], core(row, col),
               fmt::format("({}, {})", row, col));
    }
  }
};

/// By a path, without scales: random-normal codes.
template <class Code>
gemm_problem<Code> make_problem(const path& unit, gemm_shape s) {
  return {s,
          unit,
          std::make_shared<gemm_side<Code>>(unit.a, 11, s.m, s.k),
          std::make_shared<gemm_side<Code>>(unit.b, 12, s.n, s.k),
          nullptr,
          nullptr,
          nullptr};
}

/// The same by a recipe, with random scales.
template <class Code>
gemm_problem<Code> with_recipe(gemm_problem<Code> p, const char* name) {
  const auto r = std::make_shared<recipe>(parse_recipe(name).value);
  p.a_scales = std::make_shared<side_scales>(r->a, 13, p.shape.m, p.shape.k);
  p.b_scales = std::make_shared<side_scales>(r->b, 14, p.shape.n, p.shape.k);
  p.by = r;
  return p;
}

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GEMM_HPP_
