// engine::hadamard: butterflies in the host's FP32, or products by
// engine::multiply.

#include <fmt/format.h>

#include <bit>

#include "src/arrays/lines.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::engine {
namespace {

/// FP32 by the host, which for_tiles has round to nearest: NaNs have any bits.
struct host_fp32 {
  using number = float;
  static float add(float a, float b) { return a + b; }
  static float subtract(float a, float b) { return a - b; }
};

void by_butterflies(const hadamard_transform& t, const std::int8_t* signs,
                    const const_code_view& x, const code_view& out) {
  const number_reader numbers(t.from, x);
  const code_writer writer(t.to, rounding::nearest_even, cuda_nosat, out);
  const auto scale = std::bit_cast<float>(scale_of(t));
  for_tiles(x.rows, x.cols, 1, max_hadamard_size,
            [&](std::ptrdiff_t i, std::ptrdiff_t k, std::ptrdiff_t,
                std::ptrdiff_t n) {
              line_buffer buffer;
              const std::uint32_t* from = numbers.read(i, k, n, buffer);
              float v[max_hadamard_size];
              for (std::ptrdiff_t e = 0; e < n; ++e) {
                v[e] = std::bit_cast<float>(from[e]);
                if (signs != nullptr && signs[e % t.size] < 0) v[e] = -v[e];
              }
              line_buffer sums;
              for (std::ptrdiff_t at = 0; at < n; at += t.size) {
                hadamard_butterfly<host_fp32>(v + at, t.size);
              }
              for (std::ptrdiff_t e = 0; e < n; ++e) {
                sums.word[e] = std::bit_cast<std::uint32_t>(v[e] * scale);
              }
              writer.write(sums.word, nullptr, i, k, n);
            });
}

void by_products(const hadamard_transform& t, const path& p,
                 const std::int8_t* signs, const const_code_view& x,
                 const code_view& out) {
  std::vector<std::uint32_t> codes;
  for (int j = 0; j < t.size; ++j) {
    for (int e = 0; e < t.size; ++e) {
      codes.push_back(
          static_cast<std::uint32_t>(hadamard_element(t, p, signs, j, e)));
    }
  }
  const prepared_operand b(
      p.b, matrix_view<const std::uint32_t>(codes.data(), t.size, t.size));
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(x.rows) *
                                  static_cast<std::size_t>(t.size));
  const matrix_view<std::uint32_t> d(sums.data(), x.rows, t.size);
  for (std::ptrdiff_t k = 0; k < x.cols; k += t.size) {
    const prepared_operand a(t.from, {address(x, 0, k), x.rows, t.size,
                                      x.row_stride, x.col_stride, x.bytes});
    multiply(p, a, b, {}, d);
    recode(p.acc.stored, d, t.to,
           {address(out, 0, k), x.rows, t.size, out.row_stride, out.col_stride,
            out.bytes},
           rounding::nearest_even, cuda_nosat);
  }
}

}  // namespace

void hadamard(const hadamard_transform& t, const path* by,
              const std::int8_t* signs, const_code_view x, code_view out) {
  if (!is_valid(t)) {
    throw input_error(
        "hadamard: formats are fp32, bf16 or fp16, sizes powers of two from 2 "
        "to 1024");
  }
  check_width(t.from, x, "hadamard, input");
  check_width(t.to, out, "hadamard, output");
  check_shape(out, x.rows, x.cols, "hadamard, output", "the input is");
  if (x.cols % t.size != 0) {
    throw input_error(fmt::format(
        "hadamard: rows of {} elements: no multiple of {}", x.cols, t.size));
  }
  if (by != nullptr && !(by->a == t.from)) {
    throw input_error(fmt::format("hadamard: the path takes {}, but x is {}",
                                  name_of(by->a), name_of(t.from)));
  }
  if (x.is_empty()) return;
  if (by == nullptr) return by_butterflies(t, signs, x, out);
  by_products(t, *by, signs, x, out);
}

}  // namespace zeroulp::engine
