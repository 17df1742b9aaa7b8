#include "conformance/oracles/model/pipeline_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/rational_step.hpp"
#include "conformance/oracles/training_oracle.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

/// Pass, direction, micro-batch, stage: when it was done.
using pipe_times = std::map<std::tuple<int, int, int, int>, int>;

int stage_of(int stages, int rank, int direction) {
  return direction == 0 ? rank : stages - 1 - rank;
}

/// When what the work waits for was done, 0 for nothing, -1 for not yet.
int ready_at(const pipe_times& done, int stages, int rank, const pipe_work& w) {
  const int stage = stage_of(stages, rank, w.direction);
  const auto time = [&](int pass, int of_stage) {
    const auto it = done.find({pass, w.direction, w.micro_batch, of_stage});
    return it == done.end() ? -1 : it->second;
  };
  if (w.pass == 0) return stage == 0 ? 0 : time(0, stage - 1);
  if (w.pass == 2) return time(1, stage) < 0 ? -1 : 0;
  const int own = time(0, stage);
  if (own < 0 || stage == stages - 1) return own;
  const int next = time(1, stage + 1);
  return next < 0 ? -1 : std::max(own, next);
}

}  // namespace

std::string wrong_pipeline(int micro_batches, const std::vector<pipe_list>& all,
                           int& ends) {
  const int stages = static_cast<int>(all.size());
  for (int rank = 0; rank < stages; ++rank) {
    std::map<std::tuple<int, int, int>, int> times;
    for (const auto& w : all[static_cast<std::size_t>(rank)]) {
      ++times[{w.pass, w.direction, w.micro_batch}];
    }
    for (int pass = 0; pass < 3; ++pass) {
      for (int i = 0; i < micro_batches; ++i) {
        const int direction = i < micro_batches / 2 ? 0 : 1;
        if (times[{pass, direction, i}] != 1) {
          return fmt::format("rank {}: pass {} of micro-batch {} is not once",
                             rank, pass, i);
        }
      }
    }
    if (times.size() != static_cast<std::size_t>(3 * micro_batches)) {
      return fmt::format("rank {}: does more than that", rank);
    }
  }
  pipe_times done;
  std::vector<std::size_t> at(all.size());
  std::vector<int> clock(all.size());
  bool moved = true;
  while (moved) {
    moved = false;
    for (int rank = 0; rank < stages; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      while (at[r] < all[r].size()) {
        const pipe_work& w = all[r][at[r]];
        const int ready = ready_at(done, stages, rank, w);
        if (ready < 0) break;
        clock[r] = std::max(clock[r], ready) + 1;
        // A whole backward pass hands on what it has when it is over.
        const bool whole = w.pass == 1 && at[r] + 1 < all[r].size() &&
                           all[r][at[r] + 1].pass == 2 &&
                           all[r][at[r] + 1].micro_batch == w.micro_batch;
        done[{w.pass, w.direction, w.micro_batch,
              stage_of(stages, rank, w.direction)}] =
            clock[r] + (whole ? 1 : 0);
        ++at[r];
        moved = true;
      }
    }
  }
  ends = *std::max_element(clock.begin(), clock.end());
  for (int rank = 0; rank < stages; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (at[r] < all[r].size()) {
      return fmt::format("rank {} waits for ever at its work {}", rank, at[r]);
    }
  }
  return "";
}

std::uint32_t chained_sum(
    const std::vector<std::vector<std::uint32_t>>& chains) {
  std::vector<std::uint32_t> sums;
  const auto chain = [](const std::vector<std::uint32_t>& terms) {
    std::uint32_t sum = terms.front();  // no sum yet, the same bits
    for (std::size_t i = 1; i < terms.size(); ++i) {
      sum = to_bits(to_float(sum) + to_float(terms[i]));
    }
    return sum;
  };
  sums.reserve(chains.size());
  for (const auto& terms : chains) sums.push_back(chain(terms));
  return chain(sums);
}

grid replicas_of(const grid& experts, const std::vector<int>& counts) {
  grid out = experts;
  for (std::ptrdiff_t t = 0; t < experts.rows; ++t) {
    for (std::ptrdiff_t k = 0; k < experts.cols; ++k) {
      int before = 0;
      for (std::uint32_t e = 0; e < experts(t, k); ++e) before += counts[e];
      const int count = counts[experts(t, k)];
      // Counted off: 0, 1, .. count - 1, 0, ..
      int turn = 0;
      for (std::ptrdiff_t i = 0; i < t; ++i)
        turn = turn + 1 < count ? turn + 1 : 0;
      out(t, k) = static_cast<std::uint32_t>(before + turn);
    }
  }
  return out;
}

grid index_logits(const indexer_numbers& t) {
  const std::ptrdiff_t m = t.q.rows;
  const std::ptrdiff_t n = t.k.rows;
  const std::ptrdiff_t heads = t.weights.cols;
  const std::ptrdiff_t depth = t.k.cols;
  const path by{e4m3, e4m3, hopper_fp8_f32};
  grid out(m, n, 0xff800000);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t s = 0; s < n && s <= t.first + i; ++s) {
      std::vector<std::uint64_t> key;
      for (std::ptrdiff_t d = 0; d < depth; ++d) key.push_back(t.k(s, d));
      float sum = 0;
      for (std::ptrdiff_t h = 0; h < heads; ++h) {
        std::vector<std::uint64_t> query;
        for (std::ptrdiff_t d = 0; d < depth; ++d) {
          query.push_back(t.q(i, h * depth + d));
        }
        const float score = to_float(static_cast<std::uint32_t>(
            rational_chain(by, query.data(), key.data(), depth, 0)));
        const float kept = score > 0 || std::isnan(score) ? score : 0.0f;
        const float weight =
            to_float(t.weights(i, h)) * to_float(t.q_scales(i, h));
        sum = std::fma(kept, weight, sum);
      }
      out(i, s) = to_bits(sum * to_float(t.k_scales(s, 0)));
    }
  }
  return out;
}

chosen_keys keys_of(const grid& logits, std::ptrdiff_t first,
                    std::ptrdiff_t top) {
  chosen_keys out{grid(logits.rows, top, 0xffffffff), grid(logits.rows, 1)};
  for (std::ptrdiff_t i = 0; i < logits.rows; ++i) {
    std::vector<std::pair<float, std::ptrdiff_t>> order;
    for (std::ptrdiff_t s = 0; s < logits.cols && s <= first + i; ++s) {
      order.emplace_back(to_float(logits(i, s)), s);
    }
    std::stable_sort(order.begin(), order.end(), [](auto a, auto b) {
      if (std::isnan(a.first) || std::isnan(b.first)) {
        return !std::isnan(a.first) && std::isnan(b.first);
      }
      return a.first > b.first;
    });
    const auto count = std::min(static_cast<std::size_t>(top), order.size());
    std::vector<std::ptrdiff_t> chosen;
    for (std::size_t j = 0; j < count; ++j) chosen.push_back(order[j].second);
    std::sort(chosen.begin(), chosen.end());
    for (std::size_t j = 0; j < count; ++j) {
      out.keys(i, static_cast<std::ptrdiff_t>(j)) =
          static_cast<std::uint32_t>(chosen[j]);
    }
    const auto same = [](float a, float b) {
      return a == b || (std::isnan(a) && std::isnan(b));
    };
    for (std::size_t j = count; j < order.size(); ++j) {
      if (same(order[j].first, order[count - 1].first)) ++out.ties(i, 0);
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
