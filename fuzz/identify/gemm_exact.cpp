// Exact sums of outputs in FP64, and the FP32 sums beside them.

#include "fuzz/identify/gemm_exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace zeroulp::fuzz {
namespace {

constexpr std::size_t lane_count = 16;

double number(format f, std::uint64_t code) {
  return to_double(decode(f, code));
}

/// Rows of an operand times their scales, padded with zeros.
struct dequantized {
  std::size_t stride;
  std::vector<double> values;

  dequantized(const operand_evidence& x, const scale_cover& by,
              std::ptrdiff_t row, std::ptrdiff_t rows)
      : stride((static_cast<std::size_t>(x.codes.cols) + lane_count - 1) /
               lane_count * lane_count),
        values(stride * static_cast<std::size_t>(rows)) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      const auto s = scales_of_row(scales_of(by), by.covers, row + i);
      double* to = values.data() + static_cast<std::size_t>(i) * stride;
      for (std::ptrdiff_t k = 0; k < x.codes.cols; ++k) {
        *to++ = number(x.f, x.codes(row + i, k)) * number(fp32, s.at(k));
      }
    }
  }
  const double* operator[](std::ptrdiff_t i) const {
    return values.data() + static_cast<std::size_t>(i) * stride;
  }
};

/// x cut toward zero to FP32's significand.
double cut_to_fp32(double x) {
  return bit_cast<double>(bit_cast<std::uint64_t>(x) & ~0x1fffffffull);
}

exact_output product_of(const double* a, const double* b, std::size_t count) {
  double sum[lane_count] = {};
  double size[lane_count] = {};
  float lanes[lane_count] = {};
  float in_turn = 0;
  double cut = 0;
  for (std::size_t k = 0; k < count; k += lane_count) {
    for (std::size_t l = 0; l < lane_count; ++l) {
      const double x = a[k + l];
      const double y = b[k + l];
      const float product = static_cast<float>(x) * static_cast<float>(y);
      sum[l] += x * y;
      size[l] += std::abs(x * y);
      lanes[l] += product;
      in_turn += product;
      cut = cut_to_fp32(cut + static_cast<double>(product));
    }
  }
  exact_output all{0, 0, 0, in_turn, static_cast<float>(cut)};
  for (std::size_t l = 0; l < lane_count; ++l) {
    const std::size_t lane = l * 7 % lane_count;
    all.sum += sum[lane];
    all.size += size[lane];
    all.lanes += lanes[lane];
  }
  return all;
}

std::vector<exact_output> exact_outputs(const gemm_evidence& e,
                                        const gemm_reading& as,
                                        const output_block& at) {
  const dequantized a(e.a, *as.a, at.row, at.rows);
  const dequantized b(e.b, *as.b, at.col, at.cols);
  const bool with_c = as.end == epilogue::accumulate && e.c;
  std::vector<exact_output> all;
  for (std::ptrdiff_t i = 0; i < at.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < at.cols; ++j) {
      auto x = product_of(a[i], b[j], a.stride);
      if (with_c) {
        const double c = number(fp32, (*e.c)(at.row + i, at.col + j));
        x.sum += c;
        x.size += std::abs(c);
        x.lanes += static_cast<float>(c);
        x.in_turn += static_cast<float>(c);
        x.cut = static_cast<float>(cut_to_fp32(static_cast<double>(x.cut) + c));
      }
      all.push_back(x);
    }
  }
  return all;
}

/// The distance of D from the sum, relative to its terms, at most 1.
double distance(const exact_output& x, double d) {
  const double apart = std::abs(d - x.sum);
  return apart < x.size ? apart / x.size : apart == 0 ? 0 : 1;
}

/// The reading under which the first outputs of `at` are nearest to their exact
/// sums.
gemm_reading nearest_reading(const gemm_evidence& e, const gemm_grid& grid,
                             const output_block& at) {
  const output_block few{at.row, at.col, std::min<std::ptrdiff_t>(at.rows, 8),
                         std::min<std::ptrdiff_t>(at.cols, 16)};
  gemm_reading nearest{};
  double least = std::numeric_limits<double>::infinity();
  for (const auto& a : grid.a) {
    for (const auto& b : grid.b) {
      for (const epilogue end : grid_ends) {
        const gemm_reading as{&a, &b, end};
        const auto exact = exact_outputs(e, as, few);
        double sum = 0;
        for (std::size_t n = 0; n < exact.size(); ++n) {
          const auto i = few.row + static_cast<std::ptrdiff_t>(n) / few.cols;
          const auto j = few.col + static_cast<std::ptrdiff_t>(n) % few.cols;
          sum += distance(exact[n], number(e.output, e.d(i, j)));
        }
        if (sum >= least) continue;
        least = sum;
        nearest = as;
      }
    }
  }
  return nearest;
}

}  // namespace

exact_part exact_part_of(const gemm_evidence& e, const gemm_grid& grid,
                         const gemm_blocks& blocks) {
  constexpr std::size_t most = std::size_t{1} << 27;  // products
  const auto k = static_cast<std::size_t>(e.a.codes.cols);
  exact_part part{nearest_reading(e, grid, blocks.all()[0]), {}};
  std::size_t products = 0;
  for (const auto& at : blocks.all()) {
    products += at.size() * k;
    if (products > most && !part.blocks.empty()) break;
    part.blocks.push_back({at, {}, {}});
  }
  for_each_index(part.blocks.size(), [&](std::size_t i) {
    auto& block = part.blocks[i];
    block.sums = exact_outputs(e, part.as, block.at);
    for (const auto& x : block.sums) {
      const auto bits = bit_cast<std::uint64_t>(x.sum + 0.0);
      block.rounded.push_back(static_cast<std::uint32_t>(
          recode(fp64, bits, e.output, {}, cuda_nosat)));
    }
  });
  return part;
}

rounding_range range_of(format f, std::uint32_t code) {
  const auto magnitude = code & f.magnitude_mask();
  const double m = number(f, magnitude);
  const double below = magnitude > 0 ? number(f, magnitude - 1) : -number(f, 1);
  const double above =
      magnitude < f.max_code() ? number(f, magnitude + 1) : 2 * m - below;
  const rounding_range range{(m + below) / 2, (m + above) / 2};
  const bool negative = (code & f.sign_mask()) != 0;
  return negative ? rounding_range{-range.to, -range.from} : range;
}

}  // namespace zeroulp::fuzz
