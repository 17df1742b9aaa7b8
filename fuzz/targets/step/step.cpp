// Defines the target `step`: one instruction of a tensor core.

#include <algorithm>

#include "fuzz/targets/coverage.hpp"
#include "fuzz/targets/step/fill.hpp"
#include "fuzz/targets/step/sketch.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// Paths with the same accumulator and lowering, all with FP8 operands or none.
using path_group = std::vector<path>;

/// Every named path once: those measured on silicon, the others, whatif.fN.
struct path_table {
  std::vector<path_group> measured;
  std::vector<path_group> others;
  std::vector<path_group> what_ifs;

  path_table() {
    for (const named_path& p : all_paths()) {
      if (has(measured, p.value) || has(others, p.value)) continue;
      const bool is_measured =
          !p.known_by.empty() &&
          p.known_by.front().kind == evidence_kind::measured;
      add(is_measured ? measured : others, p.value);
    }
    for (int f = 8; f <= 34; ++f) {
      for (const format a : {e4m3, e5m2}) {
        for (const format b : {e4m3, e5m2}) {
          add(what_ifs, {a, b, what_if_fraction(f)});
        }
      }
    }
  }

  static bool has(const std::vector<path_group>& groups, const path& p) {
    return std::any_of(groups.begin(), groups.end(), [&](const auto& g) {
      return std::find(g.begin(), g.end(), p) != g.end();
    });
  }

  static void add(std::vector<path_group>& groups, const path& p) {
    const auto alike = [&](const path_group& g) {
      const path& q = g.front();
      return q.acc == p.acc && q.lowering == p.lowering &&
             (q.a.bits() == 8) == (p.a.bits() == 8);
    };
    const auto group = std::find_if(groups.begin(), groups.end(), alike);
    if (group == groups.end()) {
      groups.push_back({p});
    } else {
      group->push_back(p);
    }
  }
};

void draw(settings& s, counter_rng& rng) {
  static const path_table paths;
  const auto any_of = [&](const auto& list, std::size_t count) {
    return list[rng.below(static_cast<std::uint32_t>(count))];
  };
  const std::uint32_t which = rng.below(8);
  // The first groups are FP8 wgmma, with FP32 and FP16 results.
  const path_group group =
      which == 0   ? any_of(paths.measured, 2)
      : which <= 3 ? any_of(paths.measured, paths.measured.size())
      : which <= 6 ? any_of(paths.others, paths.others.size())
                   : any_of(paths.what_ifs, paths.what_ifs.size());
  s.unit = any_of(group, group.size());
}

std::string refuse(const settings& s) {
  return s.unit.length() > most_products ? "the path takes too many products"
                                         : "";
}

std::vector<operand_spec> operands_of(const settings& s) {
  const axis one{0, 1};
  const axis k{'k', 1};
  return {{"a", s.unit.a, one, k},
          {"b", s.unit.b, one, k},
          {"c", s.unit.acc.stored, one, one}};
}

std::string clauses(const problem& p, std::string_view) {
  const path& unit = p.with.unit;
  const accumulator& acc = unit.acc;
  if (acc.fraction_bits == uncut) return "T14 T6 T7";
  const std::string sum = "T1 T2 T3 T4 T5 T6 T7 T8";
  if (unit.lowering == lowering::hmma_chained) return sum + " T10 T12 A1";
  if (unit.lowering == lowering::hmma_zero) return sum + " T11 T12 A1";
  const auto is_row = [&](const path_family& family) {
    const bool what_if = std::string_view(family.name).starts_with("whatif");
    return !what_if && family.acc == acc;
  };
  return sum + (std::any_of(std::begin(path_families), std::end(path_families),
                            is_row)
                    ? " T12"
                    : " T13");
}

}  // namespace

target_info step_info() {
  return {target::step, "step",          "one instruction of a tensor core",
          {"path"},     step_profiles(), draw,
          refuse,       operands_of,     fill_step,
          run_step,     clauses,         step_bins,
          cover_step};
}

}  // namespace zeroulp::fuzz
