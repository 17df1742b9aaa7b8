// Defines random operands for arithmetic checks: any bits, exponents close to
// each other, sums that cancel.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_ARITHMETIC_OPERANDS_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_ARITHMETIC_OPERANDS_HPP_

#include "zeroulp/core/arith.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {

struct operands {
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t c;
};

ZEROULP_HD constexpr operands random_operands(format f, std::uint64_t seed,
                                              std::uint64_t i) {
  counter_rng rng(seed, i);
  const std::uint64_t mask = low_bits(f.bits());
  const std::uint64_t a = rng.next() & mask;
  const std::uint64_t b = rng.next() & mask;
  const std::uint64_t c = rng.next() & mask;
  const auto beside = [&](std::uint64_t x, int exponents) {
    const std::uint64_t offset =
        static_cast<std::uint64_t>(rng.between(-exponents, exponents))
        << f.man_bits;
    return (x + offset) & mask;
  };
  switch (i % 4) {
    case 1: {  // exponents close to each other, also a product's
      const std::uint64_t near =
          (a & ~low_bits(f.man_bits)) | (b & low_bits(f.man_bits));
      return {a, beside(near, 2),
              beside(multiply(f, a, b) ^ (c & low_bits(f.man_bits)), 3)};
    }
    case 2:  // sums that cancel except for a few last bits
      return {a, (a ^ f.sign_mask()) + rng.below(4),
              (multiply(f, a, b) ^ f.sign_mask()) & mask};
    case 3: {  // few significand bits
      const std::uint64_t few = ~low_bits(f.man_bits * 3 / 4);
      return {a & few, b & few, c & few};
    }
    default:
      break;
  }
  return {a, b, c};
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_ARITHMETIC_OPERANDS_HPP_
