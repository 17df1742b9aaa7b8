// engine::quantize_blocks and dequantize_blocks: amaxes and codes by the
// kernels of groups, bytes of scales by the core. Under stochastic rounding
// what elements are multiplied by goes through the kernels of conversions.

#include <fmt/format.h>

#include <bit>

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
                   const matrix_view<T>& second, const random_view& random) {
  if (!is_valid(q) || q.how.block > line) {
    throw input_error(
        "block quantizer: input fp32, bf16 or fp16; ue8m0 with one level, or "
        "e2m1 with ue4m3 and a largest scale of 1 to 448; blocks of 1 to 1024 "
        "elements; blocks of several rows have no second level of rows");
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
  if (random.data != nullptr) {
    check_shape(random, x.rows, x.cols, "quantize_blocks, random bits",
                "the input is");
  }
}

/// What elements are multiplied by is what quantize_by_scale takes for it.
bool is_by_scale(const block_quantizer& q, group_scale s) {
  return q.how.how.element != element_rule::inverse ||
         s.inverse == given_scale(s.scale).inverse;
}

/// One matrix, its blocks and their scales.
class block_run {
 public:
  /// `second` has t and T of each row, or one for all.
  block_run(const block_quantizer& q, const const_code_view& x,
            const std::vector<group_scale>& second, const random_view& random,
            const code_view& codes, const matrix_view<std::uint8_t>& scales)
      : q_(q),
        elements_(q.elements()),
        x_(x),
        second_(second),
        random_(random),
        codes_(codes),
        scales_(scales),
        numbers_(q.from, x),
        writer_(q.to, rounding::stochastic, q.how.how.conversion, codes) {}

  void quantize() {
    const std::ptrdiff_t bands = ceil_div(x_.rows, q_.block_rows);
    const std::ptrdiff_t blocks = scales_.cols;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(bands * blocks));
    const matrix_view<std::uint32_t> totals(words.data(), bands, blocks);
    group_amaxes(elements_, x_, totals);
    for_each_block([&](std::ptrdiff_t band, std::ptrdiff_t k) {
      const group_scale t = second_of(band);
      const std::uint8_t byte = block_scale_byte(q_, t, totals(band, k));
      for_rows(band, [&](std::ptrdiff_t i) { scales_(i, k) = byte; });
      totals(band, k) = element_scale(q_, t, byte).scale;
    });
    if (random_.data == nullptr) {
      quantize_by_scale(elements_, x_, totals, codes_);
    }
    for_each_block([&](std::ptrdiff_t band, std::ptrdiff_t k) {
      const group_scale s =
          element_scale(q_, second_of(band), scales_(band * q_.block_rows, k));
      if (random_.data == nullptr && is_by_scale(q_, s)) return;
      for_rows(band, [&](std::ptrdiff_t i) { quantize_row(s, i, k); });
    });
  }

 private:
  template <class Use>
  void for_each_block(Use use) const {
    for_tiles(
        ceil_div(x_.rows, q_.block_rows), scales_.cols, 1, line,
        [&](std::ptrdiff_t band, std::ptrdiff_t k0, std::ptrdiff_t,
            std::ptrdiff_t n) {
          for (std::ptrdiff_t k = k0; k < k0 + n; ++k) use(band, k);
        },
        core_work);
  }

  template <class Use>
  void for_rows(std::ptrdiff_t band, Use use) const {
    const std::ptrdiff_t first = band * q_.block_rows;
    const std::ptrdiff_t end = std::min(x_.rows, first + q_.block_rows);
    for (std::ptrdiff_t i = first; i < end; ++i) use(i);
  }

  group_scale second_of(std::ptrdiff_t band) const {
    return second_[second_.size() == 1 ? 0 : static_cast<std::size_t>(band)];
  }

  /// One row of block k, whose scale is `s`: FP32 products by the host, which
  /// for_tiles has round to nearest, and all else by the core.
  void quantize_row(group_scale s, std::ptrdiff_t i, std::ptrdiff_t k) const {
    line_buffer buffer;
    const std::ptrdiff_t first = k * q_.how.block;
    const std::ptrdiff_t n =
        std::min<std::ptrdiff_t>(q_.how.block, x_.cols - first);
    const std::uint32_t* x = numbers_.read(i, first, n, buffer);
    line_buffer out;
    const bool by_host =
        random_.data != nullptr && q_.how.how.element == element_rule::inverse;
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      out.word[e] =
          by_host
              ? std::bit_cast<std::uint32_t>(std::bit_cast<float>(x[e]) *
                                             std::bit_cast<float>(s.inverse))
              : static_cast<std::uint32_t>(quantize_element(
                    elements_, s, x[e], rounder_of(random_, i, first + e)));
    }
    if (!by_host) return scatter(out.word, codes_, i, first, n);
    line_buffer bits;
    writer_.write(out.word, words_at(random_, i, first, n, bits), i, first, n);
  }

  block_quantizer q_;
  quantizer elements_;
  const_code_view x_;
  const std::vector<group_scale>& second_;
  random_view random_;
  code_view codes_;
  matrix_view<std::uint8_t> scales_;
  number_reader numbers_;
  code_writer writer_;
};

}  // namespace

void quantize_blocks(const block_quantizer& q, const_code_view x,
                     code_view codes, matrix_view<std::uint8_t> scales,
                     matrix_view<std::uint32_t> second, random_view random) {
  check_request(q, x, codes, scales, second, random);
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
  if (!x.is_empty()) {
    block_run(q, x, made, random, codes, scales).quantize();
  }
}

void quantize_blocks_by_second(const block_quantizer& q, const_code_view x,
                               matrix_view<const std::uint32_t> second,
                               code_view codes,
                               matrix_view<std::uint8_t> scales,
                               random_view random) {
  check_request(q, x, codes, scales, second, random);
  std::vector<group_scale> given{{fp32_one, fp32_one}};
  if (q.level != second_level::none) {
    given.resize(static_cast<std::size_t>(second.rows));
    for (std::ptrdiff_t i = 0; i < second.rows; ++i) {
      given[static_cast<std::size_t>(i)] = given_scale(second(i, 0));
    }
  }
  if (!x.is_empty()) {
    block_run(q, x, given, random, codes, scales).quantize();
  }
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
