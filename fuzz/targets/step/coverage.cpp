// Counts what cases of `step` reach. Every aligned sum counts by itself: the
// one of a direct path, or the two of a lowering.

#include "fuzz/targets/coverage.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "fuzz/targets/step/bins.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

using detail::term;
namespace bin = step_bin;

/// The operands and c of one aligned sum.
template <class A, class B>
struct sum_inputs {
  const path& p;
  const A& a;
  const B& b;
  int count;
  unpacked c;
};

template <class... Values>
void hit(bin_counts bins, bin::family f, Values... at) {
  bin::table().hit(bins, f, at...);
}

bool is_subnormal(format f, const unpacked& x) {
  return x.kind == kind::finite && x.significand >> f.man_bits == 0;
}

/// The alignment of the terms of a sum.
struct alignment {
  int products = 0;         ///< nonzero ones
  int largest_product = 0;  ///< its place
  int largest = no_floor;   ///< of all places and the floor
  bool cut = false;         ///< some bits were dropped
};

/// Counts how a term was shifted and cut.
void cover_term(const accumulator& acc, const term& t, bool is_c,
                alignment& all, bin_counts bins) {
  const int f = acc.fraction_bits;
  const int shift = all.largest - t.place;
  if (f == 13) hit(bins, bin::shift_13, is_c, std::min(shift, 15), t.negative);
  if (f == 25) hit(bins, bin::shift_25, is_c, std::min(shift, 27), t.negative);
  const int cut = bin::cut_of(acc);
  if (cut == 2) {
    hit(bins, bin::shift_other, is_c, bin::by_fraction_bits(shift, f),
        t.negative);
  }
  const int dropped = all.largest - f - t.exponent;
  if (dropped <= 0) return;
  const std::uint64_t bits = t.significand & low_bits(std::min(dropped, 64));
  if (bits == 0) return;
  all.cut = true;
  const auto position = [&](int bit, int most) {
    return std::min(dropped - bit, most) - 1;
  };
  hit(bins, bin::lowest_cut, cut, is_c,
      position(msb(bits & (~bits + 1)), bin::lowest_positions));
  hit(bins, bin::highest_cut, cut, is_c,
      position(msb(bits), bin::highest_positions));
}

void cover_c(const accumulator& acc, const term& c, const alignment& all,
             bin_counts bins) {
  int at = 0;
  if (all.products > 0) {
    const int d = c.place - all.largest_product;
    const int distance = bin::by_fraction_bits(std::abs(d), acc.fraction_bits);
    at = d < 0 ? 7 - distance : 7 + distance;
  }
  hit(bins, bin::c_place, bin::cut_of(acc), at, c.negative);
}

template <class Significand>
void cover_conversion(const accumulator& acc, const number<Significand>& sum,
                      bin_counts bins) {
  if (sum.is_zero()) return;
  const landing l = land(acc.output, sum);
  const bool beyond = l.kept > acc.output.max_code();
  const auto code = encode(acc.output, sum, {acc.conversion}, cuda_nosat);
  const int output = acc.output == e8m13  ? 0
                     : acc.output == fp32 ? 1
                     : acc.output == fp16 ? 2
                                          : 3;
  // T8: a sum beyond the range is Inf, even where the conversion truncates.
  hit(bins, bin::conversion, output, beyond ? 4 : static_cast<int>(l.rest),
      beyond ? code_kind::infinite : code_kind_of(acc.output, code),
      sum.negative);
}

/// Counts the result of an aligned sum: bits that cancel, zeros.
void cover_sum(const accumulator& acc, const unpacked& sum,
               const alignment& all, bool any_term, bin_counts bins) {
  if (sum.is_zero()) {
    const int why = all.cut ? 2 : any_term ? 1 : 0;
    hit(bins, bin::zero_sum, bin::cut_of(acc), why);
    return;
  }
  const int lost = all.largest - (msb(sum.significand) + sum.exponent);
  const int at = std::max(lost, -2) + 2;
  const int f = acc.fraction_bits;
  if (f == 13) hit(bins, bin::lost_13, at, all.cut);
  if (f == 25) hit(bins, bin::lost_25, at, all.cut);
}

