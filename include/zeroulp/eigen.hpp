// Defines quantization and GEMM on Eigen matrices of any storage order:
//
//   auto x = quantize(X, e4m3, {1, 128});        X: float, m x k
//   auto w = quantize(W, e4m3, {128, 128});      W: float, n x k
//   MatrixXf d = gemm(x, w, recipe);             m x n, FP32 or BF16 values
//
// Errors: input_error for shapes and scales that do not fit the recipe.

#ifndef ZEROULP_EIGEN_HPP_
#define ZEROULP_EIGEN_HPP_

// g++ takes an older standard unless it is told: hundreds of errors below.
#if __cplusplus <= 201703L
#error "zeroulp needs C++20: compile with -std=c++20"
#endif

#include <Eigen/Core>
#include <optional>

#include "zeroulp/arrays.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/retile.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::eigen {

template <class T>
using row_major =
    Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A quantized matrix: codes m x n, one FP32 scale (bits) for each group.
struct quantized {
  format element;
  group_shape group;
  row_major<std::uint32_t> codes;
  row_major<std::uint32_t> scales;

  /// How many rows and columns one scale covers, as a recipe counts them.
  granularity covers() const { return {group.rows, group.cols}; }
};

/// The elements of a plain matrix or a Map or Ref with inner stride.
template <class Derived>
matrix_view<const typename Derived::Scalar> view_of(
    const Eigen::DenseBase<Derived>& m) {
  const auto& x = m.derived();
  return {x.data(), x.rows(), x.cols(), x.rowStride(), x.colStride()};
}
template <class T>
matrix_view<T> view_of(row_major<T>& m) {
  return {m.data(), m.rows(), m.cols()};
}

/// Quantizes floats online: one amax for each group. Scales have the
/// convention's kind unless `scale` names another.
template <class Derived>
quantized quantize(const Eigen::MatrixBase<Derived>& x, format to,
                   group_shape group,
                   const convention& how = zeroulp_convention,
                   std::optional<scale_kind> scale = {}) {
  static_assert(std::is_same_v<typename Derived::Scalar, float>,
                "zeroulp quantizes float: cast the matrix first");
  if (!is_quantizable(to)) {
    throw input_error("quantize: a format with a sign and at most 32 bits");
  }
  if (group.rows < 0 || group.cols < 0) {
    throw input_error("quantize: a group of negative size");
  }
  const row_major<std::uint32_t> bits =
      x.unaryExpr([](float v) { return bit_cast<std::uint32_t>(v); });
  quantized q{
      to, group, row_major<std::uint32_t>(x.rows(), x.cols()),
      row_major<std::uint32_t>(ceil_div(x.rows(), group.height(x.rows())),
                               ceil_div(x.cols(), group.width(x.cols())))};
  const auto own = how.power_of_two ? scale_kind::pow2 : scale_kind::float32;
  engine::quantize(quantizer{fp32, to, how, scale.value_or(own), group},
                   view_of(bits), view_of(q.codes), view_of(q.scales));
  return q;
}

/// Codes times scales, each product rounded to FP32.
inline row_major<float> dequantize(const quantized& q) {
  row_major<std::uint32_t> bits(q.codes.rows(), q.codes.cols());
  engine::dequantize(q.element, q.group, view_of(q.codes), view_of(q.scales),
                     view_of(bits));
  return bits.unaryExpr([](std::uint32_t b) { return bit_cast<float>(b); });
}

/// The transpose of `q`, which has 1 x N tiles, with tiles along the rows of
/// the result, for Wgrad. Square groups (weights, whole tensors) are transposed
/// without rounding.
inline quantized retile(const quantized& q, format to, scale_kind scale,
                        retile_rule rule = retile_rule::amax) {
  if (q.group.rows == q.group.cols && q.element == to) {
    return {to, q.group, q.codes.transpose(), q.scales.transpose()};
  }
  if (q.group.rows != 1) {
    throw input_error("retile: groups must be 1 x N, or square and one format");
  }
  const auto m = q.codes.rows();
  const auto n = q.codes.cols();
  quantized out{to, q.group, row_major<std::uint32_t>(n, m),
                row_major<std::uint32_t>(n, ceil_div(m, q.group.width(m)))};
  engine::retile(retiling{q.element, to, scale, q.group.cols, rule},
                 view_of(q.codes), view_of(q.scales), view_of(out.codes),
                 view_of(out.scales));
  return out;
}

/// D = A B^T by `r`, bit for bit; BF16 results are returned as floats of the
/// same value. `c` (m x n) is read if the recipe accumulates.
inline row_major<float> gemm(const quantized& a, const quantized& b,
                             const recipe& r, const row_major<float>& c = {}) {
  if (!(a.covers() == r.a) || !(b.covers() == r.b)) {
    throw input_error("gemm: the operands' groups are not the recipe's");
  }
  const auto m = a.codes.rows();
  const auto n = b.codes.rows();
  row_major<std::uint32_t> addend;
  if (r.end == epilogue::accumulate) {
    if (c.rows() != m || c.cols() != n) {
      throw input_error("gemm: C must be m x n");
    }
    addend = c.unaryExpr([](float v) { return bit_cast<std::uint32_t>(v); });
  }
  row_major<std::uint32_t> d(m, n);
  engine::gemm(
      engine::for_operands(r, a.element, b.element),
      {a.element, view_of(a.codes)}, view_of(a.scales),
      {b.element, view_of(b.codes)}, view_of(b.scales),
      addend.size() == 0 ? matrix_view<const std::uint32_t>{} : view_of(addend),
      view_of(d));
  const format f = r.output;
  return d.unaryExpr([f](std::uint32_t bits) {
    return f == fp32 ? bit_cast<float>(bits) : to_float(decode(f, bits));
  });
}

}  // namespace zeroulp::eigen

#endif  // ZEROULP_EIGEN_HPP_
