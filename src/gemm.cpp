#include <fmt/format.h>

#include <cstddef>

#include "fast_chain.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {

prepared_operand::prepared_operand(format f, std::ptrdiff_t rows,
                                   std::ptrdiff_t cols)
    : format_(f),
      rows_(rows),
      cols_(cols),
      padded_(ceil_div(cols, fast_length) * fast_length),
      codes_(static_cast<std::size_t>(rows * cols)),
      special_(static_cast<std::size_t>(rows), 0) {
  if (f.bits() <= 8) {
    small_.assign(static_cast<std::size_t>(rows * padded_),
                  {0, 0, zero_exponent});
  }
}

void prepared_operand::set(std::ptrdiff_t i, std::ptrdiff_t k,
                           std::uint64_t code) {
  codes_[static_cast<std::size_t>(i * cols_ + k)] =
      static_cast<std::uint32_t>(code);
  if (small_.empty()) return;
  const unpacked x = decode(format_, code);
  if (!x.is_finite()) special_[static_cast<std::size_t>(i)] = 1;
  if (x.kind != kind::finite) return;
  small_[static_cast<std::size_t>(i * padded_ + k)] = {
      static_cast<std::uint8_t>(x.significand),
      static_cast<std::int8_t>(x.negative ? -1 : 0),
      static_cast<std::int16_t>(x.exponent)};
}

const prepared_operand::small* prepared_operand::small_row(
    std::ptrdiff_t i) const {
  if (small_.empty() || special_[static_cast<std::size_t>(i)] != 0) {
    return nullptr;
  }
  return small_.data() + i * padded_;
}

namespace {

/// A row of a prepared operand, element by element.
struct prepared_row {
  const prepared_operand* operand;
  std::ptrdiff_t i;
  unpacked operator[](std::ptrdiff_t k) const { return operand->value(i, k); }
};

/// Two rows whose chains are the fast one.
struct fast_rows {
  const prepared_operand::small* a;
  const prepared_operand::small* b;
  int point;

  std::uint32_t operator()(std::ptrdiff_t begin, std::ptrdiff_t end) const {
    return fast_chain(a + begin, b + begin, end - begin, point);
  }
};

/// Two rows whose chains are the core's.
struct core_rows {
  path p;
  prepared_row a;
  prepared_row b;

  std::uint32_t operator()(std::ptrdiff_t begin, std::ptrdiff_t end) const {
    return static_cast<std::uint32_t>(chain(p, a, b, begin, end, 0));
  }
};

void check_scales(matrix_view<const std::uint32_t> scales, granularity g,
                  const prepared_operand& x, const char* which) {
  if (scales.data == nullptr) return;
  const auto groups = [](std::ptrdiff_t n, std::int32_t size) {
    return size > 0 ? ceil_div(n, size) : 1;
  };
  const std::ptrdiff_t rows = groups(x.rows(), g.mn);
  const std::ptrdiff_t cols = groups(x.cols(), g.k);
  if (scales.rows != rows || scales.cols != cols) {
    throw input_error(fmt::format(
        "scales of {}: {} x {}, but the recipe needs {} x {} for {} x {} codes",
        which, scales.rows, scales.cols, rows, cols, x.rows(), x.cols()));
  }
}

}  // namespace