template <class A, class B>
void cover_special(const sum_inputs<A, B>& in, bin_counts bins) {
  detail::special_sum products;
  for (int k = 0; k < in.count; ++k) {
    const unpacked x = in.a[k];
    const unpacked y = in.b[k];
    if (x.is_nan()) hit(bins, bin::special, bin::nan_a);
    if (y.is_nan()) hit(bins, bin::special, bin::nan_b);
    if (x.is_zero() && y.is_infinite()) {
      hit(bins, bin::special, bin::zero_times_infinity);
    }
    if (x.is_infinite() && y.is_zero()) {
      hit(bins, bin::special, bin::infinity_times_zero);
    }
    const auto xy = product(x, y);
    products.take(xy.kind, xy.negative);
  }
  if (in.c.is_nan()) hit(bins, bin::special, bin::nan_c);
  if (products.nan || in.c.is_nan()) return;
  if (products.plus && products.minus) {
    return hit(bins, bin::special, bin::opposite_products);
  }
  const bool of_products = products.any();
  const bool negative = of_products ? products.minus : in.c.negative;
  if (of_products && in.c.is_infinite() && in.c.negative != negative) {
    return hit(bins, bin::special, bin::product_against_c);
  }
  hit(bins, bin::infinite_sum,
      !of_products         ? 1
      : in.c.is_infinite() ? 2
                           : 0,
      negative);
}

/// Counts subnormal factors, and the k of the largest product.
template <class A, class B>
void cover_factors(const sum_inputs<A, B>& in, const alignment& all,
                   bool shows_k, bin_counts bins) {
  const int point = in.p.a.man_bits + in.p.b.man_bits;
  bool found = false;
  for (int k = 0; k < in.count; ++k) {
    const unpacked x = in.a[k];
    const unpacked y = in.b[k];
    if (x.is_zero() || y.is_zero()) continue;
    const term t = detail::product_term(in.p.acc, x, y, point);
    const bool largest = t.place == all.largest;
    if (shows_k && largest && !found) {
      hit(bins, bin::largest_at, std::min(k, 31));
      found = true;
    }
    const bool sub_a = is_subnormal(in.p.a, x);
    const bool sub_b = is_subnormal(in.p.b, y);
    if (!sub_a && !sub_b) continue;
    hit(bins, bin::subnormal, sub_a && sub_b ? 2 : sub_b ? 1 : 0, largest);
  }
}

void cover_floor(const accumulator& acc, int largest, bool cut,
                 bin_counts bins) {
  if (acc.exponent_floor == no_floor) return;
  const int d = std::clamp(largest - acc.exponent_floor, -2, 2);
  const int which = acc.exponent_floor == -133   ? 0
                    : acc.exponent_floor == -132 ? 1
                                                 : 2;
  hit(bins, bin::floor_place, which, d + 2);
  // Here the floor has a part in what is cut.
  if (d < 0 && cut) hit(bins, bin::floor_place, which, 5);
}

/// Counts one accumulation of products and c.
template <class A, class B>
void cover_accumulation(const sum_inputs<A, B>& in, bool shows_k,
                        bin_counts bins) {
  const path& p = in.p;
  const accumulator& acc = p.acc;
  if (detail::find_specials(in.a, in.b, in.count, in.c).any()) {
    return cover_special(in, bins);
  }
  if (acc.fraction_bits == uncut) {
    return cover_conversion(
        acc, detail::exact_sum(p, in.a, in.b, in.count, in.c), bins);
  }
  const bool last = acc.c == addend::last;
  const unpacked c = last ? unpacked{} : in.c;
  alignment all;
  detail::for_each_term(p, in.a, in.b, in.count, {}, [&](const term& t) {
    const bool first = all.products++ == 0;
    all.largest_product =
        first ? t.place : std::max(all.largest_product, t.place);
  });
  const term c_term{c.significand, c.exponent, c.exponent + acc.stored.man_bits,
                    c.negative};
  if (all.products > 0) all.largest = all.largest_product;
  if (!c.is_zero()) {
    all.largest = std::max(all.largest, c_term.place);
    cover_c(acc, c_term, all, bins);
  }
  const bool any_term = all.products > 0 || !c.is_zero();
  const int largest = all.largest;
  all.largest = std::max(all.largest, int{acc.exponent_floor});
  detail::for_each_term(p, in.a, in.b, in.count, {}, [&](const term& t) {
    cover_term(acc, t, false, all, bins);
  });
  if (!c.is_zero()) cover_term(acc, c_term, true, all, bins);
  if (any_term) cover_floor(acc, largest, all.cut, bins);
  cover_factors(in, all, shows_k, bins);
  const unpacked sum = detail::aligned_sum(p, in.a, in.b, in.count, c);
  cover_sum(acc, sum, all, any_term, bins);
  cover_conversion(acc, sum, bins);
}

