#include "conformance/cases/hard_operands.hpp"

#include <algorithm>

#include "conformance/cases/codes.hpp"
#include "conformance/oracles/format_layout.hpp"
#include "zeroulp/core/arith.hpp"

namespace zeroulp::conformance {
namespace {

/// Returns `code` with its exponent field moved by `by`, within the finite
/// ones.
std::uint64_t moved(format f, std::uint64_t code, int by) {
  const auto l = oracle::layout_of(f);
  const std::int64_t top = static_cast<std::int64_t>(l.largest >> f.man_bits);
  const std::uint64_t fraction = code & ((std::uint64_t{1} << f.man_bits) - 1);
  const auto biased =
      static_cast<std::int64_t>((code & l.magnitude_mask) >> f.man_bits) + by;
  const std::int64_t kept = std::clamp<std::int64_t>(biased, 0, top);
  return (code & l.sign_mask) |
         std::min((static_cast<std::uint64_t>(kept) << f.man_bits) | fraction,
                  l.largest);
}

/// Returns `code` with another exponent, such that a * code is near 2^`target`
/// in units of the biased exponent of the product.
std::uint64_t with_biased(format f, std::uint64_t code, int biased) {
  const auto l = oracle::layout_of(f);
  const int now = static_cast<int>((code & l.magnitude_mask) >> f.man_bits);
  return moved(f, code, biased - now);
}

/// Returns the number of a code below the sign, continued beyond the largest.
unpacked continued(format f, std::uint64_t magnitude) {
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  const std::uint64_t fraction = magnitude & (hidden - 1);
  const auto biased = static_cast<std::int32_t>(magnitude >> f.man_bits);
  const bool normal = f.kind == specials::scale || biased > 0;
  unpacked x{normal ? fraction + hidden : fraction,
             (normal ? biased : 1) - f.bias - f.man_bits, kind::finite, false};
  if (x.significand == 0) x.kind = kind::zero;
  return x;
}

/// Returns the exact midpoint between a code below the sign and the next.
unpacked midpoint(format f, std::uint64_t magnitude) {
  const unpacked low = continued(f, magnitude);
  const unpacked high = continued(f, magnitude + 1);
  const std::uint64_t twice =
      low.significand + (high.significand << (high.exponent - low.exponent));
  return {twice, low.exponent - 1, kind::finite, false};
}

}  // namespace

operands random_operands(format f, counter_rng& rng) {
  const auto l = oracle::layout_of(f);
  const std::uint64_t sign = l.sign_mask;
  operands x{random_code(f, rng), random_code(f, rng), random_code(f, rng)};
  const auto nudged = [&](std::uint64_t code) {
    const auto by = static_cast<std::uint64_t>(rng.between(-2, 2));
    return (code & sign) | ((code + by) & l.magnitude_mask);
  };
  const auto biased = [&](std::uint64_t code) {
    return static_cast<int>((code & l.magnitude_mask) >> f.man_bits);
  };
  const int top = static_cast<int>(l.largest >> f.man_bits);
  const int width = f.man_bits + 3;
  switch (rng.below(9)) {
    case 0:  // cancellation
      x.b = nudged(x.a ^ (rng.one_in(2) ? sign : 0));
      break;
    case 1:  // a sum with its last bits around the cut
      x.b = with_biased(f, x.b, biased(x.a) + rng.between(-width, width));
      break;
    case 2:  // products around the smallest numbers
      x.b = with_biased(f, x.b, f.bias - biased(x.a) + rng.between(-width, 3));
      break;
    case 3:  // products and quotients around the largest
      x.b = rng.one_in(2)
                ? with_biased(f, x.b,
                              f.bias + top - biased(x.a) + rng.between(-2, 2))
                : with_biased(f, x.b,
                              biased(x.a) - top + f.bias + rng.between(-2, 2));
      break;
    case 4: {  // an addend that cancels the product, or nearly
      x.b = with_biased(f, x.b, f.bias + rng.between(-4, 4));
      const auto product = multiply(f, x.a, x.b);
      x.c = nudged(product ^ sign);
      break;
    }
    case 5: {  // an addend around the last place of the product
      x.b = with_biased(f, x.b, f.bias + rng.between(-4, 4));
      const auto product = multiply(f, x.a, x.b);
      const int reach = 2 * width;
      x.c = with_biased(f, x.c, biased(product) + rng.between(-reach, reach));
      break;
    }
    case 6: {  // a quotient or a root near a midpoint
      const auto q = random_code(f, rng) & l.magnitude_mask;
      x.b = with_biased(f, x.b, f.bias + rng.between(-4, 4));
      const auto middle = midpoint(f, std::min(q, l.largest));
      const auto other = rng.one_in(2) ? middle : decode(f, x.b);
      x.a = nudged(encode(f, product(middle, other), {}, cuda_satfinite));
      break;
    }
    case 7: {  // (1 + u)(1 - u): a product that is one run of ones
      const std::uint64_t fractions = (std::uint64_t{1} << f.man_bits) - 1;
      const auto u = std::uint64_t{1} << rng.between(0, 2);
      x.a = (x.a & ~fractions) | (u & fractions);
      x.b = with_biased(
          f, (x.b & ~fractions) | ((fractions + 1 - 2 * u) & fractions),
          f.bias + rng.between(-4, 4));
      const int reach = 2 * width;
      x.c = with_biased(f, x.c, biased(x.a) + rng.between(-reach, reach));
      break;
    }
    case 8: {  // a special among them
      const auto specials_of_f = special_codes(f);
      const auto any = [&] {
        return specials_of_f[rng.below(
            static_cast<std::uint32_t>(specials_of_f.size()))];
      };
      (rng.one_in(2) ? x.a : x.b) = any();
      if (rng.one_in(2)) x.c = any();
      break;
    }
  }
  return x;
}

}  // namespace zeroulp::conformance
