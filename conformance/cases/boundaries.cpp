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

}  // namespace zeroulp::conformance
