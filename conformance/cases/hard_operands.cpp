#include "conformance/cases/hard_operands.hpp"

#include <algorithm>

#include "conformance/cases/boundaries.hpp"
#include "conformance/oracles/mpfr_oracle.hpp"

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
  const rounder nearest{};
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
      const auto product =
          oracle::compute(oracle::function::multiply, f, x.a, x.b, 0, nearest);
      x.c = nudged(product ^ sign);
      break;
    }
    case 5: {  // an addend around the last place of the product
      x.b = with_biased(f, x.b, f.bias + rng.between(-4, 4));
      const auto product =
          oracle::compute(oracle::function::multiply, f, x.a, x.b, 0, nearest);
      const int reach = 2 * width;
      x.c = with_biased(f, x.c, biased(product) + rng.between(-reach, reach));
      break;
    }
    case 6: {  // a quotient or a root near a midpoint
      const auto q = random_code(f, rng) & l.magnitude_mask;
      x.b = with_biased(f, x.b, f.bias + rng.between(-4, 4));
      const auto middle = oracle::midpoint(f, std::min(q, l.largest));
      const auto other = rng.one_in(2) ? middle : oracle::value_of(f, x.b);
      const auto near = oracle::evaluate(oracle::function::multiply, middle,
                                         other, {}, nearest.mode);
      x.a = nudged(
          oracle::finish(f, oracle::place(f, near), nearest, cuda_satfinite));
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

namespace {

/// Returns a q with q^2 = t modulo 2^s; t = 1 modulo 8, 3 <= s <= 63.
std::uint64_t root_modulo(std::uint64_t t, int s) {
  std::uint64_t q = 1;
  for (int k = 3; k < s; ++k) {
    if (((q * q - t) >> k & 1) != 0) q += std::uint64_t{1} << (k - 1);
  }
  return q;
}

/// Adds the codes with x * 2^s = q^2 + d, q of `bits` bits, x of the precision.
void add_roots(format f, std::int64_t d, int bits, int s,
               std::vector<std::uint64_t>& codes) {
  const std::uint64_t modulus = std::uint64_t{1} << s;
  const std::uint64_t first =
      root_modulo(std::uint64_t{0} - static_cast<std::uint64_t>(d), s);
  for (const std::uint64_t root :
       {first, 0 - first, first + modulus / 2, modulus / 2 - first}) {
    std::uint64_t q = root & (modulus - 1);
    if (s < bits) q |= std::uint64_t{1} << (bits - 1);
    if (q >> (bits - 1) != 1) continue;
    oracle::exact x;
    x.numerator = mpz_class(q) * q + mpz_class(static_cast<long>(d));
    // Scaled by an even power of two to be near 1, or 2.
    x.exponent = -2L * (bits - 1);
    const auto at = oracle::place(f, x);
    if (at.fraction == 0 && !at.rest) codes.push_back(at.below);
  }
}

}  // namespace

std::vector<std::uint64_t> hard_roots(format f, int count) {
  std::vector<std::uint64_t> codes;
  const int precision = f.man_bits + 1;
  for (int n = 1; n <= count; ++n) {
    // Squares of odd numbers are 1 modulo 8.
    for (const std::int64_t d : {8 * n - 1, -8 * n - 1}) {
      for (const int bits : {precision, precision + 1}) {
        for (const int s : {2 * bits - 1 - precision, 2 * bits - precision}) {
          if (s >= 3) add_roots(f, d, bits, s, codes);
        }
      }
    }
  }
  return codes;
}

}  // namespace zeroulp::conformance
