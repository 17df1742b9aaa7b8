#include "src/arrays/lines.hpp"

#include <fmt/format.h>

#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::engine {
const void* address(const const_code_view& v, std::ptrdiff_t i,
                    std::ptrdiff_t j) {
  return static_cast<const std::byte*>(v.data) +
         (i * v.row_stride + j * v.col_stride) * v.bytes;
}

void* address(const code_view& v, std::ptrdiff_t i, std::ptrdiff_t j) {
  return static_cast<std::byte*>(v.data) +
         (i * v.row_stride + j * v.col_stride) * v.bytes;
}

void gather(const const_code_view& v, std::ptrdiff_t i, std::ptrdiff_t j,
            std::ptrdiff_t n, std::uint32_t* out) {
  with_type(v, [&](auto from) {
    for (std::ptrdiff_t k = 0; k < n; ++k) out[k] = from(i, j + k);
  });
}

const std::uint32_t* words_at(const const_code_view& v, std::ptrdiff_t i,
                              std::ptrdiff_t j, std::ptrdiff_t n,
                              line_buffer& buffer) {
  if (v.bytes == 4 && v.col_stride == 1) {
    return static_cast<const std::uint32_t*>(address(v, i, j));
  }
  gather(v, i, j, n, buffer.word);
  return buffer.word;
}

void scatter(const std::uint32_t* codes, const code_view& v, std::ptrdiff_t i,
             std::ptrdiff_t j, std::ptrdiff_t n) {
  with_type(v, [&](auto to) {
    using element = std::remove_reference_t<decltype(to(0, 0))>;
    for (std::ptrdiff_t k = 0; k < n; ++k) {
      to(i, j + k) = static_cast<element>(codes[k]);
    }
  });
}

number_reader::number_reader(format from, const_code_view codes)
    : from_(from),
      codes_(codes),
      decodes_(has_decoding(from)),
      decoding_(decodes_ ? make_decoding(from, ocp_nonsaturate) : decoding{}) {}

const std::uint32_t* number_reader::read(std::ptrdiff_t i, std::ptrdiff_t j,
                                         std::ptrdiff_t n,
                                         line_buffer& buffer) const {
  if (from_ == fp32) return words_at(codes_, i, j, n, buffer);
  const auto count = static_cast<std::size_t>(n);
  if (decodes_ && codes_.col_stride == 1) {
    decode_line(decoding_, address(codes_, i, j), codes_.bytes, buffer.word,
                count);
    return buffer.word;
  }
  gather(codes_, i, j, n, buffer.word);
  if (decodes_) {
    decode_line(decoding_, buffer.word, 4, buffer.word, count);
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      buffer.word[k] = as_fp32(from_, buffer.word[k]);
    }
  }
  return buffer.word;
}

code_writer::code_writer(format to, rounding mode, policy how, code_view codes)
    : to_(to),
      mode_(mode),
      how_(how),
      codes_(codes),
      encodes_(has_encoding(to)),
      encoding_(encodes_ ? make_encoding(to, mode, how) : encoding{}) {}

void code_writer::write(const std::uint32_t* numbers,
                        const std::uint32_t* random, std::ptrdiff_t i,
                        std::ptrdiff_t j, std::ptrdiff_t n) const {
  const auto count = static_cast<std::size_t>(n);
  if (encodes_ && codes_.col_stride == 1) {
    return encode_line(encoding_, mode_, numbers, random, address(codes_, i, j),
                       codes_.bytes, count);
  }
  line_buffer buffer;
  if (encodes_) {
    encode_line(encoding_, mode_, numbers, random, buffer.word, 4, count);
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      const rounder r{mode_, mode_ == rounding::stochastic ? random[k] : 0};
      buffer.word[k] =
          static_cast<std::uint32_t>(recode(fp32, numbers[k], to_, r, how_));
    }
  }
  scatter(buffer.word, codes_, i, j, n);
}

void check_width(format f, const const_code_view& v, const char* what) {
  if (f.bits() <= 8 * v.bytes) return;
  throw input_error(
      fmt::format("{}: elements of {} bytes do not hold the {} bits of {}",
                  what, v.bytes, f.bits(), name_of(f)));
}

void check_shape(std::ptrdiff_t v_rows, std::ptrdiff_t v_cols,
                 std::ptrdiff_t rows, std::ptrdiff_t cols, const char* what,
                 const char* of) {
  if (v_rows == rows && v_cols == cols) return;
  throw input_error(fmt::format("{}: {} x {}, but {} {} x {}", what, v_rows,
                                v_cols, of, rows, cols));
}

}  // namespace zeroulp::engine
