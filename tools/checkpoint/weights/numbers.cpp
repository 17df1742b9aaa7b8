#include "tools/checkpoint/weights/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "zeroulp/arrays.hpp"

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

std::ptrdiff_t at(count_t n) { return static_cast<std::ptrdiff_t>(n); }

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// fl32(s OP g): one operation of the host, nearest-even.
void apply_second(const quantized& q, float second,
                  std::vector<std::uint32_t>& words) {
  for (auto& w : words) {
    const float s = as_float(w);
    w = std::bit_cast<std::uint32_t>(
        q.family->use == second_use::multiply ? s * second : s / second);
  }
}

float second_of(const checkpoint& c, const quantized& q) {
  const window w = c.map(*q.second, 0, 4);
  float g = 0;
  std::memcpy(&g, w.data(), sizeof(g));
  return g;
}

/// Elements of `type` as FP32 bits.
void widen(element type, const std::byte* data, count_t count,
           std::uint32_t* out) {
  const format f = scale_format(type);
  if (f == fp32) {
    std::memcpy(out, data, count * 4);
    return;
  }
  const engine::const_code_view in(data, 1, at(count), at(count), 1,
                                   storage_bytes(f));
  engine::recode(f, in, fp32, matrix_view<std::uint32_t>(out, 1, at(count)),
                 rounding::nearest_even, ocp_nonsaturate);
}

/// The bytes of a row of packed codes.
count_t packed_bytes(count_t cols) { return cols / 2; }

void unpack(const std::byte* in, count_t bytes, std::uint8_t* out) {
  for (count_t i = 0; i < bytes; ++i) {
    const auto b = std::to_integer<std::uint8_t>(in[i]);
    out[2 * i] = b & 0xf;
    out[2 * i + 1] = b >> 4;
  }
}

/// The bytes of the rows of a tile, and where each begins.
struct rows_window {
  window bytes;
  count_t stride = 0;
  const std::byte* row(count_t i) const { return bytes.data() + i * stride; }
};

/// Bytes [first, first + length) of each of the m rows from row i of matrix
/// `outer` on, rows of `stride` bytes.
rows_window map_rows(const checkpoint& c, const tensor& t, count_t row,
                     count_t m, count_t stride, count_t first, count_t length) {
  if (m == 0 || length == 0) return {};
  const count_t from = row * stride + first;
  const bool whole = first == 0 && length == stride;
  return {c.map(t, from, (m - 1) * stride + length, whole), stride};
}

/// The stored scales of a tile.
tile_scales groups_of(const checkpoint& c, const quantized& q, const tile& t) {
  const count_t gi = t.i / q.height();
  const count_t gj = t.j / q.width();
  return read_scales(c, q, t.outer, gi, gj,
                     (t.i + t.m - 1) / q.height() + 1 - gi,
                     (t.j + t.n - 1) / q.width() + 1 - gj);
}

/// (code * s) OP g: the first product is exact in FP32.
void dequantize_codes_first(const checkpoint& c, const quantized& q,
                            const tile& t, const std::uint8_t* codes, format to,
                            std::byte* out) {
  const auto s = groups_of(c, q, t);
  std::vector<std::uint32_t> products(t.count());
  const matrix_view<std::uint32_t> numbers(products.data(), at(t.m), at(t.n));
  engine::dequantize(
      q.code, q.group, matrix_view<const std::uint8_t>(codes, at(t.m), at(t.n)),
      matrix_view<const std::uint32_t>(s.words.data(), at(s.rows), at(s.cols)),
      numbers);
  const float g = second_of(c, q);
  const engine::code_view result(out, at(t.m), at(t.n), at(t.n), 1,
                                 storage_bytes(to));
  if (q.family->use == second_use::multiply) {
    const auto word = std::bit_cast<std::uint32_t>(g);
    engine::dequantize(fp32, {0, 0}, numbers,
                       matrix_view<const std::uint32_t>(&word, 1, 1), to,
                       result);
    return;
  }
  // A quotient is rounded to FP32 first: no format has it.
  apply_second(q, g, products);
  engine::recode(fp32, numbers, to, result, rounding::nearest_even, cuda_nosat);
}

}  // namespace

void for_each_tile(const matrices& m,
                   const std::function<void(const tile&)>& use) {
  if (m.outer == 0 || m.rows == 0 || m.cols == 0) return;
  // Whole rows, or where a strip of groups is large, a part of it.
  const auto up = [](count_t n, count_t unit) {
    return std::max<count_t>(n / unit, 1) * unit;
  };
  const bool fits = m.cols <= tile_numbers / std::min(m.height, tile_numbers);
  const count_t height = fits ? up(tile_numbers / m.cols, m.height) : m.height;
  const count_t width =
      fits ? m.cols
           : up(tile_numbers / std::min(m.height, tile_numbers), m.width);
  for (count_t o = 0; o < m.outer; ++o) {
    for (count_t i = 0; i < m.rows; i += height) {
      for (count_t j = 0; j < m.cols; j += width) {
        use({o, i, j, std::min(height, m.rows - i),
             std::min(width, m.cols - j)});
      }
    }
  }
}

void for_each_piece(count_t bytes,
                    const std::function<void(count_t, count_t)>& use) {
  constexpr count_t most = count_t{1} << 22;
  for (count_t from = 0; from < bytes; from += most) {
    use(from, std::min(most, bytes - from));
  }
}

matrices matrices_of(const quantized& q) {
  // A group of a whole dimension may be cut anywhere: its scale is one.
  const bool tall = q.group.rows <= 0;
  const bool wide = q.group.cols <= 0;
  return {q.outer, q.rows, q.cols, tall ? 1 : q.height(),
          wide ? 2 : q.width()};  // 2: a byte of packed codes
}

