// engine::retile. A tile is read in rows, as FP32 numbers, and written in
// columns through a block that stays in L1.
//
// FP32 numbers are what the core has between the codes where the scale kind is
// FP32. Where it is a power of two they are exact if no product leaves FP32's
// range; the core does the tiles in which one might.

#include "src/arrays/lines.hpp"
#include "src/arrays/scale.hpp"

namespace zeroulp::engine {
namespace {

constexpr std::ptrdiff_t block_rows = 64;
constexpr std::ptrdiff_t block_cols = 256;

class retiler {
 public:
  retiler(const retiling& r, const_code_view codes,
          matrix_view<const std::uint32_t> scales, code_view out,
          matrix_view<std::uint32_t> out_scales)
      : r_(r),
        codes_(codes),
        scales_(scales),
        out_(out),
        out_scales_(out_scales),
        width_(group_shape{1, r.tile}.width(codes.cols)),
        numbers_(r.from, codes),
        vectors_(has_decoding(r.from)),
        encoding_(
            has_encoding(r.to)
                ? make_encoding(r.to, rounding::nearest_even, keep_specials)
                : encoding{}),
        quantizer_{fp32, r.to, zeroulp_convention, r.scale, {0, 0}},
        max_(max_as_fp32(r.to)) {
    const unpacked max = decode(r.from, r.from.max_code());
    lowest_ = -149 - r.from.quantum_exponent();
    highest_ = 127 - (msb(max.significand) + max.exponent);
  }

  /// Does the columns [j, j + n) of the gi-th row of tiles, which are the rows
  /// [i, i + m); n <= block_cols.
  void run(std::ptrdiff_t gi, std::ptrdiff_t i, std::ptrdiff_t j,
           std::ptrdiff_t m, std::ptrdiff_t n) const {
    bool by_core = !vectors_ || !has_exact_products(i, j, m, n);
    line_buffer t;
    if (!by_core) {
      find_scales(i, j, m, n, t.word);
      for (std::ptrdiff_t k = 0; k < n; ++k) {
        out_scales_(j + k, gi) = t.word[k];
        by_core = by_core || !divides_exactly(r_.to, t.word[k]);
      }
    }
    if (!by_core) return write_codes(i, j, m, n, t.word);
    for (std::ptrdiff_t k = j; k < j + n; ++k) column_by_core(gi, i, k, m);
  }

 private:
  /// The factor of the code in row i under the g-th scale: NaN where the core
  /// makes NaN of every code.
  std::uint32_t factor(std::ptrdiff_t i, std::ptrdiff_t g) const {
    const std::uint32_t s = scales_(i, g);
    if (r_.scale == scale_kind::float32) return s;
    const bool normal = s >> 23 != 0;
    const bool power = s != 0 && s < fp32_infinity &&
                       (normal ? (s & 0x7fffff) == 0 : (s & (s - 1)) == 0);
    return power ? s : fp32_nan;
  }

  bool has_exact_products(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t m,
                          std::ptrdiff_t n) const {
    if (r_.scale == scale_kind::float32) return true;
    for (std::ptrdiff_t g = j / width_; g <= (j + n - 1) / width_; ++g) {
      for (std::ptrdiff_t k = i; k < i + m; ++k) {
        const std::uint32_t s = factor(k, g);
        if (s == fp32_nan) continue;
        const unpacked x = decode(fp32, s);
        const int e = msb(x.significand) + x.exponent;
        if (e < lowest_ || e > highest_) return false;
      }
    }
    return true;
  }

  /// The values of a line, n <= block_cols.
  void read(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n,
            line_buffer& values) const {
    line_buffer factors;
    spread(
        j, n, width_, [&](std::ptrdiff_t g) { return factor(i, g); },
        factors.word);
    scale_line(scaling::multiply, numbers_.read(i, j, n, values), factors.word,
               values.word, static_cast<std::size_t>(n));
  }

