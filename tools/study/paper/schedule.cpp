#include "tools/study/paper/schedule.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>

namespace zeroulp::study::paper {
namespace {

std::vector<pipe_step> one_way(int stages, int micro_batches, int rank,
                               int waiting) {
  std::vector<pipe_step> all;
  int forward = 0, weights = 0;
  const auto add_forward = [&] {
    if (forward < micro_batches) {
      all.push_back({pipe_pass::forward, 0, forward++});
    }
  };
  while (forward < stages - rank) add_forward();
  for (int i = 0; i < micro_batches; ++i) {
    all.push_back({pipe_pass::backward, 0, i});
    if (i >= waiting) all.push_back({pipe_pass::weights, 0, weights++});
    add_forward();
  }
  while (weights < micro_batches) {
    all.push_back({pipe_pass::weights, 0, weights++});
  }
  return all;
}

std::vector<pipe_step> both_ways(int stages, int micro_batches, int rank) {
  const std::ptrdiff_t rows = std::ptrdiff_t{3} * micro_batches;
  std::vector<std::int32_t> table(
      static_cast<std::size_t>(rows * pipe_columns));
  const matrix_view<std::int32_t> view{table.data(), rows, pipe_columns};
  dual_pipe_steps({stages, micro_batches}, rank, view);
  std::vector<pipe_step> all;
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    all.push_back({static_cast<pipe_pass>(view(i, 0)), view(i, 1), view(i, 2)});
  }
  return all;
}

/// Passes that are one piece of work: what waits for one of them waits for all.
using chunk = std::span<const pipe_step>;

bool is_own_weights(const pipe_step& backward, const pipe_step& next) {
  return backward.pass == pipe_pass::backward &&
         next.pass == pipe_pass::weights &&
         next.micro_batch == backward.micro_batch;
}

/// A forward pass beside the whole backward pass of the other direction.
bool is_overlapped(chunk rest) {
  return rest.size() >= 3 && rest[0].pass == pipe_pass::forward &&
         rest[1].direction != rest[0].direction &&
         is_own_weights(rest[1], rest[2]);
}

/// DeepSeek's DualPipe sends the gradients of inputs early until its first
/// overlapped passes, and where gradients of weights wait; ZB1P always does.
std::vector<chunk> chunks_of(pipe_method method, chunk rest) {
  std::vector<chunk> all;
  bool whole = method == pipe_method::one_f_one_b;
  while (!rest.empty()) {
    std::size_t count = 1;
    if (method == pipe_method::dual_pipe && is_overlapped(rest)) {
      count = 3;
      whole = true;
    } else if (whole && rest.size() >= 2 && is_own_weights(rest[0], rest[1])) {
      count = 2;
    }
    all.push_back(rest.first(count));
    rest = rest.subspan(count);
  }
  return all;
}

std::int64_t duration_of(chunk c, const pipe_durations& d) {
  if (c.size() == 3) return d.overlapped;
  if (c.size() == 2) return d.backward();
  switch (c[0].pass) {
    case pipe_pass::forward:
      return d.forward;
    case pipe_pass::backward:
      return d.inputs;
    default:
      return d.weights;
  }
}

/// When passes ended, by pass, stage and micro-batch.
class finished {
 public:
  finished(int stages, int micro_batches)
      : stages_(stages),
        micro_batches_(micro_batches),
        times_(static_cast<std::size_t>(3 * stages * micro_batches), -1) {}

  int stage_of(int rank, const pipe_step& s) const {
    return s.direction == 0 ? rank : stages_ - 1 - rank;
  }
  std::int64_t& at(pipe_pass pass, int stage, int micro_batch) {
    return times_[static_cast<std::size_t>(
        (static_cast<int>(pass) * stages_ + stage) * micro_batches_ +
        micro_batch)];
  }
  /// When what a pass reads is there; -1: not yet.
  std::int64_t inputs_of(int rank, const pipe_step& s) {
    const int stage = stage_of(rank, s);
    if (s.pass == pipe_pass::forward) {
      return stage == 0 ? 0 : at(s.pass, stage - 1, s.micro_batch);
    }
    if (s.pass == pipe_pass::weights) return 0;  // in the rank's own order
    return stage == stages_ - 1
               ? at(pipe_pass::forward, stage, s.micro_batch)
               : at(pipe_pass::backward, stage + 1, s.micro_batch);
  }

 private:
  int stages_, micro_batches_;
  std::vector<std::int64_t> times_;
};

struct rank_state {
  std::vector<pipe_step> steps;
  std::vector<chunk> chunks;
  std::size_t next = 0;
  std::int64_t free = 0;  ///< from then on
  std::int64_t work = 0;
};

/// Whether the rank's next chunk could be done.
bool advance(rank_state& r, int rank, finished& done, const pipe_durations& d) {
  if (r.next == r.chunks.size()) return false;
  const chunk c = r.chunks[r.next];
  std::int64_t begin = r.free;
  for (const pipe_step& s : c) {
    const std::int64_t ready = done.inputs_of(rank, s);
    if (ready < 0) return false;
    begin = std::max(begin, ready);
  }
  r.free = begin + duration_of(c, d);
  r.work += duration_of(c, d);
  for (const pipe_step& s : c) {
    done.at(s.pass, done.stage_of(rank, s), s.micro_batch) = r.free;
  }
  ++r.next;
  return true;
}

int most_activations(const std::vector<pipe_step>& steps) {
  int now = 0, most = 0;
  for (const pipe_step& s : steps) {
    if (s.pass == pipe_pass::forward) most = std::max(most, ++now);
    if (s.pass == pipe_pass::weights) --now;
  }
  return most;
}

}  // namespace

std::vector<pipe_step> steps_of(pipe_method method, int stages,
                                int micro_batches, int rank) {
  if (method == pipe_method::dual_pipe) {
    return both_ways(stages, micro_batches, rank);
  }
  return one_way(stages, micro_batches, rank,
                 method == pipe_method::zb1p ? rank : 0);
}

pipe_cost cost_of(pipe_method method, int stages, int micro_batches,
                  const pipe_durations& d) {
  std::vector<rank_state> ranks(static_cast<std::size_t>(stages));
  for (int i = 0; i < stages; ++i) {
    auto& r = ranks[static_cast<std::size_t>(i)];
    r.steps = steps_of(method, stages, micro_batches, i);
    r.chunks = chunks_of(method, r.steps);
  }
  finished done(stages, micro_batches);
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < stages; ++i) {
      auto& r = ranks[static_cast<std::size_t>(i)];
      while (advance(r, i, done, d)) moved = true;
    }
  }
  pipe_cost cost;
  for (const auto& r : ranks) {
    if (r.next < r.chunks.size()) {
      throw std::logic_error("a pipeline whose ranks wait for each other");
    }
    cost.total = std::max(cost.total, r.free);
  }
  cost.least_idle = cost.total;
  for (int i = 0; i < stages; ++i) {
    const auto& r = ranks[static_cast<std::size_t>(i)];
    cost.least_idle = std::min(cost.least_idle, cost.total - r.work);
    cost.most_idle = std::max(cost.most_idle, cost.total - r.work);
    cost.activations = std::max(cost.activations, most_activations(r.steps));
    std::set<int> held;
    for (const auto& s : r.steps) held.insert(done.stage_of(i, s));
    cost.stages_held =
        std::max(cost.stages_held, static_cast<int>(held.size()));
  }
  return cost;
}

}  // namespace zeroulp::study::paper
