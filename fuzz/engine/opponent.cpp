// How an opponent runs a problem, and the ways to be wrong that have a name.

#include "fuzz/engine/opponent.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroulp::fuzz {
namespace {

/// Returns true iff `i` answers a problem of `t` by the core's functions.
bool is_core(const implementation& i, target t) {
  static const implementation core = conformance::core_implementation();
  const auto same_model = [&i](auto... member) {
    return ((i.model.*member == core.model.*member) && ...);
  };
  const auto same = [&i](auto... member) {
    return ((i.*member == core.*member) && ...);
  };
  using table = implementation;
  using operators = conformance::model_operators;
  switch (t) {
    case target::encode:
      return same(&table::recode);
    case target::decode:
      return same(&table::decode);
    case target::arith:
      return same(&table::arithmetic, &table::approximate_quotient);
    case target::step:
      return same(&table::step);
    case target::quantize:
      return same(&table::quantize, &table::dequantize, &table::delayed_amax);
    case target::pack:
      return same(&table::pack, &table::unpack, &table::lay_out_scales,
                  &table::scale_at);
    case target::retile:
      return same(&table::retile);
    case target::gemm:
      return same(&table::gemm);
    case target::swiglu:
      return same(&table::swiglu_forward, &table::swiglu_backward);
    case target::adamw:
      return same(&table::adamw);
    case target::dispatch:
      return same(&table::dispatch);
    case target::combine:
      return same(&table::combine);
    case target::rms_norm:
      return same(&table::rms_norm);
    case target::rms_norm_backward:
      return same_model(&operators::rms_norm_backward);
    case target::attention:
      return same_model(&operators::attention_forward,
                        &operators::attention_backward);
    case target::route:
      break;
  }
  return same_model(&operators::route, &operators::route_backward);
}

bool has_convention(target t) {
  return t == target::quantize || t == target::swiglu ||
         t == target::rms_norm || t == target::dispatch;
}

/// A failed call has one output, of this name: the kind of failure, its text.
constexpr const char* failure_name = "call";

outputs outputs_of(const conformance::call_failure& failure) {
  const std::string_view text = failure.what();
  matrix m(failure_name, integer, 1,
           static_cast<std::ptrdiff_t>(text.size()) + 1);
  m.words[0] = static_cast<std::uint64_t>(failure.kind);
  for (std::size_t i = 0; i < text.size(); ++i) {
    m.words[i + 1] = static_cast<unsigned char>(text[i]);
  }
  return {m};
}

}  // namespace

outputs run(const opponent& o, const problem& p) try {
  const target_info& info = info_of(p.what);
  if (!o.change) return info.run(o.table, p);
  problem other = p;
  o.change(other.with);
  return info.run(o.table, other);
} catch (const conformance::call_failure& failure) {
  return outputs_of(failure);
}

std::optional<conformance::call_failure> failure_in(const outputs& made) {
  if (made.size() != 1 || made[0].name != std::string_view(failure_name)) {
    return {};
  }
  std::string text;
  for (std::size_t i = 1; i < made[0].words.size(); ++i) {
    text += static_cast<char>(made[0].words[i]);
  }
  return conformance::call_failure(
      static_cast<conformance::fault>(made[0].words[0]), text);
}

opponent core_opponent() {
  return opponent_of(conformance::core_implementation());
}

opponent opponent_of(implementation i, std::string what) {
  std::string name = i.name;
  return {std::move(name), std::move(i), std::move(what), {}};
}

opponent opponent_of(const conformance::mutant& m) {
  opponent o = opponent_of(m.table, m.what);
  o.name = fmt::format("mutant:{}", m.name);
  return o;
}

opponent by_convention(const named_convention& c) {
  opponent o = core_opponent();
  o.name = fmt::format("convention:{}", c.name);
  o.what = fmt::format("as if the convention were {}", c.name);
  o.change = [c](settings& s) { s.how = c; };
  return o;
}

/// The core with another recipe, for the problem's operands and scales.
opponent by_recipe(const named_recipe& r) {
  opponent o = core_opponent();
  o.name = fmt::format("recipe:{}", r.name);
  o.what = fmt::format("as if the recipe were {}", r.name);
  o.change = [r](settings& s) {
    recipe other = r.value;
    other.a = s.gemm.a;
    other.b = s.gemm.b;
    other.output = s.gemm.output;
    if (!is_valid(other)) return;
    s.gemm = other;
    s.unit.acc = other.acc;
  };
  return o;
}

/// The core with another path's accumulator, for the same operands.
opponent by_path(const named_path& p) {
  opponent o = core_opponent();
  o.name = fmt::format("path:{}", p.name);
  o.what = fmt::format("as if the path were {}", p.name);
  o.change = [unit = p.value](settings& s) {
    if (!(unit.acc.stored == s.unit.acc.stored)) return;
    const format a = s.unit.a;
    const format b = s.unit.b;
    s.unit = unit;
    s.unit.a = a;
    s.unit.b = b;
  };
  return o;
}

bool answers_as_core(const opponent& o, target t) {
  const auto changes = [&o](const char* what) {
    return o.name.starts_with(what);
  };
  return is_core(o.table, t) &&
         !(has_convention(t) && changes("convention:")) &&
         !(t == target::gemm && (changes("recipe:") || changes("path:"))) &&
         !(t == target::step && changes("path:"));
}

std::vector<opponent> fingerprints(target t) {
  std::vector<opponent> all;
  for (const auto& m : conformance::all_mutants()) {
    if (!is_core(m.table, t)) all.push_back(opponent_of(m));
  }
  if (has_convention(t)) {
    for (const auto& c : named_conventions) all.push_back(by_convention(c));
  }
  if (t == target::gemm) {
    for (const auto& r : named_recipes) all.push_back(by_recipe(r));
  }
  if (t == target::step) {
    std::vector<accumulator> seen;
    for (const auto& p : all_paths()) {
      const accumulator& acc = p.value.acc;
      if (p.value.lowering != lowering::direct ||
          std::find(seen.begin(), seen.end(), acc) != seen.end()) {
        continue;
      }
      seen.push_back(acc);
      all.push_back(by_path(p));
    }
  }
  return all;
}

}  // namespace zeroulp::fuzz