  void find_scales(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t m,
                   std::ptrdiff_t n, std::uint32_t* t) const {
    if (r_.rule == retile_rule::max_scale) {
      const auto of_rows = [&](std::ptrdiff_t g) {
        return detail::retiled_scale(r_, matrix_view<const std::uint8_t>(),
                                     scales_.block(i, g, m, 1));
      };
      return spread(j, n, width_, of_rows, t);
    }
    std::fill_n(t, n, 0u);
    for (std::ptrdiff_t k = i; k < i + m; ++k) {
      line_buffer values;
      read(k, j, n, values);
      fold_line(amax_rule::finite_only, false, values.word, t,
                static_cast<std::size_t>(n));
    }
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      t[k] = scale_of(quantizer_, max_, t[k]).scale;
    }
  }

  void write_codes(std::ptrdiff_t i0, std::ptrdiff_t j, std::ptrdiff_t m,
                   std::ptrdiff_t n, const std::uint32_t* t) const {
    for (std::ptrdiff_t i = i0; i < i0 + m; i += block_rows) {
      const std::ptrdiff_t rows = std::min(block_rows, i0 + m - i);
      with_type(out_, [&](auto out) {
        using element = std::remove_reference_t<decltype(out(0, 0))>;
        element block[block_rows][block_cols];
        for (std::ptrdiff_t k = 0; k < rows; ++k) {
          line_buffer values;
          const auto count = static_cast<std::size_t>(n);
          read(i + k, j, n, values);
          scale_line(scaling::divide_exactly, values.word, t, values.word,
                     count);
          encode_line(encoding_, rounding::nearest_even, values.word, nullptr,
                      block[k], sizeof(element), count);
        }
        for (std::ptrdiff_t c = 0; c < n; ++c) {
          element* to = &out(j + c, i);
          for (std::ptrdiff_t k = 0; k < rows; ++k) {
            to[k * out.col_stride] = block[k][c];
          }
        }
      });
    }
  }

  void column_by_core(std::ptrdiff_t gi, std::ptrdiff_t i, std::ptrdiff_t j,
                      std::ptrdiff_t m) const {
    with_type(codes_, [&](auto codes) {
      with_type(out_, [&](auto out) {
        zeroulp::retile(r_, codes.block(i, j, m, 1),
                        scales_.block(i, j / width_, m, 1),
                        out.block(j, i, 1, m), out_scales_.block(j, gi, 1, 1));
      });
    });
  }

  retiling r_;
  const_code_view codes_;
  matrix_view<const std::uint32_t> scales_;
  code_view out_;
  matrix_view<std::uint32_t> out_scales_;
  std::ptrdiff_t width_;
  number_reader numbers_;
  bool vectors_;
  encoding encoding_;
  quantizer quantizer_;
  std::uint32_t max_;
  int lowest_;   ///< exponents of scales that keep products
  int highest_;  ///< within FP32
};

}  // namespace

void retile(const retiling& r, const_code_view codes,
            matrix_view<const std::uint32_t> scales, code_view out,
            matrix_view<std::uint32_t> out_scales) {
  const std::ptrdiff_t m = codes.rows;
  const std::ptrdiff_t n = codes.cols;
  const group_shape tile{r.tile, r.tile};
  check_width(r.from, codes, "retile, codes");
  check_width(r.to, out, "retile, output");
  // An empty matrix has no scales, or some that nobody reads.
  if (m > 0 && n > 0) {
    check_shape(scales, m, ceil_div(n, tile.width(n)), "retile, scales",
                "the row tiles are");
  }
  check_shape(out, n, m, "retile, output", "the transpose is");
  check_shape(out_scales, n, ceil_div(m, tile.height(m)),
              "retile, output scales", "the column tiles are");
  if (by_reference()) {
    return reference::retile(r, codes, scales, out, out_scales);
  }
  const float_mode nearest(float_mode::nearest);
  const retiler job(r, codes, scales, out, out_scales);
  const std::ptrdiff_t height = tile.height(m);
  for_tiles(
      m, n, height, block_cols,
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t rows,
          std::ptrdiff_t cols) { job.run(i / height, i, j, rows, cols); },
      training_work);
}

}  // namespace zeroulp::engine
