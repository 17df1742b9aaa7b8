// The tensor-core step on a tile of outputs.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/gemm/tile_steps.cpp"
#include "src/base/simd.hpp"
// After simd.hpp.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "src/gemm/tile.hpp"
#include "src/gemm/tile_panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp {
namespace HWY_NAMESPACE {
namespace {

/// Rows of A that go through a panel of B together.
constexpr int rows_at_once = HWY_MAX_BYTES >= 64 ? 2 : 1;

/// The largest places of `Rows` rows with the columns of panel `b`.
template <class W, int Rows>
HWY_INLINE void find_places(const panel_a<W>& a, const panel_b<W>& b, int row,
                            int length,
                            typename W::place (&largest)[Rows][W::columns]) {
  const typename W::places d;
  hn::Vec<typename W::places> m[Rows];
  for (int r = 0; r < Rows; ++r) m[r] = hn::Set(d, W::lowest);
  for (int k = 0; k < length; ++k) {
    const auto y = hn::Load(d, b.place + k * W::columns);
    for (int r = 0; r < Rows; ++r) {
      const hn::Repartition<std::int32_t, decltype(d)> words;
      const auto x =
          hn::BitCast(d, hn::Set(words, a.place[k * block_rows + row + r]));
      m[r] = hn::Max(m[r], hn::SaturatedAdd(x, y));
    }
  }
  for (int r = 0; r < Rows; ++r) hn::Store(m[r], d, largest[r]);
}

/// Returns M for c and the largest places of the products.
template <bool Half>
HWY_INLINE auto anchor(narrow, const step_rule& rule, const std::int8_t* place,
                       hn::Vec<narrow::real_tag> c) {
  const narrow::real_tag d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  const auto products =
      hn::Add(hn::PromoteTo(di, hn::Load(d8, place)), hn::Set(di, 127));
  const auto field =
      hn::ShiftRight<23>(hn::And(hn::BitCast(di, c), hn::Set(di, 0x7fffffff)));
  // Zeros stand nowhere, subnormals at the least exponent.
  const auto own =
      Half ? hn::IfThenZeroElse(
                 hn::Eq(field, hn::Zero(di)),
                 hn::Max(field, hn::Set(di, rule.c_min_exponent + 127)))
           : field;
  const int least = rule.floor > -126 ? rule.floor + 127 : 1;
  const int most = 254 - 23 + rule.fraction_bits;  // for infinite c
  const auto biased = hn::Min(
      hn::Max(hn::Max(products, own), hn::Set(di, least)), hn::Set(di, most));
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(
                            biased, hn::Set(di, 23 - rule.fraction_bits))));
}

template <bool Half>
HWY_INLINE auto anchor(broad, const step_rule& rule, const std::int16_t* place,
                       hn::Vec<broad::real_tag> c) {
  const broad::real_tag d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int16_t, decltype(d)> d16;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const auto products =
      hn::PromoteTo(di, hn::PromoteTo(d32, hn::Load(d16, place)));
  const auto field = hn::ShiftRight<52>(
      hn::And(hn::BitCast(di, c), hn::Set(di, 0x7fffffffffffffff)));
  const auto own = hn::Max(hn::Sub(field, hn::Set(di, 1023)),
                           hn::Set(di, rule.c_min_exponent));
  const auto placed = hn::IfThenElse(hn::Eq(field, hn::Zero(di)),
                                     hn::Set(di, broad::nowhere), own);
  const int least = rule.floor > -900 ? rule.floor : -900;
  const auto largest = hn::Max(hn::Max(products, placed), hn::Set(di, least));
  return hn::BitCast(
      d, hn::ShiftLeft<52>(
             hn::Add(largest, hn::Set(di, 52 + 1023 - rule.fraction_bits))));
}

