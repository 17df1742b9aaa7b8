// Searches the grid of conventions: scales first, then codes.

#include "fuzz/identify/quantizer_search.hpp"

#include <limits>
#include <map>

namespace zeroulp::fuzz {
namespace {

constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();

std::vector<scale_choice> all_choices(const quantizer_grid& grid) {
  std::vector<scale_choice> all;
  for (std::size_t g = 0; g < grid.groupings.size(); ++g) {
    const std::size_t amaxes = grid.groupings[g].amaxes.size();
    for (std::size_t f = 0; f < grid.formats.size(); ++f) {
      for (std::size_t k = 0; k < std::size(named_scale_kinds); ++k) {
        for (std::size_t r = 0; r < std::size(grid_scale_rules); ++r) {
          for (std::size_t a = 0; a < amaxes; ++a) {
            for (std::size_t e = 0; e < std::size(grid_edges); ++e) {
              for (std::size_t x = 0; x < std::size(grid_scale_extras); ++x) {
                all.push_back({g, a, f, k, r, e, x});
              }
            }
          }
        }
      }
    }
  }
  return all;
}

/// Compares the scales of one choice with SCALES, in each reading. Drops a
/// reading once it has more differences than `bound`.
std::vector<judged_scales> judge(const quantizer_evidence& e,
                                 const quantizer_grid& grid,
                                 const scale_choice& c,
                                 std::atomic<std::uint64_t>& bound) {
  const grouping& g = grid.groupings[c.grouping];
  std::vector<judged_scales> alive;
  for (const std::size_t r : g.readings) alive.push_back({c, r, {}, 0});
  for (std::size_t i = 0; i < g.groups.size() && !alive.empty(); ++i) {
    const group_scale s = scale_of(grid, c, i);
    for (auto& a : alive) {
      const auto& reading = grid.readings[a.reading];
      const auto at = reading.position(g.groups[i].gi, g.groups[i].gj);
      a.result.add({at.row, at.col, word_at(e.scales, reading.place, at),
                    stored_word(reading.holds, s)});
    }
    std::erase_if(alive, [&bound](const judged_scales& a) {
      return a.result.differ > bound;
    });
  }
  for (const auto& a : alive) lower(bound, a.result.differ);
  return alive;
}

std::vector<judged_scales> search_scales(const quantizer_evidence& e,
                                         const quantizer_grid& grid) {
  const auto choices = all_choices(grid);
  std::vector<std::vector<judged_scales>> judged(choices.size());
  std::atomic<std::uint64_t> bound = no_bound;
  for_each_index(choices.size(), [&](std::size_t i) {
    judged[i] = judge(e, grid, choices[i], bound);
  });
  std::vector<judged_scales> best;
  for (const auto& some : judged) {
    for (const auto& j : some) {
      if (j.result.differ == bound) best.push_back(j);
    }
  }
  return best;
}

/// How elements are scaled: their groups, and a scale for each group.
struct scaling {
  std::size_t format;
  std::size_t grouping;
  std::uint32_t largest;  ///< of the convention
  std::vector<group_scale> scales;
};

/// Returns the distinct scalings, and points each of `best` to its own.
std::vector<scaling> scalings_of(const quantizer_grid& grid,
                                 std::vector<judged_scales>& best) {
  std::map<std::vector<std::uint64_t>, std::size_t> known;
  std::vector<scaling> all;
  for (auto& j : best) {
    const auto& c = j.choice;
    const std::uint32_t largest = grid_scale_extras[c.extra].largest;
    scaling s{c.format, c.grouping, largest, {}};
    std::vector<std::uint64_t> key{c.format, c.grouping, largest};
    for (std::size_t i = 0; i < grid.groupings[c.grouping].groups.size(); ++i) {
      s.scales.push_back(scale_of(grid, c, i));
      key.push_back(std::uint64_t{s.scales[i].scale} << 32 |
                    s.scales[i].inverse);
    }
    const auto [at, is_new] = known.try_emplace(std::move(key), all.size());
    if (is_new) all.push_back(std::move(s));
    j.scaling = at->second;
  }
  return all;
}

/// Compares the codes of one element rule with CODES, under each policy. Three
/// policies, two of which differ in every field, show which elements depend on
/// the policy; only those are computed again. Gives up where the others alone
/// exceed `bound`.
judged_codes judge(const quantizer_evidence& e, const quantizer_grid& grid,
                   const scaling& s, std::size_t element,
                   std::atomic<std::uint64_t>& bound) {
  struct disputed {
    std::ptrdiff_t i, j;
    group_scale scale;
  };
  quantizer q{fp32, grid.formats[s.format], zeroulp_convention,
              scale_kind::float32, grid.groupings[s.grouping].shape};
  q.how.largest = s.largest;
  set_element(q.how, element);
  const auto code_by = [&q](const policy& p, group_scale by, std::uint32_t x) {
    q.how.conversion = p;
    return quantize_element(q, by, x);
  };
  tally common;
  std::vector<disputed> open;
  for (std::size_t g = 0; g < s.scales.size(); ++g) {
    const auto& b = grid.groupings[s.grouping].groups[g];
    for (std::ptrdiff_t i = b.i; i < b.i + b.rows; ++i) {
      for (std::ptrdiff_t j = b.j; j < b.j + b.cols; ++j) {
        const auto code = code_by(ocp_saturate, s.scales[g], grid.x(i, j));
        const auto differs = [&](const policy& p) {
          return code != code_by(p, s.scales[g], grid.x(i, j));
        };
        if (differs(cuda_nosat) || differs(clamp_nan_to_lowest)) {
          open.push_back({i, j, s.scales[g]});
        } else {
          common.add({i, j, e.codes(i, j), code});
        }
      }
      if (common.differ > bound) break;
    }
    if (common.differ > bound) break;
  }
  judged_codes result;
  result.fill(common);
  for (std::size_t p = 0; p < policy_count; ++p) {
    if (common.differ > bound) continue;
    for (const auto& d : open) {
      result[p].add(
          {d.i, d.j, e.codes(d.i, d.j),
           code_by(named_policies[p].value, d.scale, grid.x(d.i, d.j))});
    }
    lower(bound, result[p].differ);
  }
  return result;
}

}  // namespace

group_scale scale_of(const quantizer_grid& grid, const scale_choice& c,
                     std::size_t group) {
  quantizer q{grid.from, grid.formats[c.format],
              zeroulp_convention,  // its floor is 0
              named_scale_kinds[c.kind].value};
  c.set(q.how);
  return make_scale(q, grid.groupings[c.grouping].amaxes[c.amax].amax[group]);
}

/// The word that SCALES holds for a scale.
std::uint32_t stored_word(scale_storage holds, group_scale s) {
  switch (holds) {
    case scale_storage::scale:
      return s.scale;
    case scale_storage::reciprocal:
      return detail::fl_divide(fp32_one, s.scale);
    case scale_storage::inverse:
      return s.inverse;
    case scale_storage::exponent:
      break;
  }
  std::uint32_t word = 0;
  lay_out_scales(scale_layout::packed_ue8m0,
                 matrix_view<const std::uint32_t>(&s.scale, 1, 1),
                 matrix_view<std::uint32_t>(&word, 1, 1));
  return word & 0xff;
}

quantizer_search search_quantizers(const quantizer_evidence& e) {
  quantizer_search found{make_quantizer_grid(e), {}, {}, 0};
  found.scales = search_scales(e, found.grid);
  const auto scalings = scalings_of(found.grid, found.scales);
  found.codes.resize(scalings.size());
  std::atomic<std::uint64_t> bound = no_bound;
  for_each_index(scalings.size() * element_count, [&](std::size_t i) {
    const std::size_t s = i / element_count;
    const std::size_t rule = i % element_count;
    found.codes[s][rule] = judge(e, found.grid, scalings[s], rule, bound);
  });
  found.fewest_codes = bound;
  return found;
}

}  // namespace zeroulp::fuzz
