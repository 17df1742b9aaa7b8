#include "conformance/checks/training/training_functions.hpp"

namespace zeroulp::conformance {

training_functions training_of(const implementation& i) {
  training_functions f;
  f.name = i.name;
  f.apply = [](elementary which, codes_in x, codes_out out) {
    for (std::ptrdiff_t r = 0; r < x.rows; ++r) {
      for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
        const core_fp32::number in{x(r, j)};
        out(r, j) = (which == elementary::exp       ? exp<core_fp32>(in)
                     : which == elementary::sigmoid ? sigmoid<core_fp32>(in)
                                                    : rsqrt<core_fp32>(in))
                        .value;
      }
    }
  };
  f.swiglu_forward = i.swiglu_forward;
  f.swiglu_backward = i.swiglu_backward;
  f.rms_norm = i.rms_norm;
  f.adamw = i.adamw;
  f.factors = [](const adamw_settings& s) { return make_adamw_factors(s); };
  f.combine = i.combine;
  f.dispatch = i.dispatch;
  return f;
}

training_functions core_training() {
  return training_of(core_implementation());
}

training_functions engine_training() {
  training_functions f = training_of(engine_implementation());
  f.apply = [](elementary which, codes_in x, codes_out out) {
    engine::apply(which, x, out);
  };
  return f;
}

}  // namespace zeroulp::conformance
