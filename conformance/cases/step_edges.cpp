// Directed cases at the ends of the output's range: what vanishes, what is
// rounded, what overflows, what is no number.

#include <algorithm>
#include <utility>

#include "conformance/cases/step_builder.hpp"

namespace zeroulp::conformance {
namespace {

/// An odd w such that w and sum - w are products of significands.
std::optional<std::pair<scaled, scaled>> odd_parts(const path& p, int sum_bits,
                                                   int exponent) {
  if (sum_bits > 16) return std::nullopt;
  const std::uint64_t sum = std::uint64_t{1} << sum_bits;
  const auto factors = [&](std::uint64_t w) -> std::optional<scaled> {
    for (std::uint64_t u = 1; u <= all_ones(p.a) && u <= w; u += 2) {
      if (w % u == 0 && w / u <= all_ones(p.b)) {
        return scaled{false, u, w / u, exponent};
      }
    }
    return std::nullopt;
  };
  for (std::uint64_t w = sum / 2 - 1; w > 0 && w < sum; w -= 2) {
    const auto x = factors(w);
    const auto y = factors(sum - w);
    if (x && y) return std::pair{*x, *y};
  }
  return std::nullopt;
}

/// Sums at an edge of the output's quantum, of parts whose last bit the unit
/// below the exponent floor, or below a subnormal c, keeps or drops.
void floors(const path& p, const step_visitor& visit) {
  const accumulator& acc = p.acc;
  const int f = fraction_bits(p);
  const int quantum = 1 - acc.output.bias - acc.output.man_bits;
  const int floor = acc.exponent_floor == no_floor ? -133 : acc.exponent_floor;
  const int c_floor = 1 - acc.stored.bias;
  const std::uint64_t half_c = std::uint64_t{1} << (acc.stored.man_bits - 1);
  for (const int from : {floor, c_floor}) {
    for (int last = from - f - 2; last <= from - f + 2; ++last) {
      if (last >= quantum) continue;
      for (const std::uint64_t c :
           {std::uint64_t{0}, std::uint64_t{2}, half_c}) {
        for (const auto& at : meeting(p)) {
          for (const bool negative : {false, true}) {
            builder(p)
                .product(at.first, {negative, 1, 1, quantum - 1})
                .product(at.second, {negative, 1, 1, last})
                .c_code(c)
                .give(visit);
          }
          const auto parts = odd_parts(p, quantum - last, last);
          if (!parts) continue;
          const auto [x, y] = *parts;
          builder(p)
              .product(at.first, x)
              .product(at.second, y)
              .c_code(c)
              .give(visit);
          builder(p)
              .product(at.first, -x)
              .product(at.second, -y)
              .c_code(c)
              .give(visit);
          for (int place = from - 2; place <= from + 2; ++place) {
            const scaled big{false, 1, 1, place};
            builder(p)
                .product(at.first, x)
                .product(at.second, y)
                .product(at.third, big)
                .product(at.third + 1, -big)
                .c_code(c)
                .give(visit);
          }
        }
      }
    }
  }
  for (int e = quantum - 4; e <= quantum + 1; ++e) {
    for (const bool negative : {false, true}) {
      for (const std::uint64_t u : {1u, 3u, 5u}) {
        builder(p).product(0, {negative, u, 1, e}).give(visit);
      }
    }
  }
}

/// Sums that the output has no room for: conversion and output format (T5).
void conversions(const path& p, const step_visitor& visit) {
  const int man = p.acc.output.man_bits;
  const int unit = p.acc.fraction_bits == uncut ? man + 2 : fraction_bits(p);
  // Three terms reach the place above it and stay below FP16's largest.
  const int place = high_place(p) - 2;
  for (const bool negative : {false, true}) {
    const scaled big{negative, 3, 1, place - 1};
    for (std::uint64_t j = 1; j <= 9; ++j) {
      for (const std::uint64_t even : {0u, 1u}) {
        const std::uint64_t kept = (std::uint64_t{1} << man) + even;
        const scaled c{negative, kept, 1, place - man};
        for (const int last : {place - unit, place - man - 1, place - man - 2,
                               place - man - 3}) {
          const scaled part{negative, j, 1, last};
          builder(p).product(0, part).c(c).give(visit);
          builder(p).product(0, -part).c(c).give(visit);
        }
      }
      for (const auto& at : meeting(p)) {
        for (const int last : {place - unit, place - man, place - man + 1}) {
          builder sum(p);
          sum.product(at.first, big)
              .product(at.second, big)
              .product(at.third, {negative, j, 1, last});
          sum.give(visit);
          sum.c(big).give(visit);
        }
      }
    }
  }
}

/// Around the largest finite number (T8).
void overflows(const path& p, const step_visitor& visit) {
  const format s = p.acc.stored;
  const int top = (1 << p.acc.output.exp_bits) - 2 - p.acc.output.bias;
  const std::uint64_t minus = std::uint64_t{1} << (s.exp_bits + s.man_bits);
  for (const bool negative : {false, true}) {
    for (const std::uint64_t below : {0u, 1u}) {
      const std::uint64_t c =
          (largest_code(s) - below) | (negative ? minus : 0);
      builder(p).c_code(c).give(visit);
      for (std::uint64_t u = 1; u <= 9; ++u) {
        const scaled part{negative, u, 1, top - p.acc.output.man_bits - 3};
        builder(p).product(0, part).c_code(c).give(visit);
        builder(p).product(0, -part).c_code(c).give(visit);
      }
    }
    for (int e = top - 1; e <= top + 2; ++e) {
      const scaled big{negative, 1, 1, e};
      builder(p).product(0, big).give(visit);
      builder(p).product(0, big).product(1, big).give(visit);
      builder(p).product(0, big).c(big).give(visit);
      builder(p).product(0, big).product(1, -big).c(big).give(visit);
    }
    builder(p).codes(0, largest_code(p.a), largest_code(p.b)).give(visit);
  }
}

/// NaN and Inf in every meeting (T7).
void specials_meet(const path& p, const step_visitor& visit) {
  const auto list = [](format f) {
    const std::uint64_t minus = std::uint64_t{1} << (f.exp_bits + f.man_bits);
    const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.man_bits;
    const std::uint64_t next = largest_code(f) + 1;  // Inf, without it NaN
    std::vector<std::uint64_t> codes = {
        0, minus, one, one | minus, next, next | minus, minus - 1};
    if (f.kind == specials::ieee) {
      codes.push_back(next + 1);
      codes.push_back(next | minus | (std::uint64_t{1} << (f.man_bits - 1)));
    }
    return codes;
  };
  const auto as = list(p.a);
  const auto bs = list(p.b);
  const auto cs = list(p.acc.stored);
  for (std::size_t i = 0; i < as.size(); ++i) {
    for (std::size_t j = 0; j < bs.size(); ++j) {
      for (const auto c : cs)
        builder(p).codes(0, as[i], bs[j]).c_code(c).give(visit);
      for (const int k : {1, 2, 3, 6}) {
        const std::size_t other = (i + static_cast<std::size_t>(k)) % as.size();
        builder(p)
            .codes(0, as[i], bs[j])
            .codes(k, as[other], bs[3])
            .give(visit);
      }
    }
  }
}

}  // namespace

void edge_step_cases(const path& p, const step_visitor& visit) {
  floors(p, visit);
  conversions(p, visit);
  overflows(p, visit);
  specials_meet(p, visit);
}

}  // namespace zeroulp::conformance
