// Directed cases. Each is a few terms written as integers times powers of two,
// on which the next value of one parameter gives another result; the test
// StepCases.TellEveryParameterFromItsNeighbours holds them to that.

#include <algorithm>

#include "conformance/cases/step_builder.hpp"

namespace zeroulp::conformance {
namespace {

/// Two terms that cancel leave a third, cut where they were: F, the cut, the
/// places of products and c (T1 to T4).
void windows(const path& p, int level, const step_visitor& visit) {
  const int f = fraction_bits(p);
  const std::uint64_t ua = all_ones(p.a);
  const std::uint64_t ub = all_ones(p.b);
  const auto one_third = [&](int place, int d, std::uint64_t u, std::uint64_t v,
                             int point, bool negative) {
    const scaled small{negative, u, v, place - d - point};
    const scaled one{false, 1, 1, place};
    const scaled two{false, 3, 3, place - 2};
    for (const auto& at : meeting(p)) {
      const auto third = [&](builder b) {
        b.product(at.third, small).give(visit);
      };
      third(builder(p).product(at.first, one).product(at.second, -one));
      third(builder(p).product(at.first, two).product(at.second, -two));
      third(builder(p).product(at.first, one).c(-one));
      third(builder(p).product(at.first, -two).c(two));
      third(builder(p).c(one));
    }
    builder(p).product(0, one).product(1, -one).c(small).give(visit);
    builder(p).product(0, small).c(-one).give(visit);
    builder(p).product(0, one).c(small).give(visit);
  };
  const int past = level == 0 ? 3 : 8;
  for (const bool negative : {false, true}) {
    for (int d = level == 0 ? f - 3 : 0; d <= f + past; ++d) {
      one_third(high_place(p), d, 1, 1, 0, negative);
      one_third(high_place(p), d, 3, 3, 2, negative);
      one_third(high_place(p), d, ua, ub, p.a.man_bits + p.b.man_bits,
                negative);
    }
  }
  if (level == 0) return;
  for (int d = 0; d <= 40; ++d) {
    for (const int place : {-12, -6, 0, 8}) one_third(place, d, 1, 1, 0, false);
  }
}

/// A product of a subnormal has the place of its exponents (T1, F5).
void subnormals(const path& p, const step_visitor& visit) {
  const int f = fraction_bits(p);
  for (const auto how : {split::small_a, split::small_b}) {
    for (int e = -6; e <= 4; ++e) {
      const scaled low{false, 1, 1, e};
      for (int d = f - 4; d <= f + 2; ++d) {
        for (const auto& at : meeting(p)) {
          builder(p)
              .product(at.first, low, how)
              .product(at.second, -low, how)
              .product(at.third, {true, 3, 3, e - d})
              .give(visit);
        }
        builder(p).product(0, low, how).c({false, 3, 1, e - d}).give(visit);
      }
    }
  }
}

/// Zeros take no part in the largest place (T2), and add no sign (T6).
void zeros(const path& p, const step_visitor& visit) {
  const format s = p.acc.stored;
  const std::uint64_t minus_a = std::uint64_t{1}
                                << (p.a.exp_bits + p.a.man_bits);
  const std::uint64_t minus_c = std::uint64_t{1} << (s.exp_bits + s.man_bits);
  const int lowest = 2 - p.a.bias - p.a.man_bits - p.b.bias - p.b.man_bits;
  for (const std::uint64_t zero : {std::uint64_t{0}, minus_a}) {
    for (const std::uint64_t c0 : {std::uint64_t{0}, minus_c}) {
      builder(p).codes(0, zero, 0).c_code(c0).give(visit);
      builder(p).codes(0, zero, largest_code(p.b)).c_code(c0).give(visit);
      builder(p).c_code(c0).give(visit);
      for (const auto& at : meeting(p)) {
        const scaled one{zero != 0, 1, 1, 0};
        builder(p)
            .product(at.first, one)
            .product(at.second, -one)
            .c_code(c0)
            .give(visit);
        for (int e = std::max(lowest, -40); e < lowest + 24; e += 3) {
          builder(p)
              .codes(at.first, zero, largest_code(p.b))
              .codes(at.second, largest_code(p.a), 0)
              .product(at.third, {true, 3, 3, e})
              .c_code(c0)
              .give(visit);
        }
      }
      for (int e = 1 - s.bias - s.man_bits; e < 0; e += 5) {
        const scaled small{zero != 0, 7, 1, e};
        builder(p).codes(0, zero, largest_code(p.b)).c(small).give(visit);
      }
    }
  }
}

/// Terms at every position: nothing is left out, and a lowering has its order
/// (T9 to T11).
void orders(const path& p, const step_visitor& visit) {
  const int f = fraction_bits(p);
  int length = p.acc.length == 0 ? 8 : p.acc.length;
  if (p.lowering != lowering::direct) length *= 2;
  for (int k = 0; k < length; ++k) {
    builder(p).product(k, {k % 3 == 0, 1, 1, 1}).give(visit);
  }
  const int last = length - 1;
  const int place = high_place(p);
  const scaled big{false, 1, 1, place};
  const scaled small{false, 3, 3, place - f - 1};
  for (const int i : {0, 1, 2, 3, last}) {
    for (const int j : {0, 1, 2, 3, last}) {
      if (i == j || std::max(i, j) > last) continue;
      builder(p).product(i, big).product(j, small).c(-big).give(visit);
      for (const int k : {0, 1, 2, 3, last}) {
        if (k == i || k == j || k > last) continue;
        builder(p).product(i, big).product(j, -big).product(k, small).give(
            visit);
        builder(p)
            .product(i, big)
            .product(j, small)
            .product(k, small)
            .c({true, 1, 1, place - f})
            .give(visit);
      }
    }
  }
}

}  // namespace

void directed_step_cases(const path& p, int level, const step_visitor& visit) {
  windows(p, level, visit);
  orders(p, visit);
  zeros(p, visit);
  subnormals(p, visit);
  edge_step_cases(p, visit);
}

}  // namespace zeroulp::conformance
