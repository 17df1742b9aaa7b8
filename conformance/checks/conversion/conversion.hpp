// What the checks of conversions share: one case held against the oracle, and
// its description.

#ifndef ZEROULP_CONFORMANCE_CHECKS_CONVERSION_CONVERSION_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_CONVERSION_CONVERSION_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/contract/registry.hpp"
#include "conformance/oracles/mpfr_oracle.hpp"

namespace zeroulp::conformance {

std::string describe(format f);
std::string describe(rounder r);
std::string describe(policy p);
/// "fp32 7f800001 -> e4m3, up, {...}: got 7e, expected 7f"
std::string describe_conversion(format from, std::uint64_t code, format to,
                                rounder r, policy p, std::uint64_t got,
                                std::uint64_t expected);

inline bool finished(const verdict& v, const effort& e) {
  return e.stop_early && v.failures != 0;
}

/// Which policies a case is tried under.
enum class policies : std::uint8_t {
  as_needed,  ///< all named ones where they can matter, else one by turns
  every,      ///< every combination of the five choices
};

/// Holds the conversion of one code under every rounding (stochastic: with
/// random bits at both sides of its threshold) against the oracle.
void hold_conversion(verdict& v, const implementation& i, format from,
                     std::uint64_t code, format to,
                     policies which = policies::as_needed);

// The lists of the subject's other files; convert_checks() returns them all.
check_list convert_property_checks();
check_list convert_sweep_checks();
check_list convert_header_checks();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_CONVERSION_CONVERSION_HPP_
