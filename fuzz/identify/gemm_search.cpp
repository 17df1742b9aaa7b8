// Searches the grid of recipes: on probes first, then on blocks of D.

#include "fuzz/identify/gemm_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "fuzz/identify/gemm_chains.hpp"
#include "fuzz/identify/gemm_probe.hpp"

namespace zeroulp::fuzz {
namespace {

/// The number of probes after a stage, and how many contenders that failed at
/// some of them may go on.
struct probe_stage {
  std::size_t probes;
  std::size_t most;
};
constexpr probe_stage stages[] = {{8, 1024}, {24, 256}, {128, 48}};

std::vector<gemm_contender> all_contenders(const gemm_grid& grid) {
  std::vector<gemm_contender> all;
  for (std::size_t c = 0; c < grid.chains.size(); ++c) {
    for (std::size_t p = 0; p < grid.chains[c].plans.size(); ++p) {
      all.push_back({c, p});
    }
  }
  return all;
}

std::uint64_t fewest_of(const std::vector<gemm_contender>& contenders) {
  std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
  for (const auto& x : contenders) fewest = std::min(fewest, x.fewest());
  return fewest;
}

/// Keeps every contender without failures. It also keeps the `most` nearest of
/// the others, if they are about as near as the nearest of all.
void prune(std::vector<gemm_contender>& contenders, std::size_t most) {
  const auto fewest = static_cast<double>(fewest_of(contenders));
  const auto limit =
      static_cast<std::uint64_t>(fewest + 2 + 2 * std::sqrt(fewest));
  std::vector<std::size_t> failed;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto failures = contenders[i].fewest();
    if (failures > 0 && failures <= limit) failed.push_back(i);
  }
  std::stable_sort(failed.begin(), failed.end(), [&](auto a, auto b) {
    return contenders[a].fewest() < contenders[b].fewest();
  });
  failed.resize(std::min(failed.size(), most));
  const std::set<std::size_t> nearest(failed.begin(), failed.end());
  std::vector<gemm_contender> kept;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const bool keep = contenders[i].fewest() == 0 || nearest.count(i) > 0;
    if (keep) kept.push_back(std::move(contenders[i]));
  }
  contenders = std::move(kept);
}

/// Compares the FP32 sums of a block, with each epilogue, with D.
std::array<tally, end_count> judge(const gemm_evidence& e,
                                   const gemm_blocks& blocks,
                                   const output_block& at,
                                   const std::vector<std::uint32_t>& sums) {
  std::array<tally, end_count> results;
  for (std::size_t end = 0; end < end_count; ++end) {
    const auto d = blocks.finished(grid_ends[end], at, sums);
    auto word = d.begin();
    for (std::ptrdiff_t i = at.row; i < at.row + at.rows; ++i) {
      for (std::ptrdiff_t j = at.col; j < at.col + at.cols; ++j) {
        results[end].add({i, j, e.d(i, j), *word++});
      }
    }
  }
  return results;
}

/// The search, stage by stage.
class gemm_race {
 public:
  gemm_race(const gemm_evidence& e, work_meter& meter, double most_products)
      : e_(e),
        meter_(meter),
        most_products_(most_products),
        grid_(make_gemm_grid(e)),
        blocks_(e),
        chains_(blocks_),
        contenders_(all_contenders(grid_)) {}

  gemm_search run() {
    const auto exact = exact_part_of(e_, grid_, blocks_);
    const auto probes = probes_of(e_, exact);
    expect_probes(probes.size());
    std::size_t held = 0;
    for (const auto& stage : stages) {
      const auto to = std::min(stage.probes, probes.size());
      const auto some = std::span(probes).subspan(held, to - held);
      hold(e_, grid_, some, contenders_, meter_);
      prune(contenders_, stage.most);
      held = to;
    }
    const auto control = control_of(e_, blocks_, exact);
    while (next_ < blocks_.all().size() && !is_settled(control) && !is_long()) {
      run_blocks();
    }
    meter_.end();
    return {std::move(grid_), control, best(), outputs_};
  }

 private:
  double cost_of(const gemm_contender& x) const {
    const auto& acc = grid_.accumulators[grid_.chains[x.chain].acc].value;
    return static_cast<double>(e_.a.codes.cols) *
           (is_slow(e_.a.f, e_.b.f, acc) ? core_cost : 1);
  }

  void expect_probes(std::size_t probes) {
    // The cost of the blocks is not known: expect as much again.
    meter_.expect(2 * core_cost *
                  static_cast<double>(grid_.chains.size() * probes) *
                  static_cast<double>(e_.a.codes.cols));
  }

  gemm_definition definition(const gemm_contender& x) const {
    const auto& c = grid_.chains[x.chain];
    return definition_of(grid_, c, c.plans[x.plan]);
  }

  /// Contenders of one chain, and whether its partial sums are shared.
  struct chain_group {
    std::size_t from;
    std::size_t to;
    bool shared;
  };

