// Definitions and faults as suspects.

#include "fuzz/explain/suspects.hpp"

#include <utility>

#include "fuzz/engine/opponent.hpp"

namespace zeroulp::fuzz {
namespace {

suspect by_opponent(suspicion of, opponent o) {
  suspect s{of, o.name, o.what, {}};
  s.answer = [who = std::move(o)](const problem& p) { return run(who, p); };
  return s;
}

}  // namespace

std::vector<suspect> definitions(const problem& p) {
  std::vector<suspect> all;
  const implementation compiled = conformance::engine_implementation();
  for (opponent& o : fingerprints(p.what)) {
    if (!o.change) continue;
    if (p.what != target::step) o.table = compiled;
    all.push_back(by_opponent(suspicion::definition, std::move(o)));
  }
  return all;
}

std::vector<suspect> faults(const problem& p) {
  std::vector<suspect> all;
  for (opponent& o : fingerprints(p.what)) {
    if (o.change) continue;
    all.push_back(by_opponent(suspicion::fault, std::move(o)));
  }
  return all;
}

}  // namespace zeroulp::fuzz
