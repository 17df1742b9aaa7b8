// Faults of the promoted GEMM in what it reads and how it cuts K.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "conformance/mutants/gemm_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// What does not fill a step is left out.
void tail_dropped(const recipe& r, const operand& a, const operand& b,
                  codes_in c, codes_out d) {
  operand x = a;
  if (r.acc.length > 0) x.codes.cols -= x.codes.cols % r.acc.length;
  gemm(r, x, b, c, d);
}

words copied(codes_in m) {
  words result;
  for (std::ptrdiff_t i = 0; i < m.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < m.cols; ++j) result.push_back(m(i, j));
  }
  return result;
}

/// Each scale of A is that `Rows` further along M and `Cols` along K, where
/// there is one.
template <int Rows, int Cols>
void neighbour_scale(const recipe& r, const operand& a, const operand& b,
                     codes_in c, codes_out d) {
  if (a.scales.data == nullptr) return gemm(r, a, b, c, d);
  words moved = copied(a.scales);
  operand x = a;
  const codes_out to{moved.data(), a.scales.rows, a.scales.cols};
  for (std::ptrdiff_t i = 0; i + Rows < to.rows; ++i) {
    for (std::ptrdiff_t j = 0; j + Cols < to.cols; ++j) {
      to(i, j) = a.scales(i + Rows, j + Cols);
    }
  }
  x.scales = to;
  gemm(r, x, b, c, d);
}

/// Museum: the scales are padded to a multiple of four columns, and read as
/// if they were not.
void wrong_stride(const recipe& r, const operand& a, const operand& b,
                  codes_in c, codes_out d) {
  if (b.scales.data == nullptr || b.scales.rows < 2) {
    return gemm(r, a, b, c, d);
  }
  const std::ptrdiff_t padded = ceil_div(b.scales.cols, 4) * 4;
  words stored(static_cast<std::size_t>(b.scales.rows * padded), 0);
  const codes_out to{stored.data(), b.scales.rows, padded};
  for (std::ptrdiff_t i = 0; i < b.scales.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < b.scales.cols; ++j)
      to(i, j) = b.scales(i, j);
  }
  operand y = b;
  y.scales = {stored.data(), b.scales.rows, b.scales.cols};
  gemm(r, a, y, c, d);
}

using detail::fl_add;

/// The operands from element `first` of K, `count` of them. Scales follow.
operand slice(const operand& x, granularity g, std::ptrdiff_t first,
              std::ptrdiff_t count) {
  operand result = x;
  result.codes = x.codes.block(0, first, x.codes.rows, count);
  if (x.scales.data != nullptr && g.k > 0) {
    result.scales.data += first / g.k * x.scales.col_stride;
  }
  return result;
}

/// The ranges of K, summed in an order or cut in a way of one's own.
template <bool Reversed, bool Up>
void split(const recipe& r, const operand& a, const operand& b, codes_in c,
           codes_out d) {
  const std::ptrdiff_t k = a.codes.cols;
  if (r.splits < 2 || k == 0 || r.output != fp32 ||
      r.update == promotion::add) {
    return gemm(r, a, b, c, d);
  }
  const std::ptrdiff_t grain = split_grain(r, k);
  const std::ptrdiff_t grains = ceil_div(k, grain);
  const std::ptrdiff_t even =
      Up ? ceil_div(grains, r.splits)
         : std::max<std::ptrdiff_t>(grains / r.splits, 1);
  recipe part = r;
  part.splits = 1;
  part.end = epilogue::store;
  words total(static_cast<std::size_t>(d.rows * d.cols), 0);
  words sum(total.size());
  const codes_out out{sum.data(), d.rows, d.cols};
  std::vector<std::ptrdiff_t> begins;
  for (std::ptrdiff_t at = 0; at < k; at += even * grain) begins.push_back(at);
  const std::size_t parts = begins.size();
  for (std::size_t n = 0; n < parts; ++n) {
    const auto at = begins[Reversed ? parts - 1 - n : n];
    const auto count = std::min(even * grain, k - at);
    gemm(part, slice(a, r.a, at, count), slice(b, r.b, at, count), {}, out);
    for (std::size_t e = 0; e < sum.size(); ++e) {
      total[e] = n == 0 ? sum[e] : fl_add(total[e], sum[e]);
    }
  }
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const auto e = static_cast<std::size_t>(i * d.cols + j);
      d(i, j) = finish(r, total[e], c.data == nullptr ? 0 : c(i, j));
    }
  }
}

void empty_untouched(const recipe& r, const operand& a, const operand& b,
                     codes_in c, codes_out d) {
  if (a.codes.cols > 0) gemm(r, a, b, c, d);
}

/// Small M takes another kernel, that splits K.
void depends_on_m(const recipe& r, const operand& a, const operand& b,
                  codes_in c, codes_out d) {
  recipe q = r;
  if (d.rows == 1) q.splits = 2;
  gemm(q, a, b, c, d);
}

}  // namespace

mutant_list operand_mutants() {
  return {
      multiplies("tail_dropped", "as if K ended at its last whole step",
                 tail_dropped),
      multiplies("neighbour_scale_k", "as if scales were one group off along K",
                 neighbour_scale<0, 1>),
      multiplies("neighbour_scale_m", "as if scales were one group off along M",
                 neighbour_scale<1, 0>),
      multiplies("wrong_stride", "as if padded scales had no padding",
                 wrong_stride),
      multiplies("split_reversed", "as if splits were added backwards",
                 split<true, true>),
      multiplies("split_uneven", "as if splits were rounded down",
                 split<false, false>),
      multiplies("empty_untouched", "as if K = 0 left D as it was",
                 empty_untouched),
      multiplies("depends_on_m", "as if small M were split along K",
                 depends_on_m),
  };
}

}  // namespace zeroulp::conformance
