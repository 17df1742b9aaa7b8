// Identifies GEMM recipes: describes the class that a search finds.

#include "fuzz/identify/gemm.hpp"

#include <fmt/format.h>

#include "fuzz/identify/gemm_search.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

std::string text_of(const scale_cover& cover) {
  if (cover.scales.words.empty()) return "no scales";
  const auto size = [](std::int32_t n, const char* all) {
    return n == 0 ? std::string(all) : std::to_string(n);
  };
  const granularity g = cover.covers;
  return (g == per_tensor ? "tensor" : size(g.mn, "M") + "x" + size(g.k, "K")) +
         (cover.note.empty() ? "" : ", " + cover.note);
}

/// Every field with all values tried, in the order of a member's values.
std::vector<fitting_field> all_fields(const gemm_grid& grid,
                                      const gemm_evidence& e) {
  std::vector<fitting_field> all{{"accumulator", {}},
                                 {"interval", {}},
                                 {"update", {"fl(acc+p)"}},
                                 {"splits of K", {}},
                                 {"scales of A", {}},
                                 {"scales of B", {}},
                                 {"epilogue", {"store", "fl(acc+C)"}}};
  for (const auto& a : grid.accumulators) all[0].values.push_back(a.name);
  for (const auto i : grid.intervals) {
    all[1].values.push_back(i == 0 ? "none" : std::to_string(i));
  }
  if (e.a.scales || e.b.scales) {
    all[2].values = {"fl(acc+p), scales at the end", "fma(p, fl(sa*sb), acc)",
                     "fma(fl(p*sa), sb, acc)", "fma(fl(p*sb), sa, acc)"};
  }
  for (const auto s : grid_splits) all[3].values.push_back(std::to_string(s));
  for (const auto& c : grid.a) all[4].values.push_back(text_of(c));
  for (const auto& c : grid.b) all[5].values.push_back(text_of(c));
  return all;
}

/// Returns true iff `r` is what the named recipe does with these operands,
/// whatever the output format.
bool is_named(const gemm_evidence& e, const recipe& r, const recipe& named) {
  recipe n = named;
  const bool half = e.a.f == e.b.f && (e.a.f == bf16 || e.a.f == fp16);
  if (half) n = engine::for_operands(named, e.a.f, e.b.f);
  const bool scaled = e.a.scales || e.b.scales;
  return r.acc == n.acc && r.interval == n.interval && r.splits == n.splits &&
         r.end == n.end && (!scaled || r.update == n.update) &&
         (!e.a.scales || r.a == n.a) && (!e.b.scales || r.b == n.b);
}

/// Fills in the class: the best members, as far as they give the same bits.
void describe(const gemm_evidence& e, const gemm_search& s,
              gemm_answer& answer) {
  const tally result = s.best[0].result;
  class_builder builder(answer.grid);
  std::vector<bool> named(std::size(named_recipes), false);
  bool best_is_named = false;
  for (const auto& j : s.best) {
    if (j.result.digest != result.digest) continue;
    const auto& c = s.grid.chains[j.chain];
    const auto& p = c.plans[j.plan];
    recipe r = recipe_of(s.grid, c, p);
    r.end = grid_ends[j.end];
    r.output = e.output;
    for (const std::size_t split : p.splits) {
      builder.add({c.acc, p.interval, p.update, split, p.a, p.b, j.end});
      r.splits = grid_splits[split];
      bool has_name = false;
      for (std::size_t n = 0; n < named.size(); ++n) {
        if (!is_named(e, r, named_recipes[n].value)) continue;
        has_name = true;
        named[n] = true;
      }
      const bool is_first = &j == s.best.data() && split == p.splits[0];
      if (is_first || (has_name && !best_is_named)) answer.how = r;
      best_is_named = best_is_named || has_name;
    }
  }
  answer.found = builder.result();
  for (std::size_t n = 0; n < named.size(); ++n) {
    if (!named[n]) continue;
    const auto& row = named_recipes[n];
    answer.found.names.push_back(
        row.value.output == e.output
            ? row.name
            : fmt::format("{} (stored as {})", row.name, name_of(e.output)));
  }
  if (result.differ > 0) answer.first = result.first;
}

}  // namespace

gemm_answer identify_gemm(const gemm_evidence& e, const identify_progress& tell,
                          double most_products) {
  const stopwatch watch;
  const auto s = search_gemms(e, tell, most_products);
  const auto& best = s.best[0];
  gemm_answer answer;
  answer.grid = all_fields(s.grid, e);
  answer.tried = s.grid.size();
  answer.best = {s.outputs - best.result.differ, s.outputs};
  const auto& acc = s.grid.accumulators[s.grid.chains[best.chain].acc].value;
  answer.chance = s.control.chance(acc);
  answer.fp32_sum = s.control.fp32_sum;
  answer.exact = best.result.differ == 0 && s.outputs == e.d.words.size();
  answer.tells = s.control.is_finding(answer.best, acc, answer.tried);
  answer.is_near = answer.best.differ() == 0 || answer.tells;
  if (answer.is_near) describe(e, s, answer);
  answer.seconds = watch.seconds();
  return answer;
}

}  // namespace zeroulp::fuzz
