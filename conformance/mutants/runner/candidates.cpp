#include <map>
#include <string>
#include <string_view>

#include "conformance/mutants/mutant.hpp"
#include "conformance/mutants/runner/candidate.hpp"

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

}  // namespace

candidate_list hand_written_candidates() {
  const std::map<std::string, subject> subjects = {
      {"conversion", subject::convert}, {"arithmetic", subject::arithmetic},
      {"step", subject::step},          {"quantizer", subject::quantize},
      {"gemm", subject::gemm},
  };
  candidate_list all;
  for (const auto& m : all_mutants()) {
    const auto first = subjects.at(m.name.substr(0, m.name.find('.')));
    all.push_back({"hand-written", m.name, m.what, first,
                   [table = m.table] { return table; }});
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

}  // namespace zeroulp::conformance
