// The opponents that have a name. Those that are no opponents of the core alone
// need the oracles and the compiled library.

#include <fmt/format.h>

#include "fuzz/engine/opponent.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

opponent mutant_called(std::string_view name) {
  for (const auto& m : conformance::all_mutants()) {
    if (m.table.name == name) return opponent_of(m);
  }
  throw input_error(fmt::format(
      "unknown mutant '{}': zeroulp fuzz mutants lists them", name));
}

opponent find(std::string_view name) {
  const auto colon = name.find(':');
  const auto rest =
      colon == std::string_view::npos ? "" : name.substr(colon + 1);
  const auto which = name.substr(0, colon);
  if (name == "core") return core_opponent();
  if (name == "oracle") return oracle_opponent();
  if (name == "engine") {
    return opponent_of({conformance::engine_implementation(),
                        conformance::engine_operators()});
  }
  if (which == "mutant") return mutant_called(rest);
  if (which == "convention") return by_convention(parse_convention(rest));
  if (which == "recipe") return by_recipe(parse_recipe(rest));
  if (which == "path") return by_path(parse_path(rest));
  throw input_error(fmt::format(
      "unknown opponent '{}': use oracle, engine, silicon, gpu, core, "
      "mutant:NAME, convention:NAME, recipe:NAME, path:NAME, a plug-in's "
      "LIB.so or python:FILE",
      name));
}

}  // namespace

opponent oracle_opponent() {
  return opponent_of(
      {conformance::oracle_implementation(), conformance::oracle_operators()});
}

opponent parse_opponent(std::string_view name, target t) {
  opponent o = find(name);
  if (name != "core" && answers_as_core(o, t)) {
    throw input_error(
        fmt::format("{} has nothing of its own for {}", name, info_of(t).name));
  }
  return o;
}

}  // namespace zeroulp::fuzz
