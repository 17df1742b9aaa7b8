// Identifies quantizer conventions: describes the class that a search finds.

#include "fuzz/identify/quantizer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/identify/quantizer_control.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

constexpr const char* storage_texts[] = {"s", "fl(1/s)", "q = fl(max/amax)",
                                         "ue8m0 byte of s"};

/// The layouts of the readings, each once.
std::vector<std::string> layouts_of(const quantizer_grid& grid) {
  std::vector<std::string> all;
  for (const auto& r : grid.readings) {
    if (std::find(all.begin(), all.end(), r.place.layout) == all.end()) {
      all.push_back(r.place.layout);
    }
  }
  return all;
}

/// Every field with all values tried, in the order of a member's values.
std::vector<fitting_field> all_fields(const quantizer_grid& grid) {
  std::vector<fitting_field> all{
      {"format", {}},
      {"group", {}},
      {"scales hold", {}},
      {"scale",
       {"fl(amax/max)", "fl(amax*fl(1/max))", "fl(1/q), q = fl(max/amax)",
        "fl(1/q), q = fl(max*fl(1/amax))"}},
      {"kind of scale", {}},
      {"element", {}},
      {"amax of NaN and Inf", {"finite only", "skip NaN", "keep NaN"}},
      {"floor of amax", {"none", "1e-4", "1e-10", "1e-12"}},
      {"amax 0, NaN, Inf; q Inf; s 0",
       {"no rule", "scale 1 for amax 0", "scale 1 for amax 0 and NaN",
        "scale 1 for 0 and Inf, q and s numbers"}},
      {"amax in BF16", {"no", "yes"}},
      {"conversion", {}},
      {"further rule of scales",
       {"none", "power of two of s", "s at least 1 / (448 * 512)",
        "power of two of fl(log2(s)), s at least 1e-10",
        "power of two of fl(log2(s))", "largest number 224",
        "power of two of fl(log2(s)), q of the unrounded scale",
        "s and q in BF16", "power of two of fl(log2(s)), s at least 2^-126"}}};
  for (const char* through : {"", ", to BF16 first", ", to FP16 first"}) {
    for (const char* rule :
         {"x/s", "fl(x/s)", "fl(x*fl(1/s))", "fl(x*q)", "div.full(x, s)"}) {
      all[5].values.push_back(std::string(rule) + through);
    }
  }
  for (const format f : grid.formats) all[0].values.push_back(name_of(f));
  for (const auto& g : grid.groupings) {
    all[1].values.push_back(g.shape == group_shape{1, 0} ? "a whole row (1xK)"
                                                         : name_of(g.shape));
  }
  for (const char* text : storage_texts) all[2].values.emplace_back(text);
  for (const auto& k : named_scale_kinds) all[4].values.push_back(k.name);
  for (const auto& p : named_policies) all[10].values.push_back(p.name);
  all.push_back({"layout of scales", layouts_of(grid)});
  return all;
}

/// One member of the grid.
struct member {
  const judged_scales* scales;
  amax_source amax;
  std::size_t element;
  std::size_t policy;

  convention value() const {
    convention how = zeroulp_convention;
    how.amax_floor = grid_floors[amax.floor];
    how.amax = grid_amax_rules[amax.rule];
    how.bf16_amax = amax.bf16 != 0;
    how.power_of_two = scales->choice.kind != 0;
    how.conversion = named_policies[policy].value;
    scales->choice.set(how);
    set_element(how, element);
    return how;
  }
};

/// Returns true iff `c` is the named `n`, whatever its kind of scale.
bool is_named(convention c, const convention& n) {
  c.power_of_two = n.power_of_two;
  return c == n;
}

/// Calls `use` with each member whose differences from the data have the
/// digests `scales` and `codes`.
template <class Use>
void for_each_member(const quantizer_search& s, std::uint64_t scales,
                     std::uint64_t codes, Use use) {
  for (const auto& j : s.scales) {
    if (j.result.digest != scales) continue;
    const auto& c = j.choice;
    for (std::size_t element = 0; element < element_count; ++element) {
      for (std::size_t p = 0; p < policy_count; ++p) {
        const tally& t = s.codes[j.scaling][element][p];
        if (t.differ != s.fewest_codes || t.digest != codes) continue;
        for (const auto& source :
             s.grid.groupings[c.grouping].amaxes[c.amax].sources) {
          use(member{&j, source, element, p});
        }
      }
    }
  }
}

/// The first of the nearest members.
member first_member(const quantizer_search& s) {
  for (const auto& j : s.scales) {
    for (std::size_t element = 0; element < element_count; ++element) {
      for (std::size_t p = 0; p < policy_count; ++p) {
        if (s.codes[j.scaling][element][p].differ == s.fewest_codes) {
          const auto& g = s.grid.groupings[j.choice.grouping];
          return {&j, g.amaxes[j.choice.amax].sources[0], element, p};
        }
      }
    }
  }
  return {};  // not reached: some rule has the fewest
}

