// The parts of gemm_mutants().

#ifndef ZEROULP_CONFORMANCE_MUTANTS_GEMM_PARTS_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_GEMM_PARTS_HPP_

#include <vector>

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {

using operand = gemm_operand<std::uint32_t>;
using words = std::vector<std::uint32_t>;

inline std::uint32_t fp32_word(std::uint64_t code) {
  return static_cast<std::uint32_t>(code);
}

inline mutant multiplies(const char* name, const char* what,
                         decltype(implementation::gemm) f) {
  return core_but(name, what, &implementation::gemm, f);
}

/// Faults in what a GEMM reads and how it cuts K: what gemm_mutants() adds.
mutant_list operand_mutants();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_GEMM_PARTS_HPP_
