#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "conformance/checks/model/model_functions.hpp"
#include "conformance/mutants/mutant.hpp"
#include "conformance/mutants/runner/operator_mutants.hpp"
#include "conformance/mutants/runner/trial.hpp"

extern "C" {
void zeroulp_mutated_core(zeroulp::conformance::implementation* table);
int zeroulp_mutated_count();
const char* zeroulp_mutated_key(int mutant);
void zeroulp_mutate(int mutant);
bool zeroulp_mutated_reached(int mutant);
}

namespace zeroulp::conformance {
namespace {

subject subject_of(std::string_view header) {
  if (header == "arith.hpp") return subject::arithmetic;
  if (header == "accumulate.hpp") return subject::step;
  if (header == "gemm.hpp") return subject::gemm;
  if (header == "retile.hpp" || header == "pack.hpp") return subject::retile;
  if (header == "reciprocal.hpp") return subject::division;
  if (header == "quantize.hpp" || header == "scale.hpp" ||
      header == "view.hpp") {
    return subject::quantize;
  }
  return subject::convert;
}

/// The operators of a model on trial. Each candidate has a process of its own.
model_functions& operators_on_trial() {
  static model_functions held = model_of(core_operators());
  return held;
}

candidate_list hand_written_candidates() {
  const std::map<std::string, subject> subjects = {
      {"conversion", subject::convert}, {"arithmetic", subject::arithmetic},
      {"step", subject::step},          {"quantizer", subject::quantize},
      {"gemm", subject::gemm},          {"training", subject::training},
      {"model", subject::model},
  };
  candidate_list all;
  for (const auto& m : all_mutants()) {
    const auto first = subjects.at(m.name.substr(0, m.name.find('.')));
    all.push_back({"hand-written", m.name, m.what, first, [table = m.table] {
                     operators_on_trial() = model_of(table.model);
                     return table;
                   }});
  }
  for (auto* const list :
       {latent_mutants, parallel_mutants, indexer_mutants, mtp_mutants}) {
    for (const auto& m : list()) {
      all.push_back({"hand-written", std::string("model.") + m.name, m.what,
                     subject::model, [put = m.put] {
                       put(operators_on_trial());
                       return core_implementation();
                     }});
    }
  }
  return all;
}

implementation generated_baseline() {
  implementation table;
  zeroulp_mutated_core(&table);
  return table;
}

std::vector<bool> reached_places() {
  std::vector<bool> all;
  for (int i = 0; i < zeroulp_mutated_count(); ++i) {
    all.push_back(zeroulp_mutated_reached(i));
  }
  return all;
}

candidate_list generated_candidates() {
  candidate_list all;
  for (int i = 0; i < zeroulp_mutated_count(); ++i) {
    const std::string key = zeroulp_mutated_key(i);
    const std::string header = key.substr(0, key.find(':'));
    all.push_back({header, key, "", subject_of(header),
                   [i] {
                     zeroulp_mutate(i);
                     return generated_baseline();
                   },
                   i});
  }
  return all;
}

std::vector<timed_check> every_check() {
  std::vector<timed_check> all;
  const auto add = [&all](const check_list& list, subject of) {
    for (const auto& c : list) all.push_back({c, of});
  };
  add(convert_checks(), subject::convert);
  add(arithmetic_checks(), subject::arithmetic);
  add(step_checks(), subject::step);
  add(quantize_checks(), subject::quantize);
  add(division_checks(), subject::division);
  add(retile_checks(), subject::retile);
  add(gemm_checks(), subject::gemm);
  add(case_checks(), subject::cases);
  add(vector_checks(), subject::step);
  add(training_checks(), subject::training);
  // model_checks() holds the core and the engine, once each.
  const auto model = model_check_list();
  for (const model_check& c : model) {
    all.push_back({{c.name, c.clauses, c.oracle, c.level,
                    [run = c.run](const implementation&, const effort& e) {
                      return run(operators_on_trial(), e);
                    }},
                   subject::model});
  }
  if (all.size() + model.size() != all_checks().size()) {
    throw std::logic_error("a list of the registry is missing here");
  }
  return all;
}

candidate_list candidates() {
  candidate_list all;
  for (const auto& list :
       {hand_written_candidates(), row_candidates(), generated_candidates()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace

suite core_suite() {
  return {"core", candidates(), every_check, generated_baseline,
          reached_places};
}

}  // namespace zeroulp::conformance
