// What the oracle's own files share.

#ifndef ZEROULP_CONFORMANCE_ORACLES_EXACT_INTEGERS_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_EXACT_INTEGERS_HPP_

#include <gmpxx.h>

#include <cstdint>

namespace zeroulp::oracle {

static_assert(sizeof(unsigned long) == 8, "GMP takes 64 bits as long");

inline std::uint64_t ones(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

inline mpz_class shifted_left(const mpz_class& x, long count) {
  mpz_class result;
  mpz_mul_2exp(result.get_mpz_t(), x.get_mpz_t(),
               static_cast<unsigned long>(count));
  return result;
}

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_EXACT_INTEGERS_HPP_