/// Counts the sum of two codes of `stored` that follows an accumulation; it is
/// rounded to `f`.
void cover_joined(int how, format stored, format f, std::uint64_t x,
                  std::uint64_t y, bin_counts bins) {
  const auto exact =
      sum(decode(stored, x), decode(stored, y), rounding::nearest_even);
  if (exact.kind != kind::finite) return;
  const landing l = land(f, exact);
  const bool beyond = l.kept > f.max_code();
  hit(bins, bin::joined, how, beyond ? 4 : static_cast<int>(l.rest));
}

using values = const unpacked*;

void cover_lowered(const path& p, values a, values b, int n, std::uint64_t c,
                   bin_counts bins) {
  const path hmma{fp16, fp16, p.acc};
  const format f = p.acc.stored;
  const bool chained = p.lowering == lowering::hmma_chained;
  int used = 0;
  const auto half = [&](int first, std::uint64_t from) {
    const detail::fp16_pairs<values> x{a, first};
    const detail::fp16_pairs<values> y{b, first};
    const int count = detail::pairs_below(n, first);
    cover_accumulation(sum_inputs<decltype(x), decltype(y)>{hmma, x, y, count,
                                                            decode(f, from)},
                       false, bins);
    bool any = false;
    for (int k = 0; k < count; ++k) {
      any = any || !(x[k].is_zero() || y[k].is_zero());
    }
    used += any ? 1 + first / 2 : 0;
    return detail::accumulate(hmma, x, y, count, from);
  };
  const std::uint64_t first = half(0, 0);
  std::uint64_t second = half(2, chained ? first : 0);
  hit(bins, bin::halves, !chained, used);
  if (!chained) second = add(f, first, second);
  cover_joined(!chained, f, f, c, second, bins);
}

/// Counts the path and the number of products.
void cover_shape(const path& p, int count, bin_counts bins) {
  const auto& all = all_paths();
  const auto row = std::find_if(all.begin(), all.end(), [&](const auto& named) {
    return named.value == p;
  });
  if (row != all.end()) hit(bins, bin::named_path, row - all.begin());
  const int f = p.acc.fraction_bits;
  if (f >= 8 && f <= 34 && p.acc == what_if_fraction(f)) {
    hit(bins, bin::what_if, f - 8);
  }
  const bool all_of_them = count > 1 && count == p.length();
  hit(bins, bin::count, all_of_them ? 3 : std::min(count, 2));
}

}  // namespace

std::vector<std::string> step_bins() { return bin::table().names(); }

void cover_step(const problem& p, const outputs&, bin_counts bins) {
  const path& unit = p.with.unit;
  const auto decoded = [](format f, const matrix& codes) {
    std::vector<unpacked> all;
    all.reserve(codes.words.size());
    for (const std::uint64_t code : codes.words) all.push_back(decode(f, code));
    return all;
  };
  const auto a = decoded(unit.a, p.in[0]);
  const auto b = decoded(unit.b, p.in[1]);
  const std::uint64_t c = p.in[2].words[0];
  const format stored = unit.acc.stored;
  const auto count = static_cast<int>(a.size());
  cover_shape(unit, count, bins);
  hit(bins, bin::c_kind, code_kind_of(stored, c),
      (c & stored.sign_mask()) != 0);
  if (unit.lowering != lowering::direct) {
    return cover_lowered(unit, a.data(), b.data(), count, c, bins);
  }
  const unpacked c_value = decode(stored, c);
  const values x = a.data();
  const values y = b.data();
  const sum_inputs<values, values> in{unit, x, y, count, c_value};
  cover_accumulation(in, count == 32, bins);
  if (unit.acc.c == addend::last) {
    cover_joined(2, stored, unit.acc.output,
                 detail::accumulate(unit, x, y, count, 0), c, bins);
  }
}

}  // namespace zeroulp::fuzz
