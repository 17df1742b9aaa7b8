#include "conformance/cases/hard_roots.hpp"

#include "conformance/oracles/mpfr_oracle.hpp"

namespace zeroulp::conformance {
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
