// Holds an implementation against the oracles on the cases of the case engine:
// those that `zeroulp fuzz` makes, by seed and number.

#include <fmt/format.h>

#include "conformance/contract/registry.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/engine/finding.hpp"

namespace zeroulp::conformance {
namespace {

/// `at_1`: cases at level 1.
verdict check_cases(fuzz::target t, std::uint64_t at_1, const implementation& i,
                    const effort& e) {
  verdict v;
  const implementation oracle = oracle_implementation();
  const auto& info = fuzz::info_of(t);
  const std::uint64_t cases = at_1 * (e.level <= 1   ? 1
                                      : e.level == 2 ? 20
                                                     : 1000);
  for (std::uint64_t n = 0; n < cases; ++n) {
    const auto p = fuzz::generate(t, -1, e.seed, n);
    const auto got = info.run(i, p);
    const auto right = info.run(oracle, p);
    const auto differs = fuzz::first_difference(got, right);
    for (const auto& x : got) v.got.add(x.words);
    for (const auto& x : right) v.expected.add(x.words);
    v.count(!differs, [&] {
      return fmt::format("case {}: {}({}, {}) is {:#x}, not {:#x}: {}", n,
                         differs->output, differs->row, differs->col,
                         differs->left, differs->right, fuzz::to_token(p));
    });
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

template <fuzz::target T, std::uint64_t At1>
check check_of(const char* name, const char* clauses, const char* oracle) {
  return {name, clauses, oracle, 1,
          [](const implementation& i, const effort& e) {
            return check_cases(T, At1, i, e);
          }};
}

}  // namespace

check_list case_checks() {
  using fuzz::target;
  return {
      check_of<target::encode, 20000>("CasesOfEncodeEqualTheOracle",
                                      "R1 R2 R8 C1 C2 C3 C4 C5", "MPFR, GMP"),
      check_of<target::decode, 20000>("CasesOfDecodeEqualTheOracle",
                                      "F1 F2 F3 F5", "GMP"),
      check_of<target::arith, 20000>("CasesOfArithEqualTheOracle", "A1 A4",
                                     "MPFR, GMP"),
      check_of<target::step, 20000>("CasesOfStepEqualTheOracle",
                                    "T1 T2 T3 T4 T5 T6 T7 T8", "rational"),
      check_of<target::quantize, 2000>("CasesOfQuantizeEqualTheOracle",
                                       "Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13 Q9 Q10",
                                       "host FP32, FP64"),
      check_of<target::pack, 5000>("CasesOfPackEqualTheOracle", "P1 P2 Q11",
                                   "map of positions"),
      check_of<target::retile, 2000>("CasesOfRetileEqualTheOracle",
                                     "W1 W2 W3 W4 W5 W7", "FP64"),
      check_of<target::gemm, 5000>("CasesOfGemmEqualTheOracle",
                                   "G1 G2 G3 G4 G5 G6 G7 G8 G9",
                                   "rational, host FP32"),
  };
}

}  // namespace zeroulp::conformance
