#include "fuzz/identify_gemm_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "zeroulp/engine.hpp"

namespace zeroulp::fuzz {
namespace {

using view = matrix_view<const std::uint32_t>;

view view_of(const oracle::grid& g) { return {g.words.data(), g.rows, g.cols}; }

view scales_of(const operand_evidence& x, const scale_cover& cover) {
  if (!x.scales) return {};
  const view s = view_of(*x.scales);
  return cover.transposed ? s.transposed() : s;
}

/// A plan that may still be among the best: a tally an epilogue.
struct candidate {
  std::size_t plan;
  recipe r;
  view sa;
  view sb;
  bool b_first;
  std::array<tally, end_count> results{};

  std::uint64_t fewest() const {
    return std::min(results[0].differ, results[1].differ);
  }
};

std::vector<candidate> candidates_of(const gemm_evidence& e,
                                     const gemm_grid& grid,
                                     const gemm_chain& c) {
  std::vector<candidate> all;
  for (std::size_t i = 0; i < c.plans.size(); ++i) {
    const gemm_plan& p = c.plans[i];
    all.push_back({i, recipe_of(grid, e, c, p, epilogue::store),
                   scales_of(e.a, grid.a[p.a]), scales_of(e.b, grid.b[p.b]),
                   p.update == b_first_update});
  }
  return all;
}

/// Holds output (i, j) of a candidate against the data; `partials` are those of
/// the chain. Returns a tally an epilogue.
std::array<tally, end_count> judge(const gemm_evidence& e, const candidate& x,
                                   const std::uint32_t* partials,
                                   std::ptrdiff_t width, std::ptrdiff_t i,
                                   std::ptrdiff_t j) {
  auto first = scales_of_row(x.sa, x.r.a, i);
  auto second = scales_of_row(x.sb, x.r.b, j);
  if (x.b_first) std::swap(first, second);
  const auto partial = [=](std::ptrdiff_t begin, std::ptrdiff_t) {
    return partials[begin / width];
  };
  const auto sum = promoted_sum(x.r, partial, e.a.codes.cols, first, second);
  std::array<tally, end_count> result;
  recipe r = x.r;
  for (std::size_t end = 0; end < end_count; ++end) {
    r.end = grid_ends[end];
    result[end].add({i, j, e.d(i, j), finish(r, sum, e.c ? (*e.c)(i, j) : 0)});
  }
  return result;
}

void add_to(std::array<tally, end_count>& sum,
            const std::array<tally, end_count>& more) {
  for (std::size_t end = 0; end < end_count; ++end) sum[end].merge(more[end]);
}

struct position {
  std::ptrdiff_t i, j;
};

/// The outputs that are tried first: of a few hundred drawn ones, those of
/// smallest magnitude. There products cancel, and accumulators disagree most.
std::vector<position> probes_of(const gemm_evidence& e) {
  constexpr std::size_t drawn = 256;
  constexpr std::size_t kept = 24;
  const auto size = static_cast<std::uint32_t>(
      std::min<std::size_t>(e.d.words.size(), 0xffffffff));
  counter_rng rng(1, 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pool;
  for (std::size_t t = 0; t < drawn; ++t) {
    const auto at =
        size <= drawn ? static_cast<std::uint32_t>(t) % size : rng.below(size);
    const auto magnitude =
        e.d.words[at] & static_cast<std::uint32_t>(e.output.magnitude_mask());
    // Zeros last: they agree with too much.
    pool.insert({magnitude - 1, at});
  }
  std::vector<position> probes;
  for (const auto& [magnitude, at] : pool) {
    if (probes.size() == kept) break;
    probes.push_back({at / e.d.cols, at % e.d.cols});
  }
  return probes;
}

/// A row of codes, decoded as it is read.
decoded_row<std::uint32_t> row_of(const operand_evidence& x, std::ptrdiff_t i) {
  return {x.codes.words.data() + i * x.codes.cols, 1, x.f};
}

/// The partial sums of a chain for output (i, j), along K.
void partials_at(const gemm_evidence& e, const accumulator& acc,
                 std::ptrdiff_t width, position at, std::uint32_t* out) {
  const path p{e.a.f, e.b.f, acc};
  const std::ptrdiff_t k = e.a.codes.cols;
  for (std::ptrdiff_t from = 0; from < k; from += width) {
    *out++ = static_cast<std::uint32_t>(chain(p, row_of(e.a, at.i),
                                              row_of(e.b, at.j), from,
                                              std::min(from + width, k), 0));
  }
}

/// The partial sums of a chain for some rows of D: by output, along K. The
/// engine's fast chain is the core's on Hopper FP8.
std::vector<std::uint32_t> partials_of(const gemm_evidence& e,
                                       const accumulator& acc,
                                       std::ptrdiff_t width, std::ptrdiff_t row,
                                       std::ptrdiff_t rows) {
  const std::ptrdiff_t k = e.a.codes.cols;
  const std::ptrdiff_t n = e.d.cols;
  const std::ptrdiff_t count = ceil_div(k, width);
  std::vector<std::uint32_t> all(static_cast<std::size_t>(rows * n * count));
  if (!(acc == hopper_fp8_f32)) {
    for_each_index(static_cast<std::size_t>(rows * n), [&](std::size_t at) {
      const auto flat = static_cast<std::ptrdiff_t>(at);
      partials_at(e, acc, width, {row + flat / n, flat % n},
                  all.data() + flat * count);
    });
    return all;
  }
  const recipe chain_alone{acc,        0, promotion::add,  per_tensor,
                           per_tensor, 1, epilogue::store, fp32};
  for (std::ptrdiff_t t = 0; t < count; ++t) {
    const auto columns = std::min(width, k - t * width);
    engine::gemm(
        chain_alone,
        {e.a.f, view_of(e.a.codes).block(row, t * width, rows, columns)}, {},
        {e.b.f, view_of(e.b.codes).block(0, t * width, n, columns)}, {}, {},
        {all.data() + t, rows, n, n * count, count});
  }
  return all;
}

/// Holds the plans of a chain against a few outputs. Drops those with more than
/// `bound` differences.
std::vector<candidate> probe(const gemm_evidence& e, const gemm_grid& grid,
                             const gemm_chain& c,
                             const std::vector<position>& probes,
                             std::atomic<std::uint64_t>& bound) {
  auto alive = candidates_of(e, grid, c);
  std::vector<std::uint32_t> partials(
      static_cast<std::size_t>(ceil_div(e.a.codes.cols, c.width)));
  for (const position at : probes) {
    if (alive.empty()) break;
    partials_at(e, grid.accumulators[c.acc].value, c.width, at,
                partials.data());
    for (auto& x : alive) {
      add_to(x.results, judge(e, x, partials.data(), c.width, at.i, at.j));
    }
    std::erase_if(alive,
                  [&bound](const auto& x) { return x.fewest() > bound; });
  }
  for (const auto& x : alive) lower(bound, x.fewest());
  return alive;
}

/// Holds candidates against all of D. Drops those with more than `bound`
/// differences.
void judge_all(const gemm_evidence& e, const accumulator& acc,
               std::ptrdiff_t width, std::vector<candidate>& alive,
               std::atomic<std::uint64_t>& bound) {
  constexpr std::ptrdiff_t most = 1 << 24;  // partial sums at a time
  const std::ptrdiff_t n = e.d.cols;
  const std::ptrdiff_t count = ceil_div(e.a.codes.cols, width);
  const auto limit = std::max<std::ptrdiff_t>(1, most / (n * count));
  std::ptrdiff_t at_once = 1;  // doubled: most candidates fail early
  for (auto& x : alive) x.results = {};
  for (std::ptrdiff_t row = 0; row < e.d.rows && !alive.empty();) {
    const auto rows = std::min(at_once, e.d.rows - row);
    const auto partials = partials_of(e, acc, width, row, rows);
    std::mutex guard;
    for_each_index(static_cast<std::size_t>(rows), [&](std::size_t at) {
      const auto i = static_cast<std::ptrdiff_t>(at);
      std::vector<std::array<tally, end_count>> results(alive.size());
      for (std::size_t x = 0; x < alive.size(); ++x) {
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          add_to(results[x],
                 judge(e, alive[x], partials.data() + (i * n + j) * count,
                       width, row + i, j));
        }
      }
      const std::lock_guard lock(guard);
      for (std::size_t x = 0; x < alive.size(); ++x) {
        add_to(alive[x].results, results[x]);
      }
    });
    std::erase_if(alive,
                  [&bound](const auto& x) { return x.fewest() > bound; });
    row += rows;
    at_once = std::min(2 * at_once, limit);
  }
  for (const auto& x : alive) lower(bound, x.fewest());
}

constexpr std::uint64_t no_bound = std::numeric_limits<std::uint64_t>::max();

}  // namespace

gemm_search search_gemms(const gemm_evidence& e) {
  gemm_search found{make_gemm_grid(e), {}};
  const auto& chains = found.grid.chains;
  const auto probes = probes_of(e);
  std::vector<std::vector<candidate>> alive(chains.size());
  std::atomic<std::uint64_t> on_probes = no_bound;
  for_each_index(chains.size(), [&](std::size_t c) {
    alive[c] = probe(e, found.grid, chains[c], probes, on_probes);
  });
  // Where no probe agrees with anything, nothing is near: judging all would
  // take long and say no more than judging one.
  const bool hopeless =
      on_probes == probes.size() && probes.size() < e.d.words.size();
  std::atomic<std::uint64_t> bound = no_bound;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    std::erase_if(alive[c], [&](const auto& x) {
      return x.fewest() > on_probes || (hopeless && c > 0);
    });
    if (alive[c].empty()) continue;
    judge_all(e, found.grid.accumulators[chains[c].acc].value, chains[c].width,
              alive[c], bound);
  }
  for (std::size_t c = 0; c < chains.size(); ++c) {
    for (const auto& x : alive[c]) {
      for (std::size_t end = 0; end < end_count; ++end) {
        if (x.results[end].differ == bound) {
          found.best.push_back({c, x.plan, end, x.results[end]});
        }
      }
    }
  }
  return found;
}

}  // namespace zeroulp::fuzz