matrices matrices_of(const tensor& t) {
  matrices m;
  if (!t.shape.empty()) m.cols = t.shape.back();
  m.rows = m.cols == 0 ? 0 : t.count() / m.cols;
  return m;
}

tile_scales read_scales(const checkpoint& c, const quantized& q, count_t outer,
                        count_t gi, count_t gj, count_t gm, count_t gn) {
  tile_scales s{{}, gm, gn};
  if (q.scale == nullptr) {
    s.words.assign(gm * gn, fp32_one);
    return s;
  }
  s.words.resize(gm * gn);
  const auto bytes = static_cast<count_t>(bits_of(q.scale->type) / 8);
  const auto rows = map_rows(c, *q.scale, outer * q.grid_rows() + gi, gm,
                             q.grid_cols() * bytes, gj * bytes, gn * bytes);
  for (count_t i = 0; i < gm; ++i) {
    widen(q.scale->type, rows.row(i), gn, s.words.data() + i * gn);
  }
  return s;
}

tile_scales scales_of(const checkpoint& c, const quantized& q, const tile& t) {
  auto s = groups_of(c, q, t);
  if (q.second != nullptr) apply_second(q, second_of(c, q), s.words);
  return s;
}

void read_codes(const checkpoint& c, const quantized& q, const tile& t,
                std::vector<std::uint8_t>& codes) {
  codes.resize(t.count());
  const bool packed = q.packed != packing::none;
  const auto bytes = [&](count_t n) { return packed ? packed_bytes(n) : n; };
  const auto rows = map_rows(c, *q.weight, t.outer * q.rows + t.i, t.m,
                             bytes(q.cols), bytes(t.j), bytes(t.n));
  for (count_t i = 0; i < t.m; ++i) {
    auto* row = codes.data() + i * t.n;
    if (packed) {
      unpack(rows.row(i), bytes(t.n), row);
    } else {
      std::memcpy(row, rows.row(i), t.n);
    }
  }
}

void dequantize_tile(const checkpoint& c, const quantized& q, const tile& t,
                     format to, const reading& how, std::byte* out) {
  if (t.count() == 0) return;
  // Codes of a byte are taken where they lie.
  std::vector<std::uint8_t> unpacked;
  rows_window direct;
  engine::const_code_view codes;
  if (q.packed == packing::none) {
    direct =
        map_rows(c, *q.weight, t.outer * q.rows + t.i, t.m, q.cols, t.j, t.n);
    codes = {direct.row(0), at(t.m), at(t.n), at(q.cols), 1, 1};
  } else {
    read_codes(c, q, t, unpacked);
    codes = {unpacked.data(), at(t.m), at(t.n), at(t.n), 1, 1};
  }
  if (q.second != nullptr && how.order == product_order::codes) {
    const format first = how.via_fp32 ? fp32 : to;
    if (!how.via_fp32 || to == fp32) {
      return dequantize_codes_first(c, q, t, unpacked.data(), first, out);
    }
    std::vector<std::uint32_t> words(t.count());
    dequantize_codes_first(c, q, t, unpacked.data(), fp32,
                           reinterpret_cast<std::byte*>(words.data()));
    engine::recode(
        fp32, matrix_view<const std::uint32_t>(words.data(), at(t.m), at(t.n)),
        to,
        engine::code_view(out, at(t.m), at(t.n), at(t.n), 1, storage_bytes(to)),
        rounding::nearest_even, cuda_nosat);
    return;
  }
  const auto s = scales_of(c, q, t);
  const matrix_view<const std::uint32_t> scales(s.words.data(), at(s.rows),
                                                at(s.cols));
  const engine::code_view result(out, at(t.m), at(t.n), at(t.n), 1,
                                 storage_bytes(to));
  if (!how.via_fp32 || to == fp32) {
    return engine::dequantize(q.code, q.group, codes, scales, to, result);
  }
  std::vector<std::uint32_t> words(t.count());
  const matrix_view<std::uint32_t> numbers(words.data(), at(t.m), at(t.n));
  engine::dequantize(q.code, q.group, codes, scales, numbers);
  engine::recode(fp32, numbers, to, result, rounding::nearest_even, cuda_nosat);
}

void read_elements(const checkpoint& c, const tensor& t, const tile& part,
                   std::vector<std::byte>& out) {
  const auto bytes = static_cast<count_t>(bits_of(t.type) / 8);
  const auto m = matrices_of(t);
  out.resize(part.count() * bytes);
  const auto rows = map_rows(c, t, part.i, part.m, m.cols * bytes,
                             part.j * bytes, part.n * bytes);
  for (count_t i = 0; i < part.m; ++i) {
    std::memcpy(out.data() + i * part.n * bytes, rows.row(i), part.n * bytes);
  }
}

bool is_numeric(element type) {
  const auto& row = row_of(type);
  return row.holds && row.bits >= 8 && row.bits <= 32;
}

void read_fp32(const checkpoint& c, const tensor& t, const quantized* q,
               const tile& part, const reading& how,
               std::vector<std::uint32_t>& out) {
  out.resize(part.count());
  if (q != nullptr) {
    return dequantize_tile(c, *q, part, fp32, how,
                           reinterpret_cast<std::byte*>(out.data()));
  }
  std::vector<std::byte> elements;
  read_elements(c, t, part, elements);
  widen(t.type, elements.data(), part.count(), out.data());
}

}  // namespace zeroulp::checkpoint