/// Rounds to the nearest FP16 number, ties to even, under any rounding mode:
/// +0 for every zero, Inf from 65536.
template <class W, class V>
HWY_INLINE V nearest_half(W, V x) {
  const typename W::real_tag d;
  const hn::RebindToSigned<decltype(d)> di;
  using integer = typename W::integer;
  const auto abs = hn::Abs(x);
  const auto field = hn::ShiftRight<W::fraction>(hn::BitCast(di, abs));
  const auto e = hn::Min(hn::Max(field, hn::Set(di, W::bias - 14)),
                         hn::Set(di, W::bias + 16));
  const auto power = [&](int by) {
    return hn::BitCast(d, hn::ShiftLeft<W::fraction>(hn::Add(
                              e, hn::Set(di, static_cast<integer>(by)))));
  };
  const auto m = power(W::fraction - 10);
  const auto half = power(-11);
  const auto anchored = hn::Add(abs, m);
  // Toward zero that is the number below; to nearest it may be the one above.
  const auto near = hn::Sub(anchored, m);
  const auto below =
      hn::Sub(near, hn::IfThenElseZero(hn::Gt(near, abs), hn::Add(half, half)));
  const auto rest = hn::Sub(abs, below);
  const auto odd =
      hn::Ne(hn::And(hn::BitCast(di, hn::Add(below, m)), hn::Set(di, 1)),
             hn::Zero(di));
  const auto up = hn::Or(hn::Gt(rest, half),
                         hn::And(hn::Eq(rest, half), hn::RebindMask(d, odd)));
  const auto r = hn::Add(below, hn::IfThenElseZero(up, hn::Add(half, half)));
  const auto limit = hn::Set(d, 65536);
  const auto beyond = hn::Or(hn::Ge(abs, limit), hn::Ge(r, limit));
  const auto infinity =
      hn::BitCast(d, hn::ShiftLeft<W::fraction>(hn::Set(di, 2 * W::bias + 1)));
  const auto magnitude = hn::IfThenElse(beyond, infinity, r);
  return hn::IfThenElse(hn::Eq(magnitude, hn::Zero(d)), hn::Zero(d),
                        hn::CopySign(magnitude, x));
}

/// Returns `bits` cut to the kept ones; every zero is +0.
template <class D>
HWY_INLINE hn::Vec<D> keep(D d, hn::Vec<D> x, std::uint32_t kept) {
  const hn::RebindToUnsigned<D> du;
  const auto cut = hn::And(x, hn::BitCast(d, hn::Set(du, kept)));
  return hn::IfThenZeroElse(hn::Eq(cut, hn::Zero(d)), cut);
}

HWY_INLINE hn::Vec<narrow::real_tag> load_c(narrow, const float* c) {
  return hn::LoadU(narrow::real_tag(), c);
}
HWY_INLINE hn::Vec<broad::real_tag> load_c(broad, const float* c) {
  const broad::real_tag d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), c));
}

/// To float by the rounding mode; Inf stays Inf.
HWY_INLINE auto demote(hn::Vec<broad::real_tag> x) {
  const hn::Rebind<float, broad::real_tag> df;
#if HWY_TARGET == HWY_EMU128
  // Highway's own turns Inf into the largest number.
  const broad::real_tag d;
  HWY_ALIGN double from[hn::MaxLanes(d)];
  HWY_ALIGN float to[hn::MaxLanes(d)];
  hn::Store(x, d, from);
  for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) {
    to[i] = static_cast<float>(from[i]);
  }
  return hn::Load(df, to);
#else
  return hn::DemoteTo(df, x);
#endif
}

template <bool Half>
HWY_INLINE void store_d(narrow w, hn::Vec<narrow::real_tag> x,
                        const step_rule& rule, float* out) {
  const narrow::real_tag d;
  if constexpr (Half) {
    hn::StoreU(nearest_half(w, x), d, out);
  } else {
    hn::StoreU(keep(d, x, rule.kept), d, out);
  }
}

template <bool Half>
HWY_INLINE void store_d(broad w, hn::Vec<broad::real_tag> x,
                        const step_rule& rule, float* out) {
  const broad::real_tag d;
  const hn::Rebind<float, decltype(d)> df;
  if constexpr (Half) {
    hn::StoreU(demote(nearest_half(w, x)), df, out);
  } else {
    // Truncation never reaches Inf by itself.
    const auto beyond = hn::Ge(hn::Abs(x), hn::Set(d, 0x1p128));
    const auto infinity = hn::BitCast(
        d, hn::Set(hn::RebindToUnsigned<decltype(d)>(), 0x7ff0000000000000));
    const auto y = hn::IfThenElse(beyond, hn::CopySign(infinity, x), x);
    hn::StoreU(keep(df, demote(y), rule.kept), df, out);
  }
}

