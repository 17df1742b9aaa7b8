// Defines how a GEMM case is run and held against another result.

#ifndef ZEROULP_CONFORMANCE_CHECKS_GEMM_GEMM_RUNS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_GEMM_GEMM_RUNS_HPP_

#include "conformance/cases/gemm_cases.hpp"
#include "conformance/contract/registry.hpp"

namespace zeroulp::conformance {

/// A result; false if something around D was written, too.
struct gemm_result {
  oracle::grid d;
  bool guards_hold;
};

/// Runs the implementation on matrices that lie as the case says.
gemm_result run_gemm(const implementation& i, const gemm_case& g);

/// The oracle's result.
oracle::grid expected_gemm(const gemm_case& g);

std::string describe_gemm(const gemm_case& g);

/// Counts a result that should be `expected`, element by element; `what` says
/// where `expected` comes from. Returns false if they differ.
bool count_result(const gemm_case& g, const gemm_result& got,
                  const oracle::grid& expected, const std::string& what,
                  verdict& v);

/// Checks that compare runs with each other, not with an oracle.
check_list gemm_property_checks();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_GEMM_GEMM_RUNS_HPP_
