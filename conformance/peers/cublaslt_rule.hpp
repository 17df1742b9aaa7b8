// Defines which recipe cuBLASLt 13.1 follows: what the ways to scale are
// called, and a rule of the shape. How often K is split is the algorithm's to
// say.

#ifndef ZEROULP_CONFORMANCE_PEERS_CUBLASLT_RULE_HPP_
#define ZEROULP_CONFORMANCE_PEERS_CUBLASLT_RULE_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "conformance/peers/cublaslt.hpp"
#include "zeroulp/core/convention.hpp"

namespace zeroulp::conformance::peers {

struct cublaslt_scaling {
  const char* name;
  cublaslt_scales scales;
  bool fast_accumulation;
};

inline constexpr cublaslt_scaling cublaslt_scalings[] = {
    {"tensor.fast", cublaslt_scales::matrix, true},
    {"tensor.precise", cublaslt_scales::matrix, false},
    {"1x128_128x128", cublaslt_scales::blocks, false},
    {"1x128_1x128", cublaslt_scales::columns, false},
    {"128x128_1x128", cublaslt_scales::block_rows, false},
    {"rows.fast", cublaslt_scales::rows, true},
    {"rows.precise", cublaslt_scales::rows, false},
    {"none", cublaslt_scales::none, false},
};

/// Throws input_error that names those that there are.
const cublaslt_scaling& parse_cublaslt_scaling(std::string_view name);

/// Why it is not known what this algorithm computes; empty if it is.
std::string cublaslt_unknown(const cublaslt_problem& p,
                             const cublaslt_algorithm& by);

/// The name of the recipe, of what is known: SPEC G10 (a) to (d). BF16 and FP16
/// operands have their own accumulator (G12).
const char* cublaslt_recipe_name(const cublaslt_problem& p);

/// That recipe with the problem's output and K split so often.
recipe cublaslt_recipe(const cublaslt_problem& p, int splits);

struct cublaslt_alternative {
  recipe value;
  std::string what;  ///< "scale of B first", "2 splits"
};

/// Recipes that differ from `right` in one rule, or in the number of splits: if
/// outputs are not theirs, they tell something.
std::vector<cublaslt_alternative> cublaslt_alternatives(const recipe& right,
                                                        std::ptrdiff_t k);

}  // namespace zeroulp::conformance::peers

#endif  // ZEROULP_CONFORMANCE_PEERS_CUBLASLT_RULE_HPP_
