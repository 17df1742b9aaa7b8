// Re-tiling on the GPU against the compiled library on the host: SPEC clauses
// W1 to W5 and W7.

#include "conformance/device/support/guarded_scales.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int tile = 128;

std::string name_of(const retiling& r) {
  using zeroulp::name_of;
  return name_of(r.from) + " to " + name_of(r.to) + ", " +
         std::string(name_of(r.scale)) + ", " + std::string(name_of(r.rule));
}

/// Calls use(r) for every pair of formats, kind of scale and rule.
template <class Use>
void for_each_retiling(Use use) {
  for (const format from : {e4m3, e5m2, e5m6}) {
    for (const format to : {e4m3, e5m2, e5m6}) {
      for (const auto& kind : named_scale_kinds) {
        for (const auto& rule : named_retile_rules) {
          use(retiling{from, to, kind.value, tile, rule.value});
        }
      }
    }
  }
}

/// Re-tiles twice, and compares both results with the host's.
void hold(const retiling& r, word_matrix& codes, word_matrix& scales,
          const placed_shape& s, scale_layout from, scale_layout to,
          const std::string& what, verdict& v) {
  guarded_matrix in(s.rows, s.cols, storage_bytes(r.from), s.in);
  guarded_matrix out(s.cols, s.rows, storage_bytes(r.to), s.out);
  guarded_scales in_scales(from, scales.rows, scales.cols, {0, 3});
  guarded_scales out_scales(to, s.cols, ceil_div(s.rows, tile), {1, 0});
  in.upload(codes.view());
  word_matrix read = in_scales.upload(scales.view());
  word_matrix right(s.cols, s.rows),
      right_scales(s.cols, ceil_div(s.rows, tile));
  engine::retile(r, codes.view(), read.view(), right.view(),
                 right_scales.view());
  hold_twice(
      name_of(r) + ", " + what + ", " + s.name(),
      {{out, right.view(), &out_scales, right_scales.view()}},
      [&] {
        cuda::retile(r, in.view(), in_scales.view(),
                     {out.view(), out_scales.view()});
      },
      v);
}

/// The kinds of numbers in a matrix.
enum class numbers : std::uint8_t { plain, near, specials, any_bits, far };
constexpr const char* number_names[] = {"plain", "near", "specials", "any bits",
                                        "far"};

word_matrix random_codes(format f, const placed_shape& s, numbers how,
                         counter_rng& rng) {
  word_matrix x(s.rows, s.cols);
  const bool any = how == numbers::any_bits;
  for (auto& word : x.words) {
    word = rng.next32() & static_cast<std::uint32_t>(low_bits(f.bits()));
    const std::uint32_t m =
        word & static_cast<std::uint32_t>(f.magnitude_mask());
    const bool special = m > f.max_code();
    const bool keeps = any || (how == numbers::specials && rng.one_in(16));
    if (special && !keeps) word = 0;
    // Half of the codes are small numbers and zeros.
    if (how == numbers::near && rng.one_in(2)) {
      word &= static_cast<std::uint32_t>(f.sign_mask()) | 7;
    }
  }
  return x;
}

word_matrix random_scales(scale_kind kind, const placed_shape& s, numbers how,
                          counter_rng& rng) {
  constexpr int middles[] = {-12, -45, 45};
  word_matrix x(s.rows, ceil_div(s.cols, tile));
  const int spread = how == numbers::near ? 2 : rng.one_in(2) ? 8 : 24;
  // `far` is near either end of FP32, where a reciprocal is not normal.
  const int middle = how != numbers::far ? middles[rng.below(3)]
                     : rng.one_in(3)     ? 115
                                         : -127;
  for (auto& word : x.words) {
    const std::uint32_t any = rng.next32();
    const int exponent =
        std::clamp(127 + middle + rng.between(-spread, spread), 0, 254);
    word = static_cast<std::uint32_t>(exponent) << 23;
    if (kind == scale_kind::float32) word |= any & 0x7fffff;
    if (word == 0) word = pow2_as_fp32(-127);
    if (how == numbers::any_bits && rng.one_in(4)) word = any;
    if (how == numbers::specials && rng.one_in(64)) word = any & 0xff800000;
  }
  return x;
}

