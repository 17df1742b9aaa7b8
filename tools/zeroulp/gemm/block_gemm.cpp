#include "tools/zeroulp/gemm/block_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "src/base/fields.hpp"
#include "tools/zeroulp/tensor/block_tensor.hpp"

namespace zeroulp::program {
namespace {

namespace fs = std::filesystem;

/// Powers of two a row and 32 elements are scales of MX, too.
block_tensor as_blocks(const tensor& t, const std::string& dir,
                       const named_block_recipe& r) {
  if (t.group.rows != 1 || t.group.cols != r.block ||
      t.scale == scale_kind::float32 || r.scale != block_scale::power_of_two) {
    throw input_error(fmt::format(
        "{}: {} scales of {}, but recipe {} needs {} of 1x{}: quantize with "
        "--convention {}",
        dir, name_of(t.scale), name_of(t.group), r.name, name_of(r.scale),
        r.block, r.convention));
  }
  block_tensor x;
  x.element = t.element;
  x.scale = r.scale;
  x.block = r.block;
  x.convention = t.convention;
  x.codes = t.codes;
  x.scales = matrix<std::uint8_t>(t.scales.rows, t.scales.cols);
  for (std::size_t i = 0; i < x.scales.data.size(); ++i) {
    x.scales.data[i] = static_cast<std::uint8_t>(
        recode(fp32, t.scales.data[i], ue8m0, {}, cuda_satfinite));
  }
  return x;
}

/// An operand: a matrix is quantized, codes with scales are taken as they are.
block_tensor read_operand(const std::string& in, const block_gemm_request& q) {
  const auto& r =
      row_named(all_block_recipes(), "recipe with block scales", q.recipe);
  std::error_code none;
  if (!fs::is_directory(in, none)) {
    const auto convention = q.convention.empty() ? r.convention : q.convention;
    (void)parse_block_convention(convention);  // before a long file is read
    return quantize_in_blocks({convention, name_of(r.takes.front()), q.second},
                              read_input(in, q.dtype));
  }
  const auto t = is_block_tensor(in) ? read_block_tensor(in)
                                     : as_blocks(read_tensor(in), in, r);
  if (t.scale != r.scale || t.block != r.block) {
    throw input_error(fmt::format(
        "{}: {} scales of 1x{}, but recipe {} needs {} of 1x{}", in,
        name_of(t.scale), t.block, r.name, name_of(r.scale), r.block));
  }
  return t;
}

engine::block_scaled_operand operand_of(const block_tensor& t,
                                        const prepared_operand& elements) {
  matrix_view<const std::uint32_t> second;
  if (t.second.rows > 0) second = t.second.view();
  return {elements, t.scales.view(), second};
}

matrix<std::uint32_t> read_addend(const std::string& file, std::ptrdiff_t m,
                                  std::ptrdiff_t n) {
  if (file.empty()) return {};
  auto c = read_fp32(file);
  if (c.rows == m && c.cols == n) return c;
  throw input_error(fmt::format("{}: C must be {} x {}, not {} x {}", file, m,
                                n, c.rows, c.cols));
}

void write_result(const block_gemm_request& q, const block_recipe& r,
                  const matrix<std::uint32_t>& d) {
  const std::vector<std::size_t> shape{static_cast<std::size_t>(d.rows),
                                       static_cast<std::size_t>(d.cols)};
  if (r.output == fp32) {
    auto result = make_array<std::uint32_t>(shape, d.data);
    result.type = dtype::f32;
    return write_npy(q.out, result);
  }
  const std::vector<std::uint16_t> narrow(d.data.begin(), d.data.end());
  write_npy(q.out, make_array<std::uint16_t>(shape, narrow));
}

void report(const block_gemm_request& q, const block_recipe& r,
            const block_tensor& a, const block_tensor& b) {
  if (q.as_json) {
    json all{{"out", q.out},
             {"shape", {a.codes.rows, b.codes.rows}},
             {"k", a.codes.cols},
             {"recipe", q.recipe},
             {"a", zeroulp::name_of(a.element)},
             {"b", zeroulp::name_of(b.element)},
             {"conventions", {a.convention, b.convention}},
             {"output", zeroulp::name_of(r.output)}};
    if (!q.c.empty()) all["c"] = q.c;
    return print_json(all);
  }
  print(fmt::format(
      "{}: {} x {} {}, K = {}, {}, {} by {}{}\n", q.out, a.codes.rows,
      b.codes.rows, r.output == fp32 ? "float32" : "bf16 (uint16)",
      a.codes.cols, q.recipe, zeroulp::name_of(a.element),
      zeroulp::name_of(b.element), q.c.empty() ? "" : ", --c " + q.c));
}

}  // namespace

bool is_block_recipe(const std::string& text) {
  const auto& rows = all_block_recipes();
  return std::any_of(rows.begin(), rows.end(),
                     [&text](const auto& row) { return row.name == text; });
}

void run_block_gemm(const block_gemm_request& q) {
  check_result(q.out);
  const auto a = read_operand(q.a, q);
  const auto b = read_operand(q.b, q);
  block_recipe r = parse_block_recipe(q.recipe, a.element, b.element);
  if (!q.output.empty()) {
    r.output = parse_format(q.output);
    if (!(r.output == fp32 || r.output == bf16)) {
      throw input_error(fmt::format("--output {}: use fp32 or bf16", q.output));
    }
  }
  if (!q.c.empty()) r.end = epilogue::accumulate;
  const std::ptrdiff_t m = a.codes.rows;
  const std::ptrdiff_t n = b.codes.rows;
  if (a.codes.cols != b.codes.cols) {
    throw input_error(
        fmt::format("{} is {} x {}, {} is {} x {}: both must have the same K",
                    q.a, m, a.codes.cols, q.b, n, b.codes.cols));
  }
  const auto c = read_addend(q.c, m, n);
  matrix<std::uint32_t> d(m, n);
  matrix_view<const std::uint32_t> addend;
  if (!q.c.empty()) addend = c.view();
  const prepared_operand left(a.element, a.codes.view());
  const prepared_operand right(b.element, b.codes.view());
  engine::gemm(r, operand_of(a, left), operand_of(b, right), addend, d.view());
  write_result(q, r, d);
  report(q, r, a, b);
}

}  // namespace zeroulp::program