namespace engine {

void gemm(const recipe& r, const prepared_operand& a,
          matrix_view<const std::uint32_t> scales_a, const prepared_operand& b,
          matrix_view<const std::uint32_t> scales_b,
          matrix_view<const std::uint32_t> c, matrix_view<std::uint32_t> d) {
  if (!is_valid(r)) {
    throw input_error(
        "recipe: the interval must be a multiple of the step and divide the "
        "groups along K; scales along K need promotion");
  }
  if (a.cols() != b.cols() || d.rows != a.rows() || d.cols != b.rows()) {
    throw input_error(
        fmt::format("gemm: A is {} x {}, B {} x {}, D {} x {}: A and B must "
                    "have the same K",
                    a.rows(), a.cols(), b.rows(), b.cols(), d.rows, d.cols));
  }
  check_scales(scales_a, r.a, a, "A");
  check_scales(scales_b, r.b, b, "B");
  const path p{a.element(), b.element(), r.acc};
  const bool fast = has_fast_chain(p);
  const int point = p.a.man_bits + p.b.man_bits;
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t i = 0; i < d.rows; ++i) {
    const auto sa = scales_of_row(scales_a, r.a, i);
    const auto* fast_a = fast ? a.small_row(i) : nullptr;
    for (std::ptrdiff_t j = 0; j < d.cols; ++j) {
      const auto sb = scales_of_row(scales_b, r.b, j);
      const auto* fast_b = fast_a != nullptr ? b.small_row(j) : nullptr;
      const auto sum = fast_b != nullptr
                           ? promoted_sum(r, fast_rows{fast_a, fast_b, point},
                                          a.cols(), sa, sb)
                           : promoted_sum(r, core_rows{p, {&a, i}, {&b, j}},
                                          a.cols(), sa, sb);
      d(i, j) = finish(r, sum, c.data == nullptr ? 0 : c(i, j));
    }
  }
}

recipe for_operands(const recipe& r, format a, format b) {
  const auto fp8 = [](format f) { return f == e4m3 || f == e5m2; };
  if (!(r.acc == hopper_fp8_f32) || (fp8(a) && fp8(b))) return r;
  if (a == b && (a == bf16 || a == fp16)) {
    recipe half = r;
    half.acc = hopper_half_f32;
    return half;
  }
  throw input_error(fmt::format(
      "operands are {} and {}: the tensor core takes e4m3 and e5m2, or bf16 or "
      "fp16 on both sides; re-tile or quantize to one of them",
      name_of(a), name_of(b)));
}

void exact_products(const prepared_operand& a, const prepared_operand& b,
                    matrix_view<double> out) {
  if (a.cols() != b.cols() || out.rows != a.rows() || out.cols != b.rows()) {
    throw input_error("exact products: A and B must have the same K");
  }
  const path p{a.element(), b.element(), exact_f32};
  // Integers in units of the smallest product: exact while they fit.
  const int unit = p.a.quantum_exponent() + p.b.quantum_exponent();
  const auto range = [](format f) {
    const unpacked max = decode(f, f.max_code());
    return msb(max.significand) + 1 + max.exponent - f.quantum_exponent();
  };
  const bool small =
      range(p.a) + range(p.b) + msb(static_cast<std::uint64_t>(a.cols() + 1)) <
      62;
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    const auto* x = small ? a.small_row(i) : nullptr;
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      const auto* y = x != nullptr ? b.small_row(j) : nullptr;
      if (y == nullptr) {
        const prepared_row row_a{&a, i};
        const prepared_row row_b{&b, j};
        const auto found = detail::find_specials(
            row_a, row_b, static_cast<int>(a.cols()), unpacked{});
        const auto sum = detail::exact_sum(
            p, row_a, row_b, found.any() ? 0 : static_cast<int>(a.cols()),
            unpacked{});
        const auto special = found.nan || (found.plus && found.minus)
                                 ? unpacked{0, 0, kind::nan, false}
                                 : unpacked{0, 0, kind::infinite, found.minus};
        out(i, j) =
            found.any()
                ? to_double(special)
                : bit_cast<double>(encode(fp64, sum, {}, ocp_nonsaturate));
        continue;
      }
      std::int64_t total = 0;
      for (std::ptrdiff_t k = 0; k < a.cols(); ++k) {
        const int shift = x[k].exponent + y[k].exponent - unit;
        const int sign = x[k].sign ^ y[k].sign;
        const std::int64_t product = x[k].magnitude * y[k].magnitude;
        const std::int64_t placed = shift < 0 ? 0 : product << shift;
        total += (placed ^ sign) - sign;
      }
      const unpacked sum{static_cast<std::uint64_t>(total < 0 ? -total : total),
                         unit, total == 0 ? kind::zero : kind::finite,
                         total < 0};
      out(i, j) = to_double(sum);
    }
  }
}

}  // namespace engine
}  // namespace zeroulp
