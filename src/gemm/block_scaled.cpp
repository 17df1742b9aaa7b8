// The chain of an instruction with block scales over K, and the GEMM of it.

#include "zeroulp/block_scaled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/gemm/block_tiles.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp {
namespace {

/// The elements and the scales of some rows, decoded.
class decoded_rows {
 public:
  decoded_rows(const prepared_operand& x, const matrix_view<unpacked>& scales,
               std::ptrdiff_t first, int rows)
      : cols_(x.cols()), first_(first), scales_(scales) {
    elements_.reserve(static_cast<std::size_t>(rows * cols_));
    for (std::ptrdiff_t i = first; i < first + rows; ++i) {
      for (std::ptrdiff_t k = 0; k < cols_; ++k) {
        elements_.push_back(x.value(i, k));
      }
    }
  }
  const unpacked* elements(int i) const { return elements_.data() + i * cols_; }
  const unpacked* scales(int i) const {
    return scales_.data + (first_ + i) * scales_.row_stride;
  }

 private:
  std::ptrdiff_t cols_;
  std::ptrdiff_t first_;
  matrix_view<unpacked> scales_;
  std::vector<unpacked> elements_;
};

/// All scales of an operand, decoded.
class decoded_scales {
 public:
  decoded_scales(block_scale s, const matrix_view<const std::uint8_t>& codes)
      : values_(static_cast<std::size_t>(codes.rows * codes.cols)),
        rows_(codes.rows),
        cols_(codes.cols) {
    for (std::ptrdiff_t i = 0; i < rows_; ++i) {
      for (std::ptrdiff_t k = 0; k < cols_; ++k) {
        view()(i, k) = decode(s, codes(i, k));
      }
    }
  }
  matrix_view<unpacked> view() { return {values_.data(), rows_, cols_}; }

 private:
  std::vector<unpacked> values_;
  std::ptrdiff_t rows_;
  std::ptrdiff_t cols_;
};

void check_operand(const char* what, format expected, const prepared_operand& x,
                   const matrix_view<const std::uint8_t>& scales, int block) {
  if (!(x.element() == expected)) {
    throw input_error(fmt::format("{}: elements are {}, the path's are {}",
                                  what, name_of(x.element()),
                                  name_of(expected)));
  }
  const std::ptrdiff_t blocks = ceil_div(x.cols(), block);
  if (scales.rows != x.rows() || scales.cols != blocks) {
    throw input_error(fmt::format(
        "{}: scales are {} x {}, expected {} x {}: one a row and {} elements "
        "of K",
        what, scales.rows, scales.cols, x.rows(), blocks, block));
  }
}

void check_addend(const matrix_view<const std::uint32_t>& c,
                  const matrix_view<std::uint32_t>& d) {
  if (c.data != nullptr && (c.rows != d.rows || c.cols != d.cols)) {
    throw input_error("block scales: C must have the shape of D");
  }
}

/// Throws unless the second level has no scale, one, or one a row.
void check_second(const char* what, const engine::block_scaled_operand& x) {
  if (x.second.data == nullptr) return;
  const std::ptrdiff_t rows = x.elements.rows();
  if (x.second.cols == 1 && (x.second.rows == 1 || x.second.rows == rows)) {
    return;
  }
  throw input_error(fmt::format(
      "{}: {} x {} scales of the second level, expected 1 x 1 or {} x 1", what,
      x.second.rows, x.second.cols, rows));
}

std::uint32_t second_of(const engine::block_scaled_operand& x,
                        std::ptrdiff_t i) {
  if (x.second.data == nullptr) return fp32_one;
  return x.second(x.second.rows == 1 ? 0 : i, 0);
}

/// All chains of a product from C, or +0.
class block_scaled_chains {
 public:
  block_scaled_chains(const block_scaled_path& p,
                      const engine::block_scaled_operand& a,
                      const engine::block_scaled_operand& b,
                      const matrix_view<const std::uint32_t>& c)
      : p_(p),
        a_(a.elements),
        b_(b.elements),
        c_(c),
        scales_a_(p.scale, a.scales),
        scales_b_(p.scale, b.scales) {
    if (is_summed_fast(p)) {
      sums_.emplace(e2m1_rows(a_, scales_a_.view(), p),
                    e2m1_rows(b_, scales_b_.view(), p));
    } else if (p.terms == block_terms::products) {
      products_.emplace(p, a_, scales_a_.view(), b_, scales_b_.view());
      if (!products_->fits()) products_.reset();
    }
  }

  /// How long an output takes, roughly, in nanoseconds.
  double work_each() const {
    const bool fast = sums_ || products_;
    return (fast ? 10 * product_work : core_work) *
           static_cast<double>(a_.cols());
  }