  std::vector<chain_group> groups() {
    std::vector<chain_group> all;
    for (std::size_t from = 0; from < contenders_.size();) {
      const auto& c = grid_.chains[contenders_[from].chain];
      std::size_t to = from;
      std::size_t served = 0;
      while (to < contenders_.size() &&
             contenders_[to].chain == contenders_[from].chain) {
        served +=
            chains_.serves(definition(contenders_[to++]), c.width) ? 1 : 0;
      }
      if (served > 1) chains_.prepare(c.width);
      all.push_back({from, to, served > 1});
      from = to;
    }
    return all;
  }

  using results = std::array<tally, end_count>;

  /// Compares the results of a group's contenders with a block of D.
  void judge_group(const chain_group& g, const output_block& at,
                   std::span<results> found) const {
    const auto& c = grid_.chains[contenders_[g.from].chain];
    const auto& acc = grid_.accumulators[c.acc].value;
    std::vector<std::vector<float>> partials;
    if (g.shared) partials = chains_.partials(acc, c.width, at);
    for (std::size_t i = g.from; i < g.to; ++i) {
      const auto how = definition(contenders_[i]);
      const bool joined = g.shared && chains_.serves(how, c.width);
      auto sums = joined ? chains_.sums(how, c.width, at, partials)
                         : blocks_.sums(how, at);
      blocks_.add_infinite(how, at, sums);
      found[i] = judge(e_, blocks_, at, sums);
      meter_.add(cost_of(contenders_[i]) * static_cast<double>(at.size()));
    }
  }

  /// The cost of one output for all contenders.
  double cost_of_all() const {
    double cost = 0;
    for (const auto& x : contenders_) cost += cost_of(x);
    return cost;
  }

  /// Returns true iff the next blocks cost too much for more than a few
  /// contenders.
  bool is_long() const {
    constexpr std::size_t few = 64;
    const auto outputs =
        static_cast<double>(blocks_.all()[next_].size() * at_once_);
    return next_ > 0 && contenders_.size() > few &&
           products_ + outputs * cost_of_all() > most_products_;
  }

  /// Runs the next blocks: twice as many each time.
  void run_blocks() {
    const auto count = std::min(at_once_, blocks_.all().size() - next_);
    const auto cost = cost_of_all();
    meter_.expect(cost * static_cast<double>(e_.d.words.size() - outputs_));

    const auto some = groups();
    const std::size_t size = contenders_.size();
    std::vector<results> found(size * count);
    for_each_index(some.size() * count, [&](std::size_t n) {
      const auto block = n / some.size();
      judge_group(some[n % some.size()], blocks_.all()[next_ + block],
                  std::span(found).subspan(block * size, size));
    });
    for (std::size_t n = 0; n < found.size(); ++n) {
      for (std::size_t end = 0; end < end_count; ++end) {
        contenders_[n % size].on_d[end].merge(found[n][end]);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto outputs = blocks_.all()[next_ + i].size();
      outputs_ += outputs;
      products_ += cost * static_cast<double>(outputs);
    }
    next_ += count;
    at_once_ *= 2;
    most_ = std::max<std::size_t>(8, most_ / 2);
    prune(contenders_, most_);
  }

  /// Returns true iff every contender has failed on some output so far, and
  /// none is far above chance.
  bool is_settled(const gemm_control& control) const {
    constexpr std::size_t enough = 4096;
    if (outputs_ < enough || fewest_on_d() == 0) return false;
    return std::none_of(
        contenders_.begin(), contenders_.end(), [&](const auto& x) {
          const auto& acc = grid_.accumulators[grid_.chains[x.chain].acc].value;
          const auto wrong = std::min(x.on_d[0].differ, x.on_d[1].differ);
          return control.is_finding({outputs_ - wrong, outputs_}, acc,
                                    grid_.size());
        });
  }

  std::uint64_t fewest_on_d() const {
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    for (const auto& x : contenders_) {
      for (const auto& t : x.on_d) fewest = std::min(fewest, t.differ);
    }
    return fewest;
  }

  std::vector<judged_plan> best() const {
    const std::uint64_t fewest = fewest_on_d();
    std::vector<judged_plan> found;
    for (const auto& x : contenders_) {
      for (std::size_t end = 0; end < end_count; ++end) {
        if (x.on_d[end].differ != fewest) continue;
        found.push_back({x.chain, x.plan, end, x.on_d[end]});
      }
    }
    return found;
  }

  const gemm_evidence& e_;
  work_meter& meter_;
  double most_products_;
  double products_ = 0;
  gemm_grid grid_;
  gemm_blocks blocks_;
  gemm_chains chains_;
  std::vector<gemm_contender> contenders_;
  std::size_t next_ = 0;     // index of a block
  std::size_t at_once_ = 1;  // blocks; few at first, as most contenders fail
  std::size_t most_ = stages[std::size(stages) - 1].most;
  std::uint64_t outputs_ = 0;
};

}  // namespace

gemm_search search_gemms(const gemm_evidence& e, const identify_progress& tell,
                         double most_products) {
  work_meter meter(tell);
  return gemm_race(e, meter, most_products).run();
}

}  // namespace zeroulp::fuzz
