// Tests plans on a few outputs that tell most, by the core.

#include "fuzz/identify/gemm_probe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace zeroulp::fuzz {
namespace {

struct output_position {
  std::ptrdiff_t i;
  std::ptrdiff_t j;
};

/// The least error, relative to the terms, that changes the output. Zeros and
/// NaN tell nothing.
double margin_of(format f, const exact_output& x, std::uint32_t rounded) {
  const auto range = range_of(f, rounded);
  const double margin = std::min(x.sum - range.from, range.to - x.sum);
  // The rounding of the sum itself counts where its terms do not cancel.
  const double beside = margin / (std::abs(x.sum) + x.size / 16);
  const bool tells = x.sum != 0 && std::isfinite(beside);
  return tells ? beside : std::numeric_limits<double>::infinity();
}

/// The outputs with the smallest margins.
std::vector<output_position> finest_outputs(format f, const exact_part& exact,
                                            std::size_t count) {
  using margin = std::pair<double, output_position>;
  std::vector<margin> all;
  for (const auto& block : exact.blocks) {
    for (std::size_t n = 0; n < block.sums.size(); ++n) {
      const auto flat = static_cast<std::ptrdiff_t>(n);
      all.push_back({margin_of(f, block.sums[n], block.rounded[n]),
                     {block.at.row + flat / block.at.cols,
                      block.at.col + flat % block.at.cols}});
    }
  }
  std::stable_sort(
      all.begin(), all.end(),
      [](const margin& a, const margin& b) { return a.first < b.first; });
  std::vector<output_position> finest;
  for (std::size_t n = 0; n < std::min(count, all.size()); ++n) {
    finest.push_back(all[n].second);
  }
  return finest;
}

std::vector<unpacked> unpack(const operand_evidence& x, std::ptrdiff_t i) {
  std::vector<unpacked> row;
  for (std::ptrdiff_t k = 0; k < x.codes.cols; ++k) {
    row.push_back(decode(x.f, x.codes(i, k)));
  }
  return row;
}

/// A plan, ready to be compared with an output.
struct ready_plan {
  recipe r;
  matrix_view<const std::uint32_t> sa;
  matrix_view<const std::uint32_t> sb;
};

ready_plan ready(const gemm_grid& grid, const gemm_contender& x) {
  const auto& c = grid.chains[x.chain];
  const auto& p = c.plans[x.plan];
  return {recipe_of(grid, c, p), scales_of(grid.a[p.a]),
          scales_of(grid.b[p.b])};
}

/// Returns the FP32 sum of an output; `partials` are those of its chain.
std::uint32_t sum_of(const ready_plan& p, const gemm_probe& at,
                     const std::vector<std::uint32_t>& partials,
                     std::ptrdiff_t width) {
  const auto partial = [&](std::ptrdiff_t begin, std::ptrdiff_t) {
    return partials[static_cast<std::size_t>(begin / width)];
  };
  return promoted_sum(p.r, partial, static_cast<std::ptrdiff_t>(at.a.size()),
                      scales_of_row(p.sa, p.r.a, at.i),
                      scales_of_row(p.sb, p.r.b, at.j));
}

/// The partial sums of a chain for an output, along K.
std::vector<std::uint32_t> partials_of(const path& p, const gemm_probe& at,
                                       std::ptrdiff_t width) {
  const auto k = static_cast<std::ptrdiff_t>(at.a.size());
  std::vector<std::uint32_t> all;
  for (std::ptrdiff_t from = 0; from < k; from += width) {
    all.push_back(static_cast<std::uint32_t>(chain(
        p, at.a.data(), at.b.data(), from, std::min(from + width, k), 0)));
  }
  return all;
}

/// Tests the contenders of one chain.
void hold_chain(const gemm_evidence& e, const gemm_grid& grid,
                std::span<const gemm_probe> probes,
                std::span<gemm_contender> contenders) {
  const auto& c = grid.chains[contenders[0].chain];
  const path p{e.a.f, e.b.f, grid.accumulators[c.acc].value};
  std::vector<ready_plan> plans;
  for (const auto& x : contenders) plans.push_back(ready(grid, x));
  for (const auto& at : probes) {
    const auto partials = partials_of(p, at, c.width);
    for (std::size_t x = 0; x < plans.size(); ++x) {
      recipe r = plans[x].r;
      r.output = e.output;
      const auto sum = sum_of(plans[x], at, partials, c.width);
      for (std::size_t end = 0; end < end_count; ++end) {
        r.end = grid_ends[end];
        const auto d = finish(r, sum, e.c ? (*e.c)(at.i, at.j) : 0);
        if (d != e.d(at.i, at.j)) ++contenders[x].on_probes[end];
      }
    }
  }
}

}  // namespace

std::vector<gemm_probe> probes_of(const gemm_evidence& e,
                                  const exact_part& exact) {
  constexpr std::size_t fine = 64;
  constexpr std::size_t others = 64;
  auto outputs = finest_outputs(e.output, exact, fine);
  std::set<std::ptrdiff_t> known;
  for (const auto& at : outputs) known.insert(at.i * e.d.cols + at.j);
  counter_rng rng(1, 0);
  for (std::size_t t = 0; t < others; ++t) {
    const auto at = static_cast<std::ptrdiff_t>(rng.next() % e.d.words.size());
    if (!known.insert(at).second) continue;
    outputs.push_back({at / e.d.cols, at % e.d.cols});
  }
  std::vector<gemm_probe> probes;
  for (const auto& at : outputs) {
    probes.push_back({at.i, at.j, unpack(e.a, at.i), unpack(e.b, at.j)});
  }
  return probes;
}

void hold(const gemm_evidence& e, const gemm_grid& grid,
          std::span<const gemm_probe> probes,
          std::vector<gemm_contender>& contenders, work_meter& meter) {
  std::vector<std::span<gemm_contender>> by_chain;
  for (std::size_t from = 0; from < contenders.size();) {
    std::size_t to = from;
    while (to < contenders.size() &&
           contenders[to].chain == contenders[from].chain) {
      ++to;
    }
    by_chain.emplace_back(contenders.data() + from, to - from);
    from = to;
  }
  for_each_index(by_chain.size(), [&](std::size_t i) {
    hold_chain(e, grid, probes, by_chain[i]);
    meter.add(core_cost *
              static_cast<double>(probes.size() * e.a.codes.words.size()) /
              static_cast<double>(e.a.codes.rows));
  });
}

}  // namespace zeroulp::fuzz
