// The inputs of a cell and their codes.

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/threads.hpp"
#include "tools/study/error/matrix.hpp"
#include "tools/study/error/run.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::study {
namespace {

/// The factor of element (i, k) of an operand; K runs along channels, in Wgrad
/// along tokens.
double outlier_factor(const input& x, gemm_pass pass, std::ptrdiff_t i,
                      std::ptrdiff_t k, std::ptrdiff_t cols) {
  const bool turned = pass == gemm_pass::wgrad;
  bool out = false;
  switch (x.which) {
    case outliers::none:
      break;
    case outliers::channels:
      out = (turned ? i : k) % 256 == 37;
      break;
    case outliers::tokens:
      out = (turned ? k : i) % 64 == 37;
      break;
    case outliers::single:
      out = (i * cols + k) % 65521 == 4099;
  }
  return out ? x.factor : 1;
}

/// Element (i, k) of an operand, FP32 bits of a number of `values`.
std::uint32_t draw_element(const input& x, gemm_pass pass, format values,
                           std::uint64_t seed, std::ptrdiff_t i,
                           std::ptrdiff_t k, std::ptrdiff_t cols) {
  const double v =
      x.matrix ? x.matrix->at(i, k)
               : draw(x.base, seed, static_cast<std::uint64_t>(i * cols + k)) *
                     outlier_factor(x, pass, i, k, cols);
  // Once, from FP64.
  return as_fp32(values, encode(values, decode(v), {}, cuda_satfinite));
}

dense<std::uint32_t> draw_matrix(const cell& c, const input& x,
                                 std::uint64_t stream, std::ptrdiff_t rows) {
  dense<std::uint32_t> out(rows, c.k);
#pragma omp parallel for schedule(static) num_threads(threads_for())
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t k = 0; k < c.k; ++k) {
      out.view()(i, k) = draw_element(x, c.pass, c.values, stream, i, k, c.k);
    }
  }
  return out;
}

/// Cells of one seed and shape draw the same numbers: arms are paired.
std::uint64_t stream_of(const cell& c, bool is_a) {
  std::uint64_t stream = mix64(2 * c.seed + (is_a ? 0 : 1));
  if (c.shape == free_shape) return stream;
  for (const char letter : c.shape) {
    stream = mix64(stream + static_cast<unsigned char>(letter));
  }
  return stream;
}

std::uint32_t scaled(std::uint32_t x, double factor) {
  return bit_cast<std::uint32_t>(
      static_cast<float>(bit_cast<float>(x) * factor));
}

/// The power of two above amax.
double smoothing_factor(float amax) {
  return amax == 0 ? 1 : std::ldexp(1.0, std::ilogb(amax) + 1);
}

/// Every channel of A divided, of B multiplied, by the power of two that brings
/// A's amax there below 1: the products stay what they are.
void smooth_channels(inputs& x) {
  for (std::ptrdiff_t k = 0; k < x.a.cols; ++k) {
    float amax = 0;
    for (std::ptrdiff_t i = 0; i < x.a.rows; ++i) {
      amax = std::max(amax, std::fabs(bit_cast<float>(x.a.view()(i, k))));
    }
    const double factor = smoothing_factor(amax);
    for (std::ptrdiff_t i = 0; i < x.a.rows; ++i) {
      x.a.view()(i, k) = scaled(x.a.view()(i, k), 1 / factor);
    }
    for (std::ptrdiff_t j = 0; j < x.b.rows; ++j) {
      x.b.view()(j, k) = scaled(x.b.view()(j, k), factor);
    }
  }
}

scale_kind kind_of(scaling s) {
  switch (s) {
    case scaling::raw:
    case scaling::float32:
      return scale_kind::float32;
    case scaling::pow2_down:
      return scale_kind::pow2_down;
    case scaling::pow2_nearest:
      return scale_kind::pow2_nearest;
    case scaling::pow2:
    case scaling::ocp:
      break;
  }
  return scale_kind::pow2;
}

codes empty_codes(format element, granularity g, std::ptrdiff_t m,
                  std::ptrdiff_t k) {
  return {element, g, dense<std::uint32_t>(m, k),
          dense<std::uint32_t>(g.mn > 0 ? ceil_div(m, g.mn) : 1,
                               g.k > 0 ? ceil_div(k, g.k) : 1)};
}

quantizer quantizer_of(const cell& c, format to, scaling scale,
                       granularity group) {
  quantizer q{
      fp32, to, zeroulp_convention, kind_of(scale), {group.mn, group.k}};
  q.how.amax_floor = floor_of(c);
  return q;
}

