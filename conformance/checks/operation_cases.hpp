// What the checks of arithmetic share: one operation held against the exact
// oracle, and its description.

#ifndef ZEROULP_CONFORMANCE_CHECKS_OPERATION_CASES_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_OPERATION_CASES_HPP_

#include <string>

#include "conformance/cases/boundaries.hpp"
#include "conformance/cases/hard_operands.hpp"
#include "conformance/checks/conversion/conversion.hpp"

namespace zeroulp::conformance {

oracle::function function_of(operation op);
const char* name_of(operation op);
std::string describe_operation(operation op, format f, const operands& x,
                               rounder r, std::uint64_t got,
                               std::uint64_t expected);

/// Holds one operation under every rounding; operands that it does not take
/// are ignored.
void hold_operation(verdict& v, const implementation& i, operation op, format f,
                    const operands& x);

// The lists of the subject's other files; arithmetic_checks() returns them all.
check_list arithmetic_host_checks();
check_list arithmetic_property_checks();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_OPERATION_CASES_HPP_
