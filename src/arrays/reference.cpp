#include "src/arrays/reference.hpp"

#include <vector>

#include "src/arrays/lines.hpp"
#include "zeroulp/core/pack.hpp"

namespace zeroulp::engine::reference {
namespace {

/// A dense matrix of words.
struct words {
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
  std::vector<std::uint32_t> data;

  words(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n)) {}
  explicit words(const const_code_view& v) : words(v.rows, v.cols) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      gather(v, i, 0, cols, data.data() + i * cols);
    }
  }
  matrix_view<const std::uint32_t> in() const {
    return {data.data(), rows, cols};
  }
  matrix_view<std::uint32_t> out() { return {data.data(), rows, cols}; }
  void write(const code_view& v) const {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      scatter(data.data() + i * cols, v, i, 0, cols);
    }
  }
};

}  // namespace

void recode(format from, const_code_view in, format to, code_view out,
            rounding mode, policy how,
            matrix_view<const std::uint32_t> random) {
  words x(in);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      const rounder r{mode, mode == rounding::stochastic ? random(i, j) : 0};
      auto& word = x.out()(i, j);
      word =
          static_cast<std::uint32_t>(zeroulp::recode(from, word, to, r, how));
    }
  }
  x.write(out);
}

void quantize(const quantizer& q, const_code_view x,
              matrix_view<const std::uint32_t> given, bool by_scale,
              code_view codes, matrix_view<std::uint32_t> scales,
              matrix_view<std::uint32_t> amaxes) {
  const words from(x);
  words to(x.rows, x.cols);
  if (by_scale) {
    quantize_by_scale(q, from.in(), given, to.out());
    return to.write(codes);
  }
  for_each_group(q.group, x.rows, x.cols,
                 [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i,
                     std::ptrdiff_t j, std::ptrdiff_t m, std::ptrdiff_t n) {
                   const auto group = from.in().block(i, j, m, n);
                   const std::uint32_t largest = given.data != nullptr
                                                     ? given(gi, gj)
                                                     : group_amax(q, group);
                   if (amaxes.data != nullptr) amaxes(gi, gj) = largest;
                   if (codes.data == nullptr) return;
                   scales(gi, gj) = quantize_group(q, group, largest,
                                                   to.out().block(i, j, m, n));
                 });
  if (codes.data != nullptr) to.write(codes);
}

void dequantize(format from, group_shape group, const_code_view codes,
                matrix_view<const std::uint32_t> scales, format to,
                code_view out) {
  words x(codes);
  const std::ptrdiff_t h = group.height(x.rows);
  const std::ptrdiff_t w = group.width(x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      auto& word = x.out()(i, j);
      word = dequantized(from, word, scales(i / h, j / w), to);
    }
  }
  x.write(out);
}

void retile(const retiling& r, const_code_view codes,
            matrix_view<const std::uint32_t> scales, code_view out,
            matrix_view<std::uint32_t> out_scales) {
  const words x(codes);
  words y(x.cols, x.rows);
  zeroulp::retile(r, x.in(), scales, y.out(), out_scales);
  y.write(out);
}

void pack(bool as_words, const_code_view codes, matrix_view<std::uint8_t> out) {
  const words x(codes);
  as_words ? zeroulp::pack_words(x.in(), out)
           : zeroulp::pack_bytes(x.in(), out);
}

void unpack(bool as_words, matrix_view<const std::uint8_t> packed,
            code_view codes) {
  words x(codes.rows, codes.cols);
  as_words ? zeroulp::unpack_words(packed, x.out())
           : zeroulp::unpack_bytes(packed, x.out());
  x.write(codes);
}

}  // namespace zeroulp::engine::reference