/// Codes of the values as they are, by the side's format, groups and scales.
codes quantize_directly(const cell& c, const operand& x,
                        matrix_view<const std::uint32_t> values,
                        const std::vector<std::uint32_t>& history) {
  codes out = empty_codes(x.element, x.group, values.rows, values.cols);
  if (x.scale == scaling::raw) {
    engine::recode(fp32, values, x.element, out.elements.view());
    out.scales = {};
    return out;
  }
  quantizer q = quantizer_of(c, x.element, x.scale, x.group);
  dense<std::uint32_t> amax = out.scales;
  engine::group_amaxes(q, values, amax.view());
  for (auto& one : amax.data) {
    if (x.when.history > 0) {
      one = delayed_amax(history.data(),
                         static_cast<std::ptrdiff_t>(history.size()), one,
                         x.when.rule, 0x3f666666);  // 0.9
    }
    if (x.scale == scaling::ocp) {
      one = ocp_amax(std::max(one, q.how.amax_floor), x.element);
    }
  }
  if (x.scale == scaling::ocp) q.how.amax_floor = 0;
  engine::quantize(q, values, amax.view(), out.elements.view(),
                   out.scales.view());
  return out;
}

/// Codes made from E5M6 ones of the same tiles.
codes quantize_twice(const cell& c, const operand& x,
                     const dense<std::uint32_t>& values,
                     const std::vector<std::uint32_t>& history) {
  const quantizer q = quantizer_of(c, e5m6, scaling::pow2, tile_1x128);
  codes stored = empty_codes(e5m6, tile_1x128, values.rows, values.cols);
  engine::quantize(q, values.view(), stored.elements.view(),
                   stored.scales.view());
  dense<std::uint32_t> again(values.rows, values.cols);
  engine::dequantize(e5m6, q.group, stored.elements.view(),
                     std::as_const(stored.scales).view(), again.view());
  return quantize_directly(c, x, std::as_const(again).view(), history);
}

/// Codes made from those of tiles along M or N.
codes quantize_turned(const cell& c, const operand& x,
                      const dense<std::uint32_t>& values) {
  const format from = x.via == passage::retiled ? x.element : e5m6;
  const auto turned = values.view().transposed();
  const quantizer q = quantizer_of(c, from, x.scale, tile_1x128);
  codes stored = empty_codes(from, tile_1x128, turned.rows, turned.cols);
  engine::quantize(q, turned, stored.elements.view(), stored.scales.view());
  codes out = empty_codes(x.element, tile_1x128, values.rows, values.cols);
  engine::retile({from, x.element, q.scale, 128, retile_rule::amax},
                 stored.elements.view(), std::as_const(stored.scales).view(),
                 out.elements.view(), out.scales.view());
  return out;
}

}  // namespace

inputs draw_inputs(const cell& c) {
  inputs x{draw_matrix(c, c.a.from, stream_of(c, true), c.m),
           draw_matrix(c, c.b.from, stream_of(c, false), c.n)};
  if (c.shift != 1) {
    for (auto& one : x.a.data) one = scaled(one, c.shift);
  }
  if (c.smooth) smooth_channels(x);
  return x;
}

codes quantize_side(const cell& c, const operand& x,
                    const dense<std::uint32_t>& values,
                    const std::vector<std::uint32_t>& history) {
  switch (x.via) {
    case passage::direct:
      break;
    case passage::e5m6:
      return quantize_twice(c, x, values, history);
    case passage::retiled:
    case passage::retiled_e5m6:
      return quantize_turned(c, x, values);
  }
  return quantize_directly(c, x, values.view(), history);
}

std::vector<std::uint32_t> amax_history(const cell& c, bool is_a) {
  const operand& x = is_a ? c.a : c.b;
  const std::ptrdiff_t count = x.when.history;
  if (count == 0) return {};
  const std::ptrdiff_t rows = is_a ? c.m : c.n;
  const auto all = draw_matrix(c, x.from, stream_of(c, is_a), rows + count);
  std::vector<std::uint32_t> history(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(static) num_threads(threads_for())
  for (std::ptrdiff_t ago = count; ago > 0; --ago) {
    const float factor = is_a && ago <= c.age ? static_cast<float>(c.shift) : 1;
    std::vector<float> channels(static_cast<std::size_t>(c.k));
    for (std::ptrdiff_t i = ago; i < ago + rows; ++i) {
      for (std::ptrdiff_t k = 0; k < c.k; ++k) {
        auto& amax = channels[static_cast<std::size_t>(k)];
        amax = std::max(amax,
                        std::fabs(bit_cast<float>(all.view()(i, k)) * factor));
      }
    }
    float amax = 0;
    for (const float one : channels) {
      const double divided = c.smooth && is_a ? smoothing_factor(one) : 1;
      amax = std::max(amax, static_cast<float>(one / divided));
    }
    history[static_cast<std::size_t>(count - ago)] =
        bit_cast<std::uint32_t>(amax);
  }
  return history;
}

}  // namespace zeroulp::study
