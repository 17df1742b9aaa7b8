// Defines which kernel computes the steps of a path, and how. Internal.

#ifndef ZEROULP_SRC_GEMM_CHAIN_PLAN_HPP_
#define ZEROULP_SRC_GEMM_CHAIN_PLAN_HPP_

#include "src/gemm/tile.hpp"

namespace zeroulp {

struct chain_plan {
  enum class kernel : std::uint8_t {
    core,        ///< none fits: core/gemm.hpp, output by output
    steps,       ///< run_steps
    sums,        ///< run_sums in float
    exact_sums,  ///< run_sums in double, from zero only
  };
  kernel by = kernel::core;
  step_rule rule{};
  step_order order{};
  int min_exponent_a = 0;
  int min_exponent_b = 0;
};

/// Returns the plan for operands of K = `k` that are packed. A lowered path is
/// planned as the steps of its FP16 instruction, two for 32 products.
chain_plan plan_chain(const path& p, std::ptrdiff_t k);

/// Returns true iff every sum of k products of the formats fits 53 bits.
bool is_exact_in_double(format a, format b, std::ptrdiff_t k);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_GEMM_CHAIN_PLAN_HPP_