  /// Calls use(i, j, acc) with the outputs of a tile.
  template <class Use>
  void compute(const tile& t, Use use) {
    if (!sums_ && !products_) {
      return compute_by_core(
          t, [](int) { return true; }, use);
    }
    tile_memory& m = memory();
    clear(t, m.sum);
    std::fill_n(m.codes, t.rows * tile_rows, 0u);
    for_each_output(t, [&](int i, int j, int at) {
      const std::uint32_t from = addend(t.row + i, t.col + j);
      const bool is_number = (from & 0x7fffffff) < fp32_infinity;
      m.codes[at] = is_number && is_plain(t.row + i, t.col + j) ? 0 : 1;
      if (m.codes[at] == 0) m.sum[at] = bit_cast<float>(from);
    });
    if (sums_) {
      run_sums_of_blocks(sums_->first, sums_->second, t,
                         p_.unscaled.acc.exponent_floor, m.sum);
    } else {
      products_->run(t, m.sum, m.codes);
    }
    bool any_by_core = false;
    for_each_output(t, [&](int i, int j, int at) {
      any_by_core = any_by_core || m.codes[at] != 0;
      if (m.codes[at] == 0) {
        use(t.row + i, t.col + j, bit_cast<std::uint32_t>(m.sum[at]));
      }
    });
    if (any_by_core) {
      compute_by_core(
          t, [&m](int at) { return m.codes[at] != 0; }, use);
    }
  }

 private:
  std::uint32_t addend(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return c_.data == nullptr ? 0 : c_(i, j);
  }
  bool is_plain(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return !sums_ || (sums_->first.is_plain(i) && sums_->second.is_plain(j));
  }

  template <class Wanted, class Use>
  void compute_by_core(const tile& t, Wanted wanted, Use use) {
    const decoded_rows x(a_, scales_a_.view(), t.row, t.rows);
    const decoded_rows y(b_, scales_b_.view(), t.col, t.cols);
    for_each_output(t, [&](int i, int j, int at) {
      if (!wanted(at)) return;
      const std::ptrdiff_t row = t.row + i;
      const std::ptrdiff_t col = t.col + j;
      const auto acc = chain(p_, x.elements(i), y.elements(j), x.scales(i),
                             y.scales(j), a_.cols(), addend(row, col));
      use(row, col, static_cast<std::uint32_t>(acc));
    });
  }

  const block_scaled_path& p_;
  const prepared_operand& a_;
  const prepared_operand& b_;
  matrix_view<const std::uint32_t> c_;
  decoded_scales scales_a_;
  decoded_scales scales_b_;
  std::optional<std::pair<e2m1_rows, e2m1_rows>> sums_;
  std::optional<product_chains> products_;
};

/// Calls use(i, j, acc) with each output's chain from C, or +0.
template <class Use>
void for_each_chain(const block_scaled_path& p,
                    const engine::block_scaled_operand& a,
                    const engine::block_scaled_operand& b,
                    const matrix_view<const std::uint32_t>& c,
                    const matrix_view<std::uint32_t>& d, Use use) {
  check_operand("a", p.unscaled.a, a.elements, a.scales, p.block);
  check_operand("b", p.unscaled.b, b.elements, b.scales, p.block);
  block_scaled_chains chains(p, a, b, c);
  for_each_tile(d.rows, d.cols, chains.work_each(),
                [&](const tile& t) { chains.compute(t, use); });
}

}  // namespace

namespace engine {

void multiply(const block_scaled_path& p, const prepared_operand& a,
              matrix_view<const std::uint8_t> scales_a,
              const prepared_operand& b,
              matrix_view<const std::uint8_t> scales_b,
              matrix_view<const std::uint32_t> c,
              matrix_view<std::uint32_t> d) {
  if (!is_valid(p)) {
    throw input_error(
        "block scales: the block, the scale and the terms do not fit");
  }
  check_shapes(a, b, d.rows, d.cols);
  check_addend(c, d);
  for_each_chain(p, {a, scales_a}, {b, scales_b}, c, d,
                 [&](std::ptrdiff_t i, std::ptrdiff_t j, std::uint32_t acc) {
                   d(i, j) = acc;
                 });
}

void gemm(const block_recipe& r, const block_scaled_operand& a,
          const block_scaled_operand& b, matrix_view<const std::uint32_t> c,
          matrix_view<std::uint32_t> d) {
  if (!is_valid(r)) {
    throw input_error(
        "recipe with block scales: the output is fp32 or bf16, the path valid");
  }
  check_shapes(a.elements, b.elements, d.rows, d.cols);
  check_addend(c, d);
  check_second("a", a);
  check_second("b", b);
  const bool scaled = a.elements.cols() > 0 &&
                      (a.second.data != nullptr || b.second.data != nullptr);
  for_each_chain(
      r.path, a, b, {}, d,
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::uint32_t acc) {
        const std::uint32_t scale =
            scaled ? detail::fl_multiply(second_of(a, i), second_of(b, j))
                   : fp32_one;
        d(i, j) = finish(r, acc, scale, c.data == nullptr ? 0 : c(i, j));
      });
}

}  // namespace engine
}  // namespace zeroulp
