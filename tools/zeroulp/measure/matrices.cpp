#include "tools/zeroulp/measure/matrices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::program {
namespace {

struct named_matrix_scales {
  const char* name;
  matrix_scales value;
};

constexpr named_matrix_scales all_matrix_scales[] = {
    {"groups", matrix_scales::groups},
    {"rows", matrix_scales::rows},
    {"tensor", matrix_scales::tensor},
    {"none", matrix_scales::none},
};

/// One side: codes and scales, and what the codes have lost.
struct quantized_side {
  prepared_operand codes;
  granularity group;
  matrix<std::uint32_t> scales;
  std::ptrdiff_t saturated;  ///< nearer to 480 than to 448, under its scale
  std::ptrdiff_t flushed;    ///< to zero

  study::scaled_operand view() const { return {&codes, group, scales.view()}; }
};

/// A matrix of finite numbers.
input_matrix read_matrix(const std::string& file, const std::string& dtype) {
  auto x = read_input(file, dtype);
  if (x.bits.stored.data.empty()) {
    throw input_error(file + ": no elements: there is nothing to measure");
  }
  for (std::ptrdiff_t i = 0; i < x.bits.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.bits.cols; ++j) {
      const unpacked value = decode(x.element, x.bits(i, j));
      if (value.is_finite()) continue;
      throw input_error(fmt::format(
          "{}: element ({}, {}) is {}: measure needs finite numbers", file, i,
          j, to_decimal(value)));
    }
  }
  return x;
}

/// What one scale of A, or of B, covers.
granularity group_of(matrix_scales scales, bool is_a) {
  switch (scales) {
    case matrix_scales::groups:
      return is_a ? tile_1x128 : block_128x128;
    case matrix_scales::rows:
      return {1, 0};
    case matrix_scales::tensor:
    case matrix_scales::none:
      break;
  }
  return per_tensor;
}

quantized_side quantize_matrix(const input_matrix& x, matrix_scales scales,
                               bool is_a) {
  const granularity g = group_of(scales, is_a);
  const std::ptrdiff_t rows = x.bits.rows;
  const std::ptrdiff_t cols = x.bits.cols;
  matrix<std::uint32_t> codes(rows, cols);
  matrix<std::uint32_t> scale;
  if (scales == matrix_scales::none) {
    engine::recode(x.element, x.bits.view(), e4m3, codes.view());
  } else {
    const quantizer q{
        x.element, e4m3, zeroulp_convention, scale_kind::float32, {g.mn, g.k}};
    scale = matrix<std::uint32_t>(ceil_div(rows, q.group.height(rows)),
                                  ceil_div(cols, q.group.width(cols)));
    engine::quantize(q, x.bits.view(), codes.view(), scale.view());
  }
  std::ptrdiff_t saturated = 0;
  std::ptrdiff_t flushed = 0;
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    const auto s = scales_of_row(std::as_const(scale).view(), g, i);
    for (std::ptrdiff_t k = 0; k < cols; ++k) {
      const double v = to_double(decode(x.element, x.bits(i, k)));
      const double by = to_double(decode(fp32, s.at(k)));
      if (std::fabs(v) > 464 * by) ++saturated;
      if (v != 0 && (codes.view()(i, k) & 0x7f) == 0) ++flushed;
    }
  }
  return {{e4m3, std::as_const(codes).view()},
          g,
          std::move(scale),
          saturated,
          flushed};
}

/// The scales that an interval allows.
matrix_scales scales_at(matrix_scales asked, int interval) {
  const bool within = interval > 0 && 128 % interval == 0;
  return asked == matrix_scales::groups && !within ? matrix_scales::rows
                                                   : asked;
}

std::string text_of(matrix_scales scales) {
  switch (scales) {
    case matrix_scales::groups:
      return "a scale for each 1x128 of A and 128x128 of B";
    case matrix_scales::rows:
      return "a scale for each row of A and of B";
    case matrix_scales::tensor:
      return "a scale for all of A and one for all of B";
    case matrix_scales::none:
      break;
  }
  return "scale 1, as they are";
}

std::string name_of(matrix_scales scales) {
  return all_matrix_scales[static_cast<std::size_t>(scales)].name;
}

/// Operands are held as codes and taken apart, outputs as four numbers.
void require_matrix_memory(const input_matrix& a, const input_matrix& b) {
  const auto rows = static_cast<double>(a.bits.rows);
  const auto cols = static_cast<double>(b.bits.rows);
  require_memory(14 * (rows + cols) * static_cast<double>(a.bits.cols) +
                 28 * rows * cols);
}

}  // namespace

matrix_scales parse_matrix_scales(const std::string& text) {
  for (const auto& known : all_matrix_scales) {
    if (known.name == text) return known.value;
  }
  throw input_error(fmt::format("--scales '{}': {}", text,
                                use_one_of(text, all_matrix_scales)));
}

measured_matrices measure_matrices(const matrices_request& q,
                                   const std::vector<int>& intervals,
                                   const study_progress& progress) {
  const input_matrix a = read_matrix(q.a, q.dtype);
  const input_matrix b = read_matrix(q.b, q.dtype);
  if (a.bits.cols != b.bits.cols) {
    throw input_error(
        fmt::format("{} has {} columns, {} has {}: both need K columns", q.a,
                    a.bits.cols, q.b, b.bits.cols));
  }
  require_matrix_memory(a, b);
  measured_matrices out;
  out.k = a.bits.cols;
  out.text = fmt::format("Inputs: {} ({} x {}) and {} ({} x {}), in E4M3", q.a,
                         a.bits.rows, out.k, q.b, b.bits.rows, out.k);
  out.as_json = {{"a", q.a}, {"b", q.b}, {"quantized", json::array()}};
  out.cells.resize(intervals.size());
  double before = 0;
  for (const auto& [name, scales] : all_matrix_scales) {
    std::vector<int> mine;
    for (const int i : intervals) {
      if (scales_at(q.scales, i) == scales) mine.push_back(i);
    }
    if (mine.empty()) continue;
    const auto qa = quantize_matrix(a, scales, true);
    const auto qb = quantize_matrix(b, scales, false);
    const auto part = run_study(
        qa.view(), qb.view(), "user", mine, [&](double done, double total) {
          const double each = total / static_cast<double>(mine.size());
          progress(before + done, each * static_cast<double>(intervals.size()));
          if (done == total) before += total;
        });
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      for (const auto& c : part) {
        if (c.interval == intervals[i]) out.cells[i] = c;
      }
    }
    json of = json::array();
    std::vector<std::string> names;
    for (const int i : mine) {
      of.push_back(i == 0 ? json("none") : json(i));
      names.push_back(interval_name(i));
    }
    out.text += fmt::format(
        "; at interval {} with {} ({} and {} elements saturated at 448, {} and "
        "{} became zero)",
        fmt::join(names, ", "), text_of(scales), qa.saturated, qb.saturated,
        qa.flushed, qb.flushed);
    out.as_json["quantized"].push_back(
        {{"scales", name_of(scales)},
         {"intervals", of},
         {"saturated", {qa.saturated, qb.saturated}},
         {"flushed_to_zero", {qa.flushed, qb.flushed}}});
  }
  out.text += '.';
  return out;
}

}  // namespace zeroulp::program
