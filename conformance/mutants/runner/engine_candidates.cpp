// Mutants of the fast paths, and what holds them: the cases of the tests, and
// of the case engine, against the core's bits. These are computed once, before
// the first mutant. Mutants of a model's operators are held by their checks.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "conformance/checks/model/model_functions.hpp"
#include "conformance/mutants/runner/trial.hpp"
#include "conformance/tests/engine/engine_calls.hpp"
#include "conformance/tests/engine/model_refusals.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/engine/finding.hpp"

extern "C" {
void zeroulp_mutated_engine(zeroulp::conformance::engine_calls* calls);
void zeroulp_mutated_model(bool by_core,
                           zeroulp::conformance::model_functions* functions);
int zeroulp_engine_mutants();
const char* zeroulp_engine_key(int mutant);
void zeroulp_mutate_engine(int mutant);
bool zeroulp_engine_reached(int mutant);
}

namespace zeroulp::conformance {
namespace {

engine_calls calls() {
  engine_calls e;
  zeroulp_mutated_engine(&e);
  return e;
}

implementation baseline() { return calls().table; }

std::vector<bool> reached() {
  std::vector<bool> all;
  for (int i = 0; i < zeroulp_engine_mutants(); ++i) {
    all.push_back(zeroulp_engine_reached(i));
  }
  return all;
}

check check_of(const engine_case& c) {
  return {c.name, "", "definition", 0,
          [c](const implementation&, const effort&) {
            verdict v;
            const std::string what = c.difference(calls());
            v.count(what.empty(), [&] { return what; });
            return v;
          }};
}

struct solved_problem {
  fuzz::problem p;
  fuzz::outputs right;
};

/// Cases [first, first + count) of a target.
check cases_of(fuzz::target t, std::uint64_t first, std::uint64_t count) {
  const auto& info = fuzz::info_of(t);
  const auto all = std::make_shared<std::vector<solved_problem>>();
  for (std::uint64_t n = first; n < first + count; ++n) {
    auto p = fuzz::generate(t, -1, 1, n);
    auto right = info.run(core_implementation(), p);
    all->push_back({std::move(p), std::move(right)});
  }
  return {
      fmt::format("cases {} to {} of {}", first, first + count - 1, info.name),
      "", "definition", 0,
      [&info, all](const implementation& i, const effort&) {
        verdict v;
        for (const auto& s : *all) {
          const auto got = info.run(i, s.p);
          const auto differs = fuzz::first_difference(got, s.right);
          v.count(!differs, [&] {
            return fmt::format("{}({}, {}) is {:#x}, not {:#x}: {}",
                               differs->output, differs->row, differs->col,
                               differs->left, differs->right,
                               fuzz::to_token(s.p));
          });
          if (differs) break;
        }
        return v;
      }};
}

/// `run` on the operators by hardware and by the core.
void add_model_check(std::vector<timed_check>& all, const model_check& c) {
  for (const bool by_core : {false, true}) {
    const auto run = [by_core, run = c.run](const implementation&,
                                            const effort& e) {
      model_functions f;
      zeroulp_mutated_model(by_core, &f);
      return run(f, e);
    };
    const std::string name = c.name + (by_core ? "OfTheCore" : "OfTheEngine");
    all.push_back({{name, c.clauses, c.oracle, c.level, run}, subject::model});
  }
}

std::vector<timed_check> checks() {
  std::vector<timed_check> all;
  for (const auto& list :
       {chain_cases(), kernel_cases(), gemm_cases(), array_cases(),
        quantize_cases(), retile_cases(), refusal_cases()}) {
    for (const auto& c : list) all.push_back({check_of(c), subject::cases});
  }
  using fuzz::target;
  for (const auto t : {target::encode, target::step, target::quantize,
                       target::pack, target::retile, target::gemm}) {
    for (std::uint64_t first = 0; first < 256; first += 32) {
      all.push_back({cases_of(t, first, 32), subject::cases});
    }
  }
  for (const model_check& c : model_check_list()) add_model_check(all, c);
  add_model_check(all, {"ModelRefusals", "", "definition", 0,
                        [](const model_functions& f, const effort&) {
                          verdict v;
                          const std::string what = wrong_model_refusal(f);
                          v.count(what.empty(), [&] { return what; });
                          return v;
                        }});
  return all;
}

candidate_list candidates() {
  candidate_list all;
  for (int i = 0; i < zeroulp_engine_mutants(); ++i) {
    const std::string key = zeroulp_engine_key(i);
    const std::string file = key.substr(0, key.find(':'));
    const bool model = file.find("model/") != std::string::npos;
    all.push_back({file, key, "", model ? subject::model : subject::cases,
                   [i] {
                     zeroulp_mutate_engine(i);
                     return baseline();
                   },
                   i});
  }
  return all;
}

}  // namespace

suite engine_suite() {
  return {"fast paths", candidates(), checks, baseline, reached};
}

}  // namespace zeroulp::conformance
