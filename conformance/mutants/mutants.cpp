#include <string>

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {

mutant_list all_mutants() {
  mutant_list all;
  const auto add = [&all](const char* subject, mutant_list list) {
    for (auto& m : list) {
      m.name = std::string(subject) + "." + m.name;
      m.table.name = m.name;
      all.push_back(std::move(m));
    }
  };
  add("conversion", conversion_mutants());
  add("arithmetic", arithmetic_mutants());
  add("step", step_mutants());
  add("quantizer", quantizer_mutants());
  add("gemm", gemm_mutants());
  add("training", training_mutants());
  add("model", model_mutants());
  return all;
}

}  // namespace zeroulp::conformance