verdict check_matrices(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 8);
  for (const auto& s : placed_shapes(e)) {
    for_each_retiling([&](const retiling& r) {
      if (e.level == 0 && rng.one_in(2)) return;
      const auto how = static_cast<numbers>(rng.below(5));
      word_matrix codes = random_codes(r.from, s, how, rng);
      // Unusual codes must also meet plain scales.
      word_matrix scales =
          random_scales(r.scale, s, rng.one_in(2) ? how : numbers::plain, rng);
      const bool fits = r.scale != scale_kind::float32;
      hold(r, codes, scales, s,
           static_cast<scale_layout>(rng.below(fits ? 4 : 3)),
           static_cast<scale_layout>(rng.below(fits ? 4 : 3)),
           number_names[static_cast<int>(how)], v);
    });
  }
  return v;
}

/// A matrix of two tiles of rows. Row i of a tile has the codes `code(i, j)`;
/// row i of the matrix, 0 to 255, has the scale 2^(top - shift(i)).
template <class Code, class Shift>
void hold_powers(const retiling& r, std::ptrdiff_t cols, int top, Code code,
                 Shift shift, const std::string& what, verdict& v) {
  const placed_shape s{2 * tile, cols, {}, {}};
  word_matrix codes(s.rows, s.cols);
  word_matrix scales(s.rows, ceil_div(s.cols, tile));
  const int lowest = top == 60 ? -60 : -127;
  for (std::ptrdiff_t i = 0; i < s.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < s.cols; ++j) {
      codes.view()(i, j) = code(static_cast<int>(i % tile), j);
    }
    const int e = std::max(top - shift(static_cast<int>(i)), lowest);
    for (std::ptrdiff_t g = 0; g < scales.cols; ++g) {
      scales.view()(i, g) = pow2_as_fp32(e);
    }
  }
  hold(r, codes, scales, s, scale_layout::row_major, scale_layout::row_major,
       what, v);
}

/// Returns the columns for every step-th code, rounded up to whole vec8s.
std::ptrdiff_t columns_of(const retiling& r, int step) {
  const auto count = std::ptrdiff_t{1} << r.from.bits();
  return ceil_div(ceil_div(count, step), 8) * 8;
}
std::uint32_t code_of(const retiling& r, std::ptrdiff_t column, int step) {
  return static_cast<std::uint32_t>(column * step) &
         static_cast<std::uint32_t>(low_bits(r.from.bits()));
}

/// Tests every code at every shift below a partner. Each code has a column; the
/// first row of a tile has the partner, each other row a shift. Without a
/// partner (0) the first row has the codes and the others are zeros.
void hold_shifts(const retiling& r, std::uint32_t partner, int top, int span,
                 int step, verdict& v) {
  hold_powers(
      r, columns_of(r, step), top,
      [&](int i, std::ptrdiff_t j) {
        const std::uint32_t code = code_of(r, j, step);
        return partner == 0 ? (i == 0 ? code : 0) : i == 0 ? partner : code;
      },
      [&](int i) {
        const int in_tile = i % tile;
        const int shift = in_tile - 1 + (i < tile ? 0 : tile - 1);
        return in_tile == 0 ? 0 : shift % (span + 1);
      },
      "below " + std::to_string(partner) + " at 2^" + std::to_string(top) +
          ", shifts to " + std::to_string(span),
      v);
}

/// Tests every code at every shift, alone in its column, with a larger scale in
/// the first row, whose codes are zeros.
void hold_alone(const retiling& r, int span, int step, verdict& v) {
  const std::ptrdiff_t codes = columns_of(r, step);
  hold_powers(
      r, codes * (span + 1), 0,
      [&](int i, std::ptrdiff_t j) {
        const bool is_here = i == 1 + j / codes;
        return is_here ? code_of(r, j % codes, step) : 0u;
      },
      [&](int i) { return i % tile == 0 ? 0 : (i % tile - 1) % (span + 1); },
      "alone, shifts to " + std::to_string(span), v);
}

/// Calls use(r, step) for every re-tiling; `step` says that every step-th code
/// is tested. Level 0 takes only re-tilings within one format with power-of-two
/// scales. Every step includes NaN, the last code.
template <class Use>
void for_each_shifted(const effort& e, Use use) {
  for_each_retiling([&](const retiling& r) {
    const bool wanted = r.scale == scale_kind::pow2 && r.from == r.to;
    if (e.level == 0 && !wanted) return;
    use(r, e.level > 0 ? 1 : r.from == e5m6 ? 273 : 5);
  });
}

