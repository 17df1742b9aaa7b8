// The processor's own FP32 and FP64 unit as a second oracle, nearest-even.
// Needs a host with IEEE arithmetic in those formats, subnormals included.

#include <cmath>
#include <limits>

#include "conformance/checks/operation_cases.hpp"

namespace zeroulp::conformance {
namespace {

static_assert(std::numeric_limits<float>::is_iec559);
static_assert(std::numeric_limits<double>::is_iec559);

/// What the host computes. Through volatile, so that every operation happens,
/// in its own precision.
template <class Real, class Bits>
Bits on_the_host(operation op, const operands& x) {
  volatile Real a = bit_cast<Real>(static_cast<Bits>(x.a));
  volatile Real b = bit_cast<Real>(static_cast<Bits>(x.b));
  volatile Real c = bit_cast<Real>(static_cast<Bits>(x.c));
  volatile Real result = 0;
  switch (op) {
    case operation::add:
      result = a + b;
      break;
    case operation::subtract:
      result = a - b;
      break;
    case operation::multiply:
      result = a * b;
      break;
    case operation::fma:
      result = std::fma(Real{a}, Real{b}, Real{c});
      break;
    case operation::divide:
      result = a / b;
      break;
    case operation::square_root:
      result = std::sqrt(Real{a});
      break;
  }
  const auto bits = bit_cast<Bits>(Real{result});
  // Hosts differ in their NaN; ours is A1's.
  return std::isnan(Real{result}) ? std::numeric_limits<Bits>::max() / 2 : bits;
}

template <const format& F, class Real, class Bits>
verdict equals_the_host(const implementation& i, const effort& e) {
  verdict v;
  const rounder nearest{};
  const auto hold = [&](operation op, const operands& x) {
    const std::uint64_t expected = on_the_host<Real, Bits>(op, x);
    const auto got = i.arithmetic(op, F, x.a, x.b, x.c, nearest);
    v.compare(got, expected, [&] {
      return describe_operation(op, F, x, nearest, got, expected);
    });
  };
  const std::uint64_t cases = e.level == 0   ? 60000
                              : e.level == 1 ? 2000000
                              : e.level == 2 ? 50000000
                                             : 1000000000;
  for (std::uint64_t n = 0; n < cases && !finished(v, e); ++n) {
    counter_rng rng(e.seed ^ 0x686f7374, n);
    // Half of the cases are bits as they come: they cost the least.
    const operands x = n % 2 == 0 ? random_operands(F, rng)
                                  : operands{static_cast<Bits>(rng.next()),
                                             static_cast<Bits>(rng.next()),
                                             static_cast<Bits>(rng.next())};
    hold(static_cast<operation>(rng.below(6)), x);
  }
  return v;
}

}  // namespace

check_list arithmetic_host_checks() {
  return {
      {"Fp32ArithmeticEqualsTheHost", "A1 A2 A3 A4 A5", "host FPU", 0,
       equals_the_host<fp32, float, std::uint32_t>},
      {"Fp64ArithmeticEqualsTheHost", "A1 A2 A3 A4 A5", "host FPU", 0,
       equals_the_host<fp64, double, std::uint64_t>},
  };
}

}  // namespace zeroulp::conformance