/// Fills in the inputs of the first wrong scale and the first wrong code.
void explain(const quantizer_evidence& e, const quantizer_search& s,
             const member& m, quantizer_answer& a) {
  const tally& scales = m.scales->result;
  const tally& codes = s.codes[m.scales->scaling][m.element][m.policy];
  const auto& boxes = s.grid.groupings[m.scales->choice.grouping].groups;
  quantizer of_fp32 = a.how;
  of_fp32.from = fp32;  // as the grid's elements are
  const matrix_view<const std::uint32_t> x(s.grid.x.words.data(), s.grid.x.rows,
                                           s.grid.x.cols);
  for (std::size_t g = 0; scales.differ > 0 && g < boxes.size(); ++g) {
    const auto& b = boxes[g];
    const auto at = a.reading.position(b.gi, b.gj);
    const bool is_first =
        at.row == scales.first.i && at.col == scales.first.j &&
        word_at(e.scales, a.reading.place, at) == scales.first.given &&
        stored_word(a.reading.holds, scale_of(s.grid, m.scales->choice, g)) ==
            scales.first.expected;
    if (!is_first) continue;
    a.first_scale = {scales.first, at.byte,
                     group_amax(of_fp32, x.block(b.i, b.j, b.rows, b.cols))};
    break;
  }
  if (codes.differ > 0) {
    a.first_code = {codes.first, s.grid.x(codes.first.i, codes.first.j)};
  }
}

/// Fills in the class of the members that give the same bits as `best`.
void describe(const quantizer_evidence& e, const quantizer_search& s,
              member best, quantizer_answer& a) {
  const tally scales = best.scales->result;
  const tally codes = s.codes[best.scales->scaling][best.element][best.policy];
  const auto layouts = layouts_of(s.grid);
  class_builder builder(a.grid);
  std::vector<bool> named(std::size(named_conventions), false);
  bool best_is_named = false;
  for_each_member(s, scales.digest, codes.digest, [&](const member& m) {
    const auto& c = m.scales->choice;
    const auto& reading = s.grid.readings[m.scales->reading];
    const auto layout = static_cast<std::size_t>(
        std::find(layouts.begin(), layouts.end(), reading.place.layout) -
        layouts.begin());
    builder.add({c.format, c.grouping, static_cast<std::size_t>(reading.holds),
                 c.rule, c.kind, m.element, m.amax.rule, m.amax.floor, c.edges,
                 m.amax.bf16, m.policy, c.extra, layout});
    for (std::size_t n = 0; n < named.size(); ++n) {
      if (!is_named(m.value(), named_conventions[n].value)) continue;
      named[n] = true;
      if (!best_is_named) best = m;
      best_is_named = true;
    }
  });
  a.found = builder.result();
  for (std::size_t n = 0; n < named.size(); ++n) {
    if (named[n]) a.found.names.emplace_back(named_conventions[n].name);
  }
  const auto& c = best.scales->choice;
  a.reading = s.grid.readings[best.scales->reading];
  a.how = {s.grid.from, s.grid.formats[c.format], best.value(),
           named_scale_kinds[c.kind].value, a.reading.group};
  explain(e, s, best, a);
}

}  // namespace

quantizer_answer identify_quantizer(const quantizer_evidence& e) {
  const stopwatch watch;
  const auto s = search_quantizers(e);
  const member best = first_member(s);
  const auto& choice = best.scales->choice;
  const tally& codes = s.codes[best.scales->scaling][best.element][best.policy];

  quantizer_answer a;
  a.grid = all_fields(s.grid);
  // Each grouping has its own readings.
  a.tried = class_builder(a.grid).combinations() / a.grid[1].values.size() /
            a.grid[2].values.size() / a.grid.back().values.size() *
            s.grid.readings.size();
  const auto groups = s.grid.groupings[choice.grouping].groups.size();
  a.scales = {groups - best.scales->result.differ, groups};
  a.codes = {e.codes.words.size() - codes.differ, e.codes.words.size()};
  a.chance_of_scales = chance_of_scales(e, s.grid, *best.scales);
  a.chance_of_codes = chance_of_codes(e, s.grid, *best.scales, best.element,
                                      named_policies[best.policy].value);
  a.exact = a.scales.differ() == 0 && a.codes.differ() == 0;
  a.scales_tell = is_far_above(a.scales, a.chance_of_scales, a.tried);
  a.codes_tell = is_far_above(a.codes, a.chance_of_codes, a.tried);
  // Scales are few and alike: for them is_above() is enough.
  a.is_near =
      a.exact || (is_above(a.scales, a.chance_of_scales) && a.codes_tell);
  if (a.is_near) describe(e, s, best, a);
  a.seconds = watch.seconds();
  return a;
}

}  // namespace zeroulp::fuzz
