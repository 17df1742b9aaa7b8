// engine::quantize_blocks and dequantize_blocks: amaxes and codes by the
// kernels of groups, bytes of scales by the core.

#include <fmt/format.h>

#include "src/arrays/lines.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::engine {
namespace {

/// The scales of the second level: as many as it has.
std::ptrdiff_t second_rows(second_level level, std::ptrdiff_t rows) {
  return level == second_level::row ? rows : 1;
}

template <class T>
void check_request(const block_quantizer& q, const const_code_view& x,
                   const code_view& codes,
                   const matrix_view<std::uint8_t>& scales,
                   const matrix_view<T>& second) {
  if (!is_valid(q) || q.how.block > line) {
    throw input_error(
        "block quantizer: input fp32, bf16 or fp16; ue8m0 with one level, or "
        "e2m1 with ue4m3 and a largest scale of 1 to 448; blocks of 1 to 1024 "
        "elements");
  }
  check_width(q.from, x, "quantize_blocks, input");
  check_width(q.to, codes, "quantize_blocks, codes");
  check_shape(codes, x.rows, x.cols, "quantize_blocks, codes", "the input is");
  check_shape(scales, x.rows, ceil_div(x.cols, q.how.block),
              "quantize_blocks, scales", "the blocks are");
  if (q.level != second_level::none) {
    check_shape(second, second_rows(q.level, x.rows), 1,
                "quantize_blocks, second level", "its scales are");
  }
}

/// What elements are multiplied by is what quantize_by_scale takes for it.
bool is_by_scale(const block_quantizer& q, group_scale s) {
  return q.how.how.element != element_rule::inverse ||
         s.inverse == given_scale(s.scale).inverse;
}

/// By the scales t and T of each row, or one for all: bytes by the core, codes
/// by the scale of each block. What a convention multiplies by besides goes
/// through the core.
void quantize_by(const block_quantizer& q, const const_code_view& x,
                 const std::vector<group_scale>& second, const code_view& codes,
                 const matrix_view<std::uint8_t>& scales) {
  const quantizer elements = q.elements();
  const std::ptrdiff_t block = q.how.block;
  const std::ptrdiff_t blocks = scales.cols;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(x.rows * blocks));
  const matrix_view<std::uint32_t> totals(words.data(), x.rows, blocks);
  group_amaxes(elements, x, totals);
  const auto t_of = [&second](std::ptrdiff_t i) {
    return second[second.size() == 1 ? 0 : static_cast<std::size_t>(i)];
  };
  for_tiles(
      x.rows, blocks, 1, line,
      [&](std::ptrdiff_t i, std::ptrdiff_t k0, std::ptrdiff_t,
          std::ptrdiff_t n) {
        for (std::ptrdiff_t k = k0; k < k0 + n; ++k) {
          scales(i, k) = block_scale_byte(q, t_of(i), totals(i, k));
          totals(i, k) = element_scale(q, t_of(i), scales(i, k)).scale;
        }
      },
      core_work);
  quantize_by_scale(elements, x, totals, codes);
  const number_reader numbers(q.from, x);
  for_tiles(
      x.rows, blocks, 1, line,
      [&](std::ptrdiff_t i, std::ptrdiff_t k0, std::ptrdiff_t,
          std::ptrdiff_t n) {
        for (std::ptrdiff_t k = k0; k < k0 + n; ++k) {
          const group_scale s = element_scale(q, t_of(i), scales(i, k));
          if (is_by_scale(q, s)) continue;
          line_buffer buffer;
          const std::ptrdiff_t first = k * block;
          const std::ptrdiff_t count = std::min(block, x.cols - first);
          const std::uint32_t* from = numbers.read(i, first, count, buffer);
          for (std::ptrdiff_t e = 0; e < count; ++e) {
            const auto code = static_cast<std::uint32_t>(
                quantize_element(elements, s, from[e]));
            scatter(&code, codes, i, first + e, 1);
          }
        }
      },
      core_work);
}

}  // namespace

void quantize_blocks(const block_quantizer& q, const_code_view x,
                     code_view codes, matrix_view<std::uint8_t> scales,
                     matrix_view<std::uint32_t> second) {
  check_request(q, x, codes, scales, second);
  std::vector<group_scale> made{{fp32_one, fp32_one}};
  if (q.level != second_level::none) {
    const std::ptrdiff_t rows = second_rows(q.level, x.rows);
    std::vector<std::uint32_t> amaxes(static_cast<std::size_t>(rows));
    quantizer elements = q.elements();
    elements.group = {q.level == second_level::row ? 1 : 0, 0};
    if (!x.is_empty()) group_amaxes(elements, x, {amaxes.data(), rows, 1});
    made.resize(amaxes.size());
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      const auto at = static_cast<std::size_t>(i);
      made[at] = second_scale(q, amaxes[at]);
      second(i, 0) = made[at].scale;
    }
  }
  if (!x.is_empty()) quantize_by(q, x, made, codes, scales);
}

void quantize_blocks_by_second(const block_quantizer& q, const_code_view x,
                               matrix_view<const std::uint32_t> second,
                               code_view codes,
                               matrix_view<std::uint8_t> scales) {
  check_request(q, x, codes, scales, second);
  std::vector<group_scale> given{{fp32_one, fp32_one}};
  if (q.level != second_level::none) {
    given.resize(static_cast<std::size_t>(second.rows));
    for (std::ptrdiff_t i = 0; i < second.rows; ++i) {
      given[static_cast<std::size_t>(i)] = given_scale(second(i, 0));
    }
  }
  if (!x.is_empty()) quantize_by(q, x, given, codes, scales);
}

void dequantize_blocks(format f, block_scale kind, int block,
                       const_code_view codes,
                       matrix_view<const std::uint8_t> scales,
                       matrix_view<const std::uint32_t> second, format to,
                       code_view out) {
  if (block < 1 || f.bits() > 24) {
    throw input_error(
        "dequantize_blocks: blocks of 1 element or more, formats "
        "of at most 24 bits");
  }
  check_width(f, codes, "dequantize_blocks, codes");
  check_width(to, out, "dequantize_blocks, output");
  check_shape(out, codes.rows, codes.cols, "dequantize_blocks, output",
              "the codes are");
  check_shape(scales, codes.rows, ceil_div(codes.cols, block),
              "dequantize_blocks, scales", "the blocks are");
  const bool by_row = second.rows > 1;
  if (second.data != nullptr) {
    check_shape(second, by_row ? codes.rows : 1, 1,
                "dequantize_blocks, second level", "its scales are");
  }
  for_lines(
      codes.rows, codes.cols, true,
      [&](std::ptrdiff_t i, std::ptrdiff_t k0, std::ptrdiff_t n) {
        line_buffer words;
        gather(codes, i, k0, n, words.word);
        const std::uint32_t t =
            second.data == nullptr ? fp32_one : second(by_row ? i : 0, 0);
        for (std::ptrdiff_t k = k0; k < k0 + n; ++k) {
          auto& word = words.word[k - k0];
          word = static_cast<std::uint32_t>(dequantize_block_element(
              f, word, kind, scales(i, k / block), t, to));
        }
        scatter(words.word, out, i, k0, n);
      },
      core_work);
}

}  // namespace zeroulp::engine