verdict check_shifts(const effort& e) {
  verdict v;
  for_each_shifted(e, [&](const retiling& r, int step) {
    const auto most = static_cast<std::uint32_t>(r.from.max_code());
    const auto one = static_cast<std::uint32_t>(r.from.bias << r.from.man_bits);
    // Scales: those for which FP32 products are exact (2^-60 to 2^60), and all.
    // Shifts: as many as FP16 holds (20), one more, and all. A column's amax
    // may be NaN. Its FP16 bits, taken for a number, would be far above the
    // others, and an ordinary number if the scales are below 2^-33.
    for (const std::uint32_t partner : {most, one, 0u}) {
      for (const int top : {60, 127}) {
        hold_shifts(r, partner, top, 2 * tile, step, v);
      }
      hold_shifts(r, partner, -127, 0, step, v);
      for (const int span : {20, 21}) {
        hold_shifts(r, partner, partner == one ? -7 : -40, span, step, v);
      }
    }
  });
  v.exhaustive = e.level > 0;
  return v;
}

verdict check_alone(const effort& e) {
  verdict v;
  for_each_shifted(e, [&](const retiling& r, int step) {
    for (const int span : {20, 21}) hold_alone(r, span, step, v);
  });
  v.exhaustive = e.level > 0;
  return v;
}

/// FP32 scales: quotients that lie on ties and beside them.
verdict check_ties(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 9);
  const int rounds = e.level == 0 ? 1 : 20;
  for (int n = 0; n < rounds; ++n) {
    for (const format f : {e4m3, e5m2, e5m6}) {
      const placed_shape s{tile, 2 * tile, {}, {}};
      word_matrix codes = random_codes(f, s, numbers::plain, rng);
      word_matrix scales(s.rows, 2);
      // Scales with few significant bits, so that many quotients of value and
      // scale have few bits, too.
      for (auto& word : scales.words) {
        word = (120 + rng.below(6)) << 23 | (rng.next32() & 0x700000);
        word += rng.below(3) - 1;
      }
      for (const auto& rule : named_retile_rules) {
        hold({f, f, scale_kind::float32, tile, rule.value}, codes, scales, s,
             scale_layout::mn_major, scale_layout::blk128, "near ties", v);
      }
    }
  }
  return v;
}

/// At least twelve tiles for each persistent block, so that its pipeline of
/// shared-memory stages wraps around twice. FP32 scales; rows of whole tiles
/// and of partial ones.
verdict check_many(const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 10);
  for (const auto& rule : named_retile_rules) {
    const bool is_amax = rule.value == retile_rule::amax;
    const placed_shape s =
        e.level == 0 ? placed_shape{16, is_amax ? 211968 : 212000, {}, {}}
        : is_amax    ? placed_shape{5000, 6144, {0, 16}, {0, 24}}
                     : placed_shape{5000, 6160, {0, 48}, {0, 24}};
    const numbers how = is_amax ? numbers::plain : numbers::specials;
    const retiling r{e4m3, e4m3, scale_kind::float32, tile, rule.value};
    word_matrix codes = random_codes(r.from, s, how, rng);
    word_matrix scales = random_scales(r.scale, s, numbers::plain, rng);
    hold(r, codes, scales, s, scale_layout::row_major, scale_layout::mn_major,
         number_names[static_cast<int>(how)], v);
  }
  return v;
}

}  // namespace

check_list kernel_retile_checks() {
  return {
      device_check("kernel.retile.matrices", "W1 W2 W3 W4 W7 Q11", "host",
                   check_matrices),
      device_check("kernel.retile.shifts", "W1 W2 W3 W4 W5 W7", "host",
                   check_shifts),
      device_check("kernel.retile.alone", "W1 W2 W3 W4 W5 W7", "host",
                   check_alone),
      device_check("kernel.retile.ties", "W1 W2 W3 W4", "host", check_ties),
      device_check("kernel.retile.many", "W1 W2 W3 W4 W7", "host", check_many)};
}

}  // namespace zeroulp::conformance::device
