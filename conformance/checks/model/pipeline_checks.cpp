// Holds DualPipe's schedule, and sums over micro-batches.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/oracles/model/pipeline_oracle.hpp"

namespace zeroulp::conformance {
namespace {

struct pipe_size {
  int stages, micro_batches;
};
constexpr pipe_size pipes[] = {{2, 4},  {2, 6},   {4, 8},   {4, 10},
                               {6, 12}, {6, 18},  {8, 16},  {8, 20},
                               {8, 30}, {10, 20}, {16, 32}, {16, 50}};

/// What a rank does, read from its table.
oracle::pipe_list list_of(const model_functions& t, const pipe_size& p,
                          int rank, verdict& v, counter_rng& rng) {
  index_rows steps(3 * p.micro_batches, pipe_columns, rng);
  t.dual_pipe_steps({p.stages, p.micro_batches}, rank, steps.view());
  v.count(steps.guards_hold(),
          [&] { return t.name + ": wrote beside a schedule"; });
  oracle::pipe_list all;
  for (std::ptrdiff_t i = 0; i < 3 * p.micro_batches; ++i) {
    const auto row = steps.input();
    all.push_back({row(i, 0), row(i, 1), row(i, 2)});
  }
  return all;
}

/// Gradients of one shape, and views of them.
struct gradient_list {
  std::vector<grid> all;
  std::deque<word_rows> placed;
  std::vector<codes_in> views;

  gradient_list(std::size_t count, std::ptrdiff_t m, std::ptrdiff_t n,
                counter_rng& rng) {
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(any_numbers(fp32, m, n, rng));
      placed.emplace_back(all.back(), rng);
    }
    for (const auto& p : placed) views.push_back(p.input());
  }
  grid sum(const grid& order) const {
    grid out(all[0].rows, all[0].cols);
    for (std::size_t at = 0; at < out.words.size(); ++at) {
      std::vector<std::vector<std::uint32_t>> chains;
      for (std::ptrdiff_t c = 0; c < order.rows; ++c) {
        chains.emplace_back();
        for (std::ptrdiff_t k = 0; k < order.cols; ++k) {
          chains.back().push_back(all[order(c, k)].words[at]);
        }
      }
      out.words[at] = oracle::chained_sum(chains);
    }
    return out;
  }
};

/// A random order of all, in `chains` chains.
grid any_order(int count, int chains, counter_rng& rng) {
  grid order(chains, count / chains);
  std::iota(order.words.begin(), order.words.end(), 0u);
  for (std::size_t i = order.words.size(); i > 1; --i) {
    std::swap(order.words[i - 1],
              order.words[rng.below(static_cast<std::uint32_t>(i))]);
  }
  return order;
}

grid sum_by(const model_functions& t, const gradient_list& g, const grid& order,
            counter_rng& rng, verdict& v) {
  const index_rows in_order(order, rng);
  word_rows out(g.all[0], rng);
  t.accumulate_micro_batches(g.views, in_order.input(), out.view());
  v.count(out.guards_hold(), [&] { return t.name + ": wrote beside a sum"; });
  return out.read();
}

}  // namespace

verdict pipeline_schedules(const model_functions& t, const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 0);
  for (const auto& p : pipes) {
    std::vector<oracle::pipe_list> all;
    for (int rank = 0; rank < p.stages; ++rank) {
      all.push_back(list_of(t, p, rank, v, rng));
    }
    int ends = 0;
    const auto wrong = oracle::wrong_pipeline(p.micro_batches, all, ends);
    const auto describe = [&](const std::string& what) {
      return fmt::format("{}: DualPipe of {} stages, {} micro-batches: {}",
                         t.name, p.stages, p.micro_batches, what);
    };
    v.count(wrong.empty(), [&] { return describe(wrong); });
    // Bubbles of (stages / 2 - 1) (F&B + B - 3 W), the report's Table 2, are
    // stages - 2. They are one less where a forward pass hands on at once, not
    // with the backward pass beside it.
    const int bubbles = p.stages > 2 ? p.stages - 3 : 0;
    const int want = 3 * p.micro_batches + bubbles;
    v.count(ends == want, [&] {
      return describe(fmt::format("done at {}, not {}", ends, want));
    });
  }
  return v;
}

verdict pipeline_orders(const model_functions& t, const effort& e) {
  verdict v;
  counter_rng rng(e.seed, 0);
  for (const auto& p : pipes) {
    for (int stage = 0; stage < p.stages; ++stage) {
      index_rows order(2, p.micro_batches / 2, rng);
      t.dual_pipe_order({p.stages, p.micro_batches}, stage, order.view());
      // Whatever waits, the queue is first in, first out.
      grid want(2, p.micro_batches / 2);
      std::iota(want.words.begin(), want.words.end(), 0u);
      count_output(v, order, want, "micro-batch ", [&] {
        return fmt::format("{}: order of stage {} of {}, {} micro-batches",
                           t.name, stage, p.stages, p.micro_batches);
      });
    }
  }
  return v;
}

verdict sums_of_micro_batches(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  std::uint64_t differ = 0;
  verdict v = for_model_cases(e, 40, [&](counter_rng& rng, auto n, verdict& w) {
    const int chains = rng.one_in(3) ? 1 : rng.between(1, 3);
    const int each = n % 4 == 0 ? 1 : rng.between(1, 6);
    const int m = rng.between(1, 3);
    const int cols =
        rng.one_in(8) ? rng.between(1020, 1030) : rng.between(1, 9);
    const gradient_list g(static_cast<std::size_t>(chains * each), m, cols,
                          rng);
    const grid order = any_order(chains * each, chains, rng);
    const grid got = sum_by(t, g, order, rng, w);
    compare(w, got, g.sum(order), "sum ", [&] {
      return fmt::format("{}: {} chains of {} gradients of {} x {}", t.name,
                         chains, each, m, cols);
    });
    if (chains * each == 1) {
      // One micro-batch: the step without any.
      w.count(got == g.all[0], [&] {
        return t.name + ": the sum of one micro-batch is not it";
      });
    }
    differ +=
        got == sum_by(t, g, any_order(chains * each, 1, rng), rng, w) ? 0 : 1;
  });
  v.count(differ > 0, [&] {
    return t.name + ": another order of micro-batches never gives other bits";
  });
  return v;
}

}  // namespace zeroulp::conformance
