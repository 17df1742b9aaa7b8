// Computes blocks of D by a recipe, with the engine or the core.

#include "fuzz/identify/gemm_blocks.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "zeroulp/arrays.hpp"

namespace zeroulp::fuzz {
namespace {

using view = matrix_view<const std::uint32_t>;

/// The scales of `rows` rows from `row` on.
view scales_of_block(const scale_cover& c, std::ptrdiff_t row,
                     std::ptrdiff_t rows) {
  const view all = scales_of(c);
  if (all.data == nullptr || c.covers.mn == 0) return all;
  return all.block(row / c.covers.mn, 0, ceil_div(rows, c.covers.mn), all.cols);
}

masked_operand masked(const operand_evidence& x) {
  const auto rows = static_cast<std::size_t>(x.codes.rows);
  const auto cols = static_cast<std::size_t>(x.codes.cols);
  masked_operand m{x, std::vector<bool>(rows), std::vector<bool>(rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span row(m.codes.codes.words.data() + i * cols, cols);
    bool has_infinity = false;
    for (const auto code : row) {
      const auto value = decode(x.f, code);
      m.has_nan[i] = m.has_nan[i] || value.is_nan();
      has_infinity = has_infinity || value.is_infinite();
    }
    m.has_infinity[i] = has_infinity && !m.has_nan[i];
    if (has_infinity || m.has_nan[i]) std::fill(row.begin(), row.end(), 0);
  }
  return m;
}

bool any_of(const std::vector<bool>& rows, std::ptrdiff_t from,
            std::ptrdiff_t count) {
  const auto begin = rows.begin() + from;
  return std::find(begin, begin + count, true) != begin + count;
}

std::vector<unpacked> unpack(const operand_evidence& x, std::ptrdiff_t row,
                             std::ptrdiff_t rows) {
  std::vector<unpacked> all;
  for (std::ptrdiff_t i = row; i < row + rows; ++i) {
    for (std::ptrdiff_t k = 0; k < x.codes.cols; ++k) {
      all.push_back(decode(x.f, x.codes(i, k)));
    }
  }
  return all;
}

}  // namespace

gemm_definition definition_of(const gemm_grid& grid, const gemm_chain& c,
                              const gemm_plan& p) {
  return {recipe_of(grid, c, p), &grid.a[p.a], &grid.b[p.b]};
}

std::vector<prepared_operand> prepared_rows(const operand_evidence& x,
                                            std::ptrdiff_t height,
                                            std::ptrdiff_t from,
                                            std::ptrdiff_t count) {
  const view codes(x.codes.words.data(), x.codes.rows, x.codes.cols);
  std::vector<prepared_operand> parts;
  for (std::ptrdiff_t i = 0; i < codes.rows; i += height) {
    parts.emplace_back(
        x.f, codes.block(i, from, std::min(height, codes.rows - i), count));
  }
  return parts;
}

bool is_slow(format a, format b, const accumulator& acc) {
  const bool fits_double = a == e4m3 && b == e4m3;
  return acc.cut != rounding::toward_zero || acc.c != addend::aligned ||
         acc.renormalized || (acc == exact_f32 && !fits_double);
}

gemm_blocks::gemm_blocks(const gemm_evidence& e)
    : e_(e),
      a_(masked(e.a)),
      b_(masked(e.b)),
      rows_(prepared_rows(a(), block_rows, 0, e.a.codes.cols)),
      cols_(prepared_rows(b(), block_cols, 0, e.b.codes.cols)) {
  for (std::ptrdiff_t i = 0; i < e.d.rows; i += block_rows) {
    for (std::ptrdiff_t j = 0; j < e.d.cols; j += block_cols) {
      all_.push_back({i, j, std::min(block_rows, e.d.rows - i),
                      std::min(block_cols, e.d.cols - j)});
    }
  }
  counter_rng rng(1, 0);
  for (std::size_t i = all_.size(); i > 1; --i) {
    std::swap(all_[i - 1], all_[rng.next() % i]);
  }
}

/// Computes by the core the sums of outputs (i, j) for which `which` holds.
template <class Which>
void gemm_blocks::sum_by_core(const gemm_definition& how,
                              const output_block& at, Which which,
                              std::vector<std::uint32_t>& sums) const {
  const std::ptrdiff_t k = e_.a.codes.cols;
  const auto rows = unpack(e_.a, at.row, at.rows);
  const auto cols = unpack(e_.b, at.col, at.cols);
  const path p{e_.a.f, e_.b.f, how.r.acc};
  auto sum = sums.begin();
  for (std::ptrdiff_t i = 0; i < at.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < at.cols; ++j, ++sum) {
      if (!which(at.row + i, at.col + j)) continue;
      const auto partial = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
        return static_cast<std::uint32_t>(
            chain(p, rows.data() + i * k, cols.data() + j * k, begin, end, 0));
      };
      *sum =
          promoted_sum(how.r, partial, k,
                       scales_of_row(scales_of(*how.a), how.r.a, at.row + i),
                       scales_of_row(scales_of(*how.b), how.r.b, at.col + j));
    }
  }
}

void gemm_blocks::add_infinite(const gemm_definition& how,
                               const output_block& at,
                               std::vector<std::uint32_t>& sums) const {
  const auto& a = a_.has_infinity;
  const auto& b = b_.has_infinity;
  if (!any_of(a, at.row, at.rows) && !any_of(b, at.col, at.cols)) return;
  const auto is_infinite = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    return a[static_cast<std::size_t>(i)] || b[static_cast<std::size_t>(j)];
  };
  sum_by_core(how, at, is_infinite, sums);
}

std::vector<std::uint32_t> gemm_blocks::sums(const gemm_definition& how,
                                             const output_block& at) const {
  std::vector<std::uint32_t> sums(at.size());
  if (is_slow(e_.a.f, e_.b.f, how.r.acc)) {
    sum_by_core(
        how, at, [](auto, auto) { return true; }, sums);
    return sums;
  }
  const auto& rows = rows_[static_cast<std::size_t>(at.row / block_rows)];
  const auto& cols = cols_[static_cast<std::size_t>(at.col / block_cols)];
  const view sa = scales_of_block(*how.a, at.row, at.rows);
  const view sb = scales_of_block(*how.b, at.col, at.cols);
  engine::gemm(how.r, rows, sa, cols, sb, {}, {sums.data(), at.rows, at.cols});
  return sums;
}

std::vector<std::uint32_t> gemm_blocks::finished(
    epilogue end, const output_block& at,
    const std::vector<std::uint32_t>& sums) const {
  const bool accumulates = end == epilogue::accumulate;
  std::vector<std::uint32_t> d;
  for (std::ptrdiff_t i = at.row; i < at.row + at.rows; ++i) {
    for (std::ptrdiff_t j = at.col; j < at.col + at.cols; ++j) {
      float sum = bit_cast<float>(sums[d.size()]);
      if (accumulates) sum += e_.c ? bit_cast<float>((*e_.c)(i, j)) : 0.0f;
      const bool is_nan = sum != sum ||
                          a_.has_nan[static_cast<std::size_t>(i)] ||
                          b_.has_nan[static_cast<std::size_t>(j)];
      d.push_back(is_nan ? fp32_nan : bit_cast<std::uint32_t>(sum));
    }
  }
  if (e_.output == fp32) return d;
  std::vector<std::uint32_t> rounded(d.size());
  engine::recode(fp32, view(d.data(), at.rows, at.cols), e_.output,
                 matrix_view<std::uint32_t>(rounded.data(), at.rows, at.cols),
                 rounding::nearest_even, cuda_nosat);
  return rounded;
}

}  // namespace zeroulp::fuzz
