// engine::dequantize: FP32 multiplication of decoded codes; for other targets
// the product rounded to odd, then once more, of each code or of each
// significand. What neither can do, the core does.

#include "src/arrays/lines.hpp"

namespace zeroulp::engine {
namespace {

struct dequantization {
  format from;
  group_shape group;
  const_code_view codes;
  matrix_view<const std::uint32_t> scales;
  format to;
  code_view out;

  std::ptrdiff_t width() const { return group.width(codes.cols); }

  /// The scales of row i.
  auto scales_of(std::ptrdiff_t i) const {
    const std::ptrdiff_t row = i / group.height(codes.rows);
    return [this, row](std::ptrdiff_t g) { return scales(row, g); };
  }

  /// Whether `range` holds the scales of n elements from (i, j) on.
  bool scales_in(const scale_range& range, std::ptrdiff_t i, std::ptrdiff_t j,
                 std::ptrdiff_t n) const {
    const auto scale = scales_of(i);
    const std::ptrdiff_t last = (j + n - 1) / width();
    for (std::ptrdiff_t g = j / width(); g <= last; ++g) {
      if (!range.holds(scale(g))) return false;
    }
    return true;
  }
};

/// Codes of few significands in wide groups: each significand is multiplied and
/// rounded once a group.
class by_significands {
 public:
  by_significands(const dequantization& d, bool in_rows)
      : d_(d),
        applies_(in_rows && d.codes.bytes == 1 && d.out.bytes == 2 &&
                 d.width() >= least_width && has_lookup(d.from, d.to)),
        range_(lookup_scales(d.from, d.to)) {
    if (!applies_) return;
    rule_ = make_lookup(d.from, d.to);
    encoding_ = make_encoding(d.to, rounding::nearest_even, cuda_nosat);
    const std::uint32_t fractions = 1u << d.from.man_bits;
    for (std::uint32_t k = 0; k < line; ++k) {
      const std::uint32_t exponent = k < 8 ? 0 : fractions;
      numbers_.word[k] = k < 16 ? as_fp32(d.from, exponent + k % fractions)
                                : numbers_.word[k - 16];
    }
  }

  /// Writes n elements from (i, j) on; or returns false: others must.
  bool write(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) const {
    if (!applies_ || !d_.scales_in(range_, i, j, n)) return false;
    const std::ptrdiff_t width = d_.width();
    const std::ptrdiff_t g = j / width;
    const std::ptrdiff_t groups = (j + n - 1) / width + 1 - g;
    const auto scale = d_.scales_of(i);
    line_buffer products;
    for (std::ptrdiff_t k = 0; k < groups; ++k) {
      std::fill_n(products.word + 16 * k, 16, scale(g + k));
    }
    const auto count = static_cast<std::size_t>(16 * groups);
    scale_line(scaling::multiply_exactly, numbers_.word, products.word,
               products.word, count);
    std::uint16_t tables[line];
    encode_line(encoding_, rounding::nearest_even, products.word, nullptr,
                tables, 2, count);
    return look_up_line(
        rule_, tables, static_cast<std::size_t>((g + 1) * width - j),
        static_cast<std::size_t>(width),
        static_cast<const std::uint8_t*>(address(d_.codes, i, j)),
        static_cast<std::uint16_t*>(address(d_.out, i, j)),
        static_cast<std::size_t>(n));
  }

 private:
  /// Narrower groups gain nothing; and the tables of a line fit into a buffer.
  static constexpr std::ptrdiff_t least_width = 32;

  const dequantization& d_;
  bool applies_;
  scale_range range_;
  significand_lookup rule_{};
  encoding encoding_{};
  line_buffer numbers_{};  ///< of the tables
};

void run(const dequantization& d) {
  const number_reader numbers(d.from, d.codes);
  const code_writer writer(d.to, rounding::nearest_even, cuda_nosat, d.out);
  const bool in_words = d.to == fp32;
  const bool in_rows = d.codes.col_stride == 1 && d.out.col_stride == 1;
  const by_significands lookup(d, in_rows);
  const scale_range exact = exact_scales(d.from, d.to);
  const auto do_line = [&](std::ptrdiff_t i, std::ptrdiff_t j,
                           std::ptrdiff_t n) {
    if (lookup.write(i, j, n)) return;
    line_buffer factors;
    line_buffer buffer;
    spread(j, n, d.width(), d.scales_of(i), factors.word);
    if (in_words ? !has_decoding(d.from) : !d.scales_in(exact, i, j, n)) {
      gather(d.codes, i, j, n, buffer.word);
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        buffer.word[k] =
            dequantized(d.from, buffer.word[k], factors.word[k], d.to);
      }
      return scatter(buffer.word, d.out, i, j, n);
    }
    const auto scale_to = [&](scaling how, std::uint32_t* words) {
      scale_line(how, numbers.read(i, j, n, buffer), factors.word, words,
                 static_cast<std::size_t>(n));
    };
    if (!in_words) {
      scale_to(scaling::multiply_exactly, buffer.word);
      writer.write(buffer.word, nullptr, i, j, n);
    } else if (in_rows) {
      scale_to(scaling::multiply,
               static_cast<std::uint32_t*>(address(d.out, i, j)));
    } else {
      scale_to(scaling::multiply, buffer.word);
      scatter(buffer.word, d.out, i, j, n);
    }
  };
  for_lines(d.codes.rows, d.codes.cols, in_rows, do_line);
}

}  // namespace

void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales, format to,
                code_view out) {
  check_width(from, codes, "dequantize, codes");
  check_width(to, out, "dequantize, output");
  check_shape(out, codes.rows, codes.cols, "dequantize, output",
              "the codes are");
  // An empty matrix has no scales, or some that nobody reads.
  if (codes.rows == 0 || codes.cols == 0) return;
  check_shape(scales, ceil_div(codes.rows, group.height(codes.rows)),
              ceil_div(codes.cols, group.width(codes.cols)),
              "dequantize, scales", "the groups are");
  if (by_reference()) {
    return reference::dequantize(from, group, codes, scales, to, out);
  }
  const float_mode nearest(float_mode::nearest);
  if (runs_down(codes)) {
    return run({from,
                {group.cols, group.rows},
                transposed(codes),
                scales.transposed(),
                to,
                transposed(out)});
  }
  run({from, group, codes, scales, to, out});
}

void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales,
                matrix_view<std::uint32_t> out) {
  dequantize(from, group, codes, scales, fp32, out);
}

}  // namespace zeroulp::engine
