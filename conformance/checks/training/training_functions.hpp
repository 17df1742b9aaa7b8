// Defines `training_functions`: one table of the training path, as
// `implementation` is of the rest: the core, the engine, a GPU, a mutant.
// Matrices are of words.

#ifndef ZEROULP_CONFORMANCE_CHECKS_TRAINING_TRAINING_FUNCTIONS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_TRAINING_TRAINING_FUNCTIONS_HPP_

#include <functional>
#include <string>

#include "conformance/contract/registry.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::conformance {

using engine::elementary;

/// What the checks call. Every function is set.
struct training_functions {
  std::string name;
  std::function<void(elementary, codes_in x, codes_out out)> apply;
  std::function<void(const swiglu_layer&, codes_in g, codes_in u, codes_out h,
                     quantized_out h_out, quantized_out g_cache,
                     quantized_out u_cache)>
      swiglu_forward;
  std::function<void(const swiglu_layer&, format from, codes_in dh,
                     quantized_in g_cache, quantized_in u_cache, codes_out h,
                     codes_out dg, codes_out du, quantized_out dg_out,
                     quantized_out du_out)>
      swiglu_backward;
  std::function<void(const rms_layer&, codes_in x, codes_in w, codes_out y,
                     codes_out rstd, quantized_out out)>
      rms_norm;
  std::function<void(const adamw_step&, codes_in g, codes_out m, codes_out v,
                     codes_out w, codes_out copy)>
      adamw;
  std::function<adamw_factors(const adamw_settings&)> factors;
  std::function<void(combine_rule, codes_in x, slots_in slots, codes_in weights,
                     codes_out out)>
      combine;
  std::function<void(const quantizer&, codes_in x, slots_in rows,
                     codes_out codes, codes_out scales)>
      dispatch;
};

training_functions core_training();
/// The core's, but for what is in the table of `i`.
training_functions training_of(const implementation& i);
training_functions engine_training();

/// A check of the training path.
struct training_check {
  std::string name;
  std::string clauses;
  std::string oracle;
  int level;
  std::function<verdict(const training_functions&, const effort&)> run;
};

/// Every one of them: registry.hpp's training_checks() runs each on the
/// implementation that it is given, and on the engine.
std::vector<training_check> training_check_list();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_TRAINING_TRAINING_FUNCTIONS_HPP_