/// One step of `Rows` rows with the columns of a panel.
template <class W, bool Half, int Rows>
HWY_INLINE void step_rows(const panel_a<W>& a, const panel_b<W>& b, int row,
                          const step_rule& rule, float* c) {
  using real = typename W::real;
  const typename W::real_tag d;
  constexpr int lanes = W::columns / 4;
  HWY_ALIGN typename W::place largest[Rows][W::columns];
  find_places<W, Rows>(a, b, row, rule.length, largest);
  hn::Vec<typename W::real_tag> pos[Rows][4];
  hn::Vec<typename W::real_tag> neg[Rows][4];
  const auto zero = hn::Zero(d);
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < 4; ++j) {
      const auto x = load_c(W(), c + r * tile_rows + j * lanes);
      const auto m = anchor<Half>(W(), rule, largest[r] + j * lanes, x);
      pos[r][j] = hn::Add(m, hn::Max(x, zero));
      neg[r][j] = hn::Add(m, hn::Max(hn::Neg(x), zero));
    }
  }
  for (int k = 0; k < rule.length; ++k) {
    for (int r = 0; r < Rows; ++r) {
      const int at = k * block_rows + row + r;
      const auto x = hn::Set(d, a.magnitude[at]);
      const std::uint32_t same = a.offset[at];
      const real* to_pos = b.parts + same;
      const real* to_neg = b.parts + (same ^ W::columns);
      for (int j = 0; j < 4; ++j) {
        pos[r][j] = hn::MulAdd(x, hn::Load(d, to_pos + j * lanes), pos[r][j]);
        neg[r][j] = hn::MulAdd(x, hn::Load(d, to_neg + j * lanes), neg[r][j]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < 4; ++j) {
      store_d<Half>(W(), hn::Sub(pos[r][j], neg[r][j]), rule,
                    c + r * tile_rows + j * lanes);
    }
  }
}

template <class W, bool Half>
void run(const tile_steps& job) {
  auto& memory = *scratch_at<scratch<W>>(job.scratch);
  const step_rule& rule = job.rule;
  const int blocks_a = (job.a.rows + block_rows - 1) / block_rows;
  const int blocks_b = (job.b.rows + block_rows - 1) / block_rows;
  for (std::ptrdiff_t s = 0; s < job.steps; ++s) {
    const std::ptrdiff_t number = job.part + s;
    const std::uint8_t* order = job.order.order[number % job.order.parts];
    const std::ptrdiff_t first =
        job.first + number / job.order.parts * job.order.advance;
    for (int i = 0; i < blocks_a; ++i) {
      fill_a(memory.a[i], job.a, i, first, order, rule.length);
    }
    for (int j = 0; j < blocks_b; ++j) {
      fill_b(memory.b, job.b, j, first, order, rule.length);
      const int left = job.b.rows - j * block_rows;
      const int cols = left < block_rows ? left : block_rows;
      for (int i = 0; i < blocks_a; ++i) {
        const int rows_left = job.a.rows - i * block_rows;
        const int rows = rows_left < block_rows ? rows_left : block_rows;
        for (int col = 0; col < cols; col += W::columns) {
          const panel_b<W> b = memory.b.panel(col / W::columns);
          float* c = job.c + i * block_rows * tile_rows + j * block_rows + col;
          int row = 0;
          for (; row + rows_at_once <= rows; row += rows_at_once) {
            step_rows<W, Half, rows_at_once>(memory.a[i], b, row, rule,
                                             c + row * tile_rows);
          }
          for (; row < rows; ++row) {
            step_rows<W, Half, 1>(memory.a[i], b, row, rule,
                                  c + row * tile_rows);
          }
        }
      }
    }
  }
}

void run_tile(const tile_steps& job) {
  if (job.rule.wide) {
    job.rule.half ? run<broad, true>(job) : run<broad, false>(job);
  } else {
    job.rule.half ? run<narrow, true>(job) : run<narrow, false>(job);
  }
}

void add(const tile_addition& job) {
  const narrow::real_tag d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < job.rows; ++i) {
    for (int j = 0; j < job.cols; j += lanes) {
      float* c = job.c + i * tile_rows + j;
      // The sum of two FP16 numbers has at most 2 * 11 + 2 bits that matter:
      // rounding it twice changes nothing.
      const auto sum =
          hn::Add(hn::LoadU(d, c), hn::LoadU(d, job.p + i * tile_rows + j));
      hn::StoreU(job.half ? nearest_half(narrow(), sum) : sum, d, c);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zeroulp {

void run_steps(const tile_steps& job) { ZEROULP_SIMD_DISPATCH(run_tile)(job); }

void add_tile(const tile_addition& job) { ZEROULP_SIMD_DISPATCH(add)(job); }

}  // namespace zeroulp
#endif
