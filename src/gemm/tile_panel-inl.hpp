// Defines the panels of a step: the elements of 64 rows as its loops read them.
// Included once a set of instructions. Internal.

#if defined(ZEROULP_SRC_GEMM_TILE_PANEL_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZEROULP_SRC_GEMM_TILE_PANEL_INL_HPP_
#undef ZEROULP_SRC_GEMM_TILE_PANEL_INL_HPP_
#else
#define ZEROULP_SRC_GEMM_TILE_PANEL_INL_HPP_
#endif

#include <hwy/highway.h>

#include "src/gemm/tile.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// float: four vectors of it have as many lanes as one of places.
struct narrow {
  using real = float;
  using real_tag = hn::ScalableTag<float>;
  using integer = std::int32_t;
  using place = std::int8_t;
  using places = hn::ScalableTag<std::int8_t>;
  static constexpr int columns = HWY_MAX_BYTES;
  static constexpr int fraction = 23;
  static constexpr int bias = 127;
  static constexpr place lowest = -128;
  static constexpr int nowhere = -128;  ///< of a zero, in each operand
};

/// double.
struct broad {
  using real = double;
  using real_tag = hn::ScalableTag<double>;
  using integer = std::int64_t;
  using place = std::int16_t;
  using places = hn::ScalableTag<std::int16_t>;
  static constexpr int columns = HWY_MAX_BYTES / 2;
  static constexpr int fraction = 52;
  static constexpr int bias = 1023;
  static constexpr place lowest = -32768;
  static constexpr int nowhere = -8192;
};

/// Columns that share a pass: [k][positive part, negative part][column].
template <class W>
struct panel_b {
  const typename W::real* parts;
  const typename W::place* place;  ///< [k][column]
};

/// Element (k, row) at k * block_rows + row.
template <class W>
struct panel_a {
  alignas(64) typename W::real magnitude[max_step * block_rows];
  /// Where in a panel of B the part lies that makes positive products.
  alignas(64) std::uint32_t offset[max_step * block_rows];
  /// The place, as often as a word holds it.
  alignas(64) std::int32_t place[max_step * block_rows];
};

template <class W>
struct panels_b {
  alignas(64) typename W::real parts[2 * max_step * block_rows];
  alignas(64) typename W::place place[max_step * block_rows];
  int length;

  panel_b<W> panel(int number) const {
    return {parts + number * length * 2 * W::columns,
            place + number * length * W::columns};
  }
};

template <class W>
struct scratch {
  panel_a<W> a[tile_blocks];
  panels_b<W> b;
};

template <class Scratch>
HWY_INLINE Scratch* scratch_at(void* memory) {
  static_assert(sizeof(Scratch) <= kernel_scratch);
  return static_cast<Scratch*>(memory);
}

/// Elements row, row + 1, ... of element column k.
template <class DF>
HWY_INLINE hn::Vec<DF> load_elements(DF df, const tile_side& x,
                                     const operand_block& block,
                                     std::ptrdiff_t k, int row) {
  const std::ptrdiff_t at = k * block.height + row;
  if (x.stored == storage::four_bytes) {
    return hn::LoadU(df, static_cast<const float*>(block.data) + at);
  }
  const hn::Rebind<std::uint16_t, DF> d16;
  const hn::RebindToUnsigned<DF> du;
  const auto code =
      hn::LoadU(d16, static_cast<const std::uint16_t*>(block.data) + at);
  return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, code)));
}

HWY_INLINE auto to_real(narrow, hn::Vec<narrow::real_tag> x) { return x; }
HWY_INLINE auto to_real(broad, hn::Vec<hn::Rebind<float, broad::real_tag>> x) {
  return hn::PromoteTo(broad::real_tag(), x);
}

/// The place of each element, as int32.
template <class W, class DF>
HWY_INLINE auto place_of(W, DF df, hn::Vec<DF> x, int min_exponent) {
  const hn::RebindToSigned<DF> di;
  const auto magnitude = hn::BitCast(di, hn::Abs(x));
  const auto e =
      hn::Max(hn::Sub(hn::ShiftRight<23>(magnitude), hn::Set(di, 127)),
              hn::Set(di, min_exponent));
  (void)df;
  return hn::IfThenElse(hn::Eq(magnitude, hn::Zero(di)),
                        hn::Set(di, W::nowhere), e);
}

template <class W>
void fill_a(panel_a<W>& p, const tile_side& x, int block, std::ptrdiff_t first,
            const std::uint8_t* order, int length) {
  const hn::Rebind<float, typename W::real_tag> df;
  const hn::RebindToSigned<decltype(df)> di;
  constexpr int lanes = W::columns / 4;
  constexpr bool bytes = sizeof(typename W::place) == 1;
  const operand_block& from = x.blocks[block];
  for (int k = 0; k < length; ++k) {
    for (int row = 0; row < from.height; row += lanes) {
      const auto v = load_elements(df, x, from, first + order[k], row);
      const int at = k * block_rows + row;
      hn::Store(to_real(W(), hn::Abs(v)), typename W::real_tag(),
                p.magnitude + at);
      const auto sign = hn::And(hn::BroadcastSignBit(hn::BitCast(di, v)),
                                hn::Set(di, W::columns));
      const auto offset = hn::Add(sign, hn::Set(di, k * 2 * W::columns));
      hn::Store(offset, di, reinterpret_cast<std::int32_t*>(p.offset) + at);
      const auto place = hn::And(place_of(W(), df, v, x.min_exponent),
                                 hn::Set(di, bytes ? 0xff : 0xffff));
      const auto twice = hn::Or(place, hn::ShiftLeft<16>(place));
      const auto all = bytes ? hn::Or(twice, hn::ShiftLeft<8>(twice)) : twice;
      hn::Store(all, di, p.place + at);
    }
  }
}

template <class W>
void fill_b(panels_b<W>& p, const tile_side& x, int block, std::ptrdiff_t first,
            const std::uint8_t* order, int length) {
  const typename W::real_tag d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<typename W::place, decltype(d)> dp;
  constexpr int lanes = W::columns / 4;
  const operand_block& from = x.blocks[block];
  const int panels = (from.height + W::columns - 1) / W::columns;
  p.length = length;
  for (int k = 0; k < length; ++k) {
    for (int row = 0; row < panels * W::columns; row += lanes) {
      const auto v = row < from.height
                         ? load_elements(df, x, from, first + order[k], row)
                         : hn::Zero(df);
      const auto value = to_real(W(), v);
      const int panel = row / W::columns * length;
      const int col = row % W::columns;
      auto* parts = p.parts + (panel + k) * 2 * W::columns + col;
      hn::Store(hn::Max(value, hn::Zero(d)), d, parts);
      hn::Store(hn::Max(hn::Neg(value), hn::Zero(d)), d, parts + W::columns);
      hn::Store(hn::DemoteTo(dp, place_of(W(), df, v, x.min_exponent)), dp,
                p.place + (panel + k) * W::columns + col);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp
HWY_AFTER_NAMESPACE();

#endif
