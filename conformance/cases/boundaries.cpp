#include "conformance/cases/boundaries.hpp"

#include <algorithm>

#include "conformance/oracles/mpfr_oracle.hpp"

namespace zeroulp::conformance {
namespace {

void sort_and_unique(std::vector<std::uint64_t>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
}

/// Adds the code of `from` at or below `x` and its neighbours, both signs.
void add_around(format from, const oracle::exact& x,
                std::vector<std::uint64_t>& codes) {
  const auto l = oracle::layout_of(from);
  const auto at = oracle::place(from, x);
  const std::uint64_t below = at.zero || at.below_all ? 0 : at.below;
  const bool inexact = at.fraction != 0 || at.rest;
  const std::uint64_t first = below == 0 || inexact ? below : below - 1;
  for (std::uint64_t code = first; code <= below + 1; ++code) {
    if (code > l.largest) break;
    codes.push_back(code);
    codes.push_back(code | l.sign_mask);
  }
}

/// The codes below the sign that a stride must not skip.
bool near_an_edge(format f, std::uint64_t magnitude, std::uint64_t largest) {
  const std::uint64_t smallest_normal = std::uint64_t{1} << f.man_bits;
  const auto near = [magnitude](std::uint64_t x) {
    return magnitude + 3 > x && magnitude < x + 3;
  };
  return near(0) || near(smallest_normal) || near(largest + 1);
}

}  // namespace

std::vector<named_format> named_formats_up_to(int bits) {
  std::vector<named_format> chosen;
  for (const named_format& f : named_formats) {
    if (oracle::layout_of(f.value).bits <= bits) chosen.push_back(f);
  }
  return chosen;
}

std::vector<format> what_if_formats() {
  return {
      {4, 3, 7, specials::ieee},    {5, 2, 15, specials::fn},
      {5, 2, 15, specials::finite}, {3, 4, 3, specials::fn},
      {4, 0, 7, specials::fn},      {4, 0, 8, specials::fnuz},
      {3, 0, 3, specials::finite},  {1, 2, 0, specials::finite},
      {1, 2, 1, specials::ieee},    {1, 3, 1, specials::fn},
      {2, 1, 1, specials::ieee},    {2, 5, -3, specials::fnuz},
      {6, 3, 40, specials::ieee},   {4, 0, 7, specials::scale},
      {8, 0, 100, specials::scale}, {7, 5, 63, specials::fn},
  };
}

std::vector<std::uint64_t> special_codes(format f) {
  const auto l = oracle::layout_of(f);
  const std::uint64_t normal = std::uint64_t{1} << f.man_bits;
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.man_bits;
  const std::uint64_t quiet = normal >> 1;
  std::vector<std::uint64_t> codes;
  for (const std::uint64_t code : {std::uint64_t{0},
                                   std::uint64_t{1},
                                   std::uint64_t{2},
                                   std::uint64_t{3},
                                   normal - 1,
                                   normal,
                                   normal + 1,
                                   one - 1,
                                   one,
                                   one + 1,
                                   one + quiet,
                                   one + normal - 1,
                                   one + normal,
                                   one + normal + 1,
                                   l.largest - 1,
                                   l.largest,
                                   l.largest + 1,
                                   l.largest + 2,
                                   l.largest + 1 + quiet,
                                   l.magnitude_mask - 1,
                                   l.magnitude_mask}) {
    if (code > l.magnitude_mask) continue;
    codes.push_back(code);
    codes.push_back(code | l.sign_mask);
  }
  sort_and_unique(codes);
  return codes;
}

std::vector<std::uint64_t> boundary_codes(format from, format to,
                                          std::uint64_t stride) {
  const auto l = oracle::layout_of(to);
  std::vector<std::uint64_t> codes = special_codes(from);
  const auto add = [&](std::uint64_t magnitude) {
    add_around(from, oracle::continued(to, magnitude), codes);
    add_around(from, oracle::midpoint(to, magnitude), codes);
  };
  for (std::uint64_t m = 0; m <= l.largest; m += stride) {
    if (!near_an_edge(to, m, l.largest)) add(m);
  }
  const std::uint64_t normal = std::uint64_t{1} << to.man_bits;
  for (std::uint64_t i = 0; i < 3; ++i) {
    add(i);
    add(normal + i - std::min<std::uint64_t>(normal, 2));
    add(normal + i);
    add(l.largest - std::min<std::uint64_t>(l.largest, i));
    add(l.largest + 1 + i);
  }
  // The next powers of two, and half of the smallest midpoint.
  for (std::uint64_t i = 1; i < 3; ++i)
    add(((l.largest >> to.man_bits) + i) << to.man_bits);
  oracle::exact quarter = oracle::midpoint(to, 0);
  --quarter.exponent;
  add_around(from, quarter, codes);
  sort_and_unique(codes);
  return codes;
}

std::uint64_t random_code(format f, counter_rng& rng) {
  const auto l = oracle::layout_of(f);
  const std::uint64_t all = l.magnitude_mask | l.sign_mask;
  const std::uint64_t bits = rng.next() & all;
  const std::uint64_t fractions = (std::uint64_t{1} << f.man_bits) - 1;
  switch (rng.below(6)) {
    case 0: {  // a few leading bits
      const int kept = rng.between(0, 4);
      return bits & ~(fractions >> kept);
    }
    case 1:  // trailing zeros or ones, so that ties and carries occur
      return rng.one_in(2) ? bits | (fractions >> rng.between(1, 12))
                           : bits & ~(fractions >> rng.between(1, 12));
    case 2: {  // near an end of the range
      const std::uint64_t away = bits & (fractions * 4 + 3);
      const std::uint64_t code =
          rng.one_in(2) ? away : l.largest - std::min(l.largest, away);
      return code | (bits & l.sign_mask);
    }
    default:
      return bits;
  }
}

}  // namespace zeroulp::conformance
