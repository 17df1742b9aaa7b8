// Defines what the benchmarks of array operations share: matrices, their usual
// shape, places in them.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_ARRAYS_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_ARRAYS_HPP_

#include <fmt/format.h>

#include "tools/zeroulp/bench/bench.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::program {

/// Rows and columns of a matrix.
struct shape {
  std::ptrdiff_t m, n;
  std::ptrdiff_t count() const { return m * n; }
};

inline constexpr std::ptrdiff_t tile = 128;
inline constexpr int sampled_groups = 16;

inline shape usual_shape(const bench_context& how) {
  return how.sized(shape{4096, 2048}, shape{256, 128});
}

/// What a scalar loop does: whole 128 x 128 blocks.
inline shape part_of(shape s) { return {128, s.n < 1024 ? s.n : 1024}; }

/// A row-major matrix.
template <class T>
struct dense {
  shape is;
  std::vector<T> data;

  explicit dense(shape s) : dense(s, std::vector<T>(as_size(s.count()))) {}
  dense(shape s, std::vector<T> d) : is(s), data(std::move(d)) {}
  matrix_view<T> view() { return {data.data(), is.m, is.n}; }
  matrix_view<const T> view() const { return {data.data(), is.m, is.n}; }

  static std::size_t as_size(std::ptrdiff_t n) {
    return static_cast<std::size_t>(n);
  }
};
template <class T>
using dense_ptr = std::shared_ptr<dense<T>>;

template <class T>
dense_ptr<T> zeros(shape s) {
  return std::make_shared<dense<T>>(s);
}

template <class T>
dense_ptr<T> normals(format f, shape s) {
  return std::make_shared<dense<T>>(s, normal_codes<T>(f, 31, s.count()));
}

inline std::string place(std::ptrdiff_t i, std::ptrdiff_t j) {
  return fmt::format("({}, {})", i, j);
}

inline bench_job make_job(const std::string& name, shape s) {
  bench_job j;
  j.name = name;
  j.unit = "Gelement/s";
  j.work = 1e-9 * static_cast<double>(s.count());
  j.size = fmt::format("{}x{}", s.m, s.n);
  return j;
}

/// The groups of a matrix of shape s.
inline shape groups_of(group_shape g, shape s) {
  return {ceil_div(s.m, g.height(s.m)), ceil_div(s.n, g.width(s.n))};
}

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_ARRAYS_HPP_
