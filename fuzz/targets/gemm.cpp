// Defines the target `gemm`: a product of codes with scales, by a recipe.
// Source: SPEC clauses G1 to G9 and T. The numbers: gemm_fill.cpp; the
// coverage: gemm_cover.cpp.
//
// There are cases with K = 0: operands are m x 0 and n x 0. A scale that covers
// all of K (group 0) is there nevertheless. With groups along K there are no
// scales, and no implementation may read one.

#include <algorithm>

#include "fuzz/targets/gemm_parts.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// The paths that a GEMM can follow: an instruction is one step, sums are FP32.
const std::vector<path>& units() {
  static const std::vector<path> all = [] {
    std::vector<path> chosen;
    for (const named_path& p : all_paths()) {
      const bool direct = p.value.lowering == lowering::direct;
      const bool is_new =
          std::find(chosen.begin(), chosen.end(), p.value) == chosen.end();
      if (direct && is_new && p.value.acc.stored == fp32) {
        chosen.push_back(p.value);
      }
    }
    return chosen;
  }();
  return all;
}

/// Returns a path with accumulator `acc`.
path draw_unit(const accumulator& acc, counter_rng& rng) {
  std::vector<path> fitting;
  for (const path& p : units()) {
    if (p.acc == acc) fitting.push_back(p);
  }
  return fitting[rng.below(static_cast<std::uint32_t>(fitting.size()))];
}

path draw_unit(counter_rng& rng) {
  constexpr format fp8[] = {e4m3, e5m2};
  if (rng.one_in(8)) {
    const int fraction_bits = rng.between(8, 34);
    return {one_of(fp8, rng), one_of(fp8, rng),
            what_if_fraction(fraction_bits)};
  }
  if (rng.one_in(2)) return draw_unit(hopper_fp8_f32, rng);
  return units()[rng.below(static_cast<std::uint32_t>(units().size()))];
}

/// A recipe that G2 allows for an accumulator.
recipe draw_recipe(const accumulator& acc, counter_rng& rng) {
  constexpr promotion updates[] = {promotion::add, promotion::product_of_scales,
                                   promotion::one_then_other,
                                   promotion::other_then_one};
  constexpr int intervals[] = {128, 128, 64, 32, 256, 96};
  constexpr int rows[] = {0, 1, 2, 3, 64, 128};
  recipe r{acc, 0, one_of(updates, rng), {}, {}, 1, epilogue::store, fp32};
  if (acc.length > 0 && !rng.one_in(5)) {
    // Each of them is a multiple of every L.
    r.interval = one_of(intervals, rng);
  }
  for (granularity* g : {&r.a, &r.b}) {
    g->mn = one_of(rows, rng);
    const bool may = r.interval > 0 && r.update != promotion::add;
    if (may && !rng.one_in(4)) g->k = r.interval * rng.between(1, 3);
  }
  if (rng.one_in(2)) r.splits = rng.between(2, 5);
  if (rng.one_in(3)) r.end = epilogue::accumulate;
  if (rng.one_in(2)) r.output = bf16;
  return r;
}

void draw(settings& s, counter_rng& rng) {
  if (rng.one_in(2)) {
    s.gemm = one_of(named_recipes, rng).value;
    const bool fp8 = s.gemm.acc == hopper_fp8_f32;
    // G12: a recipe's name stands for the accumulator of its operands.
    if (fp8 && rng.one_in(6)) s.gemm.acc = hopper_half_f32;
    s.unit = draw_unit(s.gemm.acc, rng);
  } else {
    s.unit = draw_unit(rng);
    s.gemm = draw_recipe(s.unit.acc, rng);
  }
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  if (s.unit.lowering != lowering::direct) {
    return "a GEMM takes a path of which an instruction is one step (not "
           "hopper.mma with FP8)";
  }
  if (s.unit.acc.stored != fp32) return "a GEMM takes a path to f32";
  if (s.gemm.output != fp32 && s.gemm.output != bf16) {
    return "the output of a GEMM is fp32 or bf16, not " +
           name_of(s.gemm.output);
  }
  const auto negative = [](granularity g) { return g.mn < 0 || g.k < 0; };
  if (negative(s.gemm.a) || negative(s.gemm.b)) {
    return "a group of negative size";
  }
  if (!is_valid(recipe_of(s))) {
    return "no such recipe: the interval is a multiple of the step (" +
           std::to_string(s.unit.acc.length) +
           "); scales change along K at multiples of it, and not with update "
           "add";
  }
  return "";
}

std::string clauses(const problem& p, std::string_view output) {
  const settings& s = p.with;
  const recipe& r = s.gemm;
  if (output == "guards") return "G9";
  const std::ptrdiff_t k = p.in[0].cols;
  std::string all = "G1";
  const auto add = [&all](bool applies, const char* clause) {
    if (applies) all += std::string(" ") + clause;
  };
  if (k > 0) {
    const bool sequence =
        s.unit.acc == fp32_sequential || s.unit.acc == exact_f32;
    add(true, "G3");
    add(r.update == promotion::add, "G4");
    add(r.update == promotion::product_of_scales, "G5");
    add(r.update == promotion::one_then_other ||
            r.update == promotion::other_then_one,
        "G6");
    add(r.splits > 1, "G7");
    add(k % gemm_grain(r, k) != 0, "G9");
    add(sequence, "T14");
    add(!sequence, "T1 T2 T3 T4 T5 T6 T7 T8 T9 T12 T13");
  }
  add(r.end == epilogue::accumulate || r.output != fp32, "G8");
  return all;
}

}  // namespace

std::vector<operand_spec> gemm_operands(const settings& s) {
  const recipe& r = s.gemm;
  return {{"a", s.unit.a, {'m', 1}, {'k', 1}},
          {"b", s.unit.b, {'n', 1}, {'k', 1}},
          {"a_scales", fp32, {'m', r.a.mn}, {'k', r.a.k}, true},
          {"b_scales", fp32, {'n', r.b.mn}, {'k', r.b.k}, true},
          {"c", fp32, {'m', 1}, {'n', 1}}};
}

target_info gemm_info() {
  return {target::gemm,
          "gemm",
          "a product of codes with scales, by a recipe",
          {"path", "interval", "update", "a_group", "b_group", "splits", "end",
           "output", "place"},
          {"normal", "positive", "finite", "sparse", "huge", "special",
           "scales", "cancel", "ties"},
          draw,
          refuse,
          gemm_operands,
          fill_gemm,
          run_gemm,
          clauses,
          gemm_bins,
          cover_gemm};
}

}  // namespace zeroulp::fuzz
