// 12-bit codes to bytes and back: the layouts of core/pack.hpp, eight codes at
// a time in two or three 64-bit words where rows are in one piece.

#include "zeroulp/core/pack.hpp"

#include <bit>
#include <cstring>

#include "src/arrays/lines.hpp"

namespace zeroulp::engine {
namespace {

constexpr std::ptrdiff_t group = 8;         ///< codes
constexpr std::ptrdiff_t group_bytes = 12;  ///< packed

/// Twelve bytes as two little-endian words.
struct packed_group {
  std::uint64_t low;
  std::uint32_t high;
};

packed_group load_group(const std::uint8_t* p) {
  packed_group g;
  std::memcpy(&g.low, p, 8);
  std::memcpy(&g.high, p + 8, 4);
  return g;
}

void store_group(const packed_group& g, std::uint8_t* p) {
  std::memcpy(p, &g.low, 8);
  std::memcpy(p + 8, &g.high, 4);
}

/// Eight codes, four a word, 16 bits each.
struct code_group {
  std::uint64_t first;
  std::uint64_t second;
};

template <class T>
code_group load_codes(const T* p) {
  code_group g{0, 0};
  if constexpr (sizeof(T) == 2) {
    std::memcpy(&g, p, 16);
  } else {
    for (int i = 0; i < 4; ++i) {
      g.first |= std::uint64_t{p[i] & 0xfffu} << (16 * i);
      g.second |= std::uint64_t{p[i + 4] & 0xfffu} << (16 * i);
    }
  }
  return g;
}

template <class T>
void store_codes(const code_group& g, T* p) {
  if constexpr (sizeof(T) == 2) {
    std::memcpy(p, &g, 16);
  } else {
    for (int i = 0; i < 4; ++i) {
      p[i] = static_cast<T>(g.first >> (16 * i) & 0xfff);
      p[i + 4] = static_cast<T>(g.second >> (16 * i) & 0xfff);
    }
  }
}

constexpr std::uint64_t pair_low = 0x00000fff00000fff;

/// Four 16-bit fields to 48 bits, the first lowest, and back.
constexpr std::uint64_t join(std::uint64_t x) {
  const std::uint64_t pairs = (x & pair_low) | (x >> 4 & pair_low << 12);
  return (pairs & 0xffffff) | pairs >> 32 << 24;
}
constexpr std::uint64_t split(std::uint64_t x) {
  const std::uint64_t pairs = (x & 0xffffff) | (x >> 24 & 0xffffff) << 32;
  return (pairs & pair_low) | (pairs >> 12 & pair_low) << 16;
}
static_assert(join(0xf432'f321'f210'f104) == 0x432'321'210'104);
static_assert(split(0x432'321'210'104) == 0x0432'0321'0210'0104);

/// The same, the first highest.
constexpr std::uint64_t join_down(std::uint64_t x) {
  const std::uint64_t pairs = (x & pair_low) << 12 | (x >> 16 & pair_low);
  return (pairs & 0xffffff) << 24 | pairs >> 32;
}
constexpr std::uint64_t split_down(std::uint64_t x) {
  const std::uint64_t pairs = (x >> 24 & 0xffffff) | (x & 0xffffff) << 32;
  return (pairs >> 12 & pair_low) | (pairs & pair_low) << 16;
}
static_assert(join_down(0xf104'f210'f321'f432) == 0x432'321'210'104);
static_assert(split_down(0x432'321'210'104) == 0x0104'0210'0321'0432);

/// Layouts: eight codes at once, and the core's functions for the rest.
struct byte_layout {
  static packed_group pack(const code_group& c) {
    const std::uint64_t a = join(c.first);
    const std::uint64_t b = join(c.second);
    return {a | b << 48, static_cast<std::uint32_t>(b >> 16)};
  }
  static code_group unpack(const packed_group& p) {
    const std::uint64_t b = p.low >> 48 | std::uint64_t{p.high} << 16;
    return {split(p.low), split(b)};
  }
  static constexpr auto core_pack = [](auto... v) {
    zeroulp::pack_bytes(v...);
  };
  static constexpr auto core_unpack = [](auto... v) {
    zeroulp::unpack_bytes(v...);
  };
  static std::ptrdiff_t row_bytes(std::ptrdiff_t n) { return packed_bytes(n); }
};

/// The 96 bits from the highest down, in words whose order is the opposite.
struct word_layout {
  static packed_group pack(const code_group& c) {
    const std::uint64_t a = join_down(c.first);
    const std::uint64_t b = join_down(c.second);
    const std::uint64_t second = (a & 0xffff) << 16 | b >> 32;
    return {a >> 16 | second << 32, static_cast<std::uint32_t>(b)};
  }
  static code_group unpack(const packed_group& p) {
    const std::uint64_t second = p.low >> 32;
    const std::uint64_t a = (p.low & 0xffffffff) << 16 | second >> 16;
    const std::uint64_t b = (second & 0xffff) << 32 | p.high;
    return {split_down(a), split_down(b)};
  }
  static constexpr auto core_pack = [](auto... v) {
    zeroulp::pack_words(v...);
  };
  static constexpr auto core_unpack = [](auto... v) {
    zeroulp::unpack_words(v...);
  };
  static std::ptrdiff_t row_bytes(std::ptrdiff_t n) {
    return packed_word_bytes(n);
  }
};

/// Calls part(codes, bytes, whole) for pieces of rows of n codes: views of the
/// codes and of their bytes, and how many groups of eight lie in one piece.
template <class Layout, class Code, class Byte, class Part>
void for_parts(matrix_view<Code> codes, matrix_view<Byte> bytes, Part part) {
  const bool whole = std::endian::native == std::endian::little &&
                     codes.col_stride == 1 && bytes.col_stride == 1;
  for_tiles(
      codes.rows, codes.cols, 1, 1024 * group,
      [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t,
          std::ptrdiff_t n) {
        part(codes.block(i, j, 1, n),
             bytes.block(i, j / group * group_bytes, 1, Layout::row_bytes(n)),
             whole ? n / group : 0);
      });
}

template <class Layout, class Code>
void pack(matrix_view<const Code> codes, matrix_view<std::uint8_t> out) {
  for_parts<Layout>(codes, out, [](auto from, auto to, std::ptrdiff_t whole) {
    for (std::ptrdiff_t g = 0; g < whole; ++g) {
      store_group(Layout::pack(load_codes(from.data + g * group)),
                  to.data + g * group_bytes);
    }
    const std::ptrdiff_t rest = from.cols - whole * group;
    if (rest == 0) return;
    Layout::core_pack(
        from.block(0, whole * group, 1, rest),
        to.block(0, whole * group_bytes, 1, Layout::row_bytes(rest)));
  });
}

template <class Layout, class Code>
void unpack(matrix_view<const std::uint8_t> packed, matrix_view<Code> codes) {
  for_parts<Layout>(
      codes, packed, [](auto to, auto from, std::ptrdiff_t whole) {
        for (std::ptrdiff_t g = 0; g < whole; ++g) {
          store_codes(Layout::unpack(load_group(from.data + g * group_bytes)),
                      to.data + g * group);
        }
        const std::ptrdiff_t rest = to.cols - whole * group;
        if (rest == 0) return;
        Layout::core_unpack(
            from.block(0, whole * group_bytes, 1, Layout::row_bytes(rest)),
            to.block(0, whole * group, 1, rest));
      });
}

template <class Layout>
void pack_any(const_code_view codes, matrix_view<std::uint8_t> out) {
  check_width(e5m6, codes, "pack, codes");
  check_shape(out, codes.rows, Layout::row_bytes(codes.cols), "pack, bytes",
              "the codes need");
  if (by_reference()) {
    return reference::pack(std::is_same_v<Layout, word_layout>, codes, out);
  }
  with_type(codes, [&](auto v) { pack<Layout>(v, out); });
}

template <class Layout>
void unpack_any(matrix_view<const std::uint8_t> packed, code_view codes) {
  check_width(e5m6, codes, "unpack, codes");
  check_shape(packed, codes.rows, Layout::row_bytes(codes.cols),
              "unpack, bytes", "the codes need");
  if (by_reference()) {
    return reference::unpack(std::is_same_v<Layout, word_layout>, packed,
                             codes);
  }
  with_type(codes, [&](auto v) { unpack<Layout>(packed, v); });
}

}  // namespace

void pack_bytes(const_code_view codes, matrix_view<std::uint8_t> out) {
  pack_any<byte_layout>(codes, out);
}

void unpack_bytes(matrix_view<const std::uint8_t> packed, code_view codes) {
  unpack_any<byte_layout>(packed, codes);
}

void pack_words(const_code_view codes, matrix_view<std::uint8_t> out) {
  pack_any<word_layout>(codes, out);
}

void unpack_words(matrix_view<const std::uint8_t> packed, code_view codes) {
  unpack_any<word_layout>(packed, codes);
}

}  // namespace zeroulp::engine
