// Operators of model_more.hpp that ranks need: DualPipe's schedule, sums over
// micro-batches, replicas of experts.

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/arrays/lines.hpp"
#include "src/base/threads.hpp"
#include "src/model/checks.hpp"
#include "src/model/rows.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/model_more.hpp"

namespace zeroulp::engine {
namespace {

void check_pipe(const dual_pipe_shape& s, std::ptrdiff_t at, const char* what,
                const char* which) {
  if (!is_valid(s)) {
    throw input_error(fmt::format(
        "{}: {} stages, {} micro-batches: both are even, and of micro-batches "
        "there are two or more a stage, 2^29 at most",
        what, s.stages, s.micro_batches));
  }
  if (at < 0 || at >= s.stages) {
    throw input_error(fmt::format("{}: {} {}, but 0 to {} are there", what,
                                  which, at, s.stages - 1));
  }
}

/// Indices from 0 to count - 1, each once, or less.
void check_order(matrix_view<const std::int32_t> order, std::size_t count) {
  if (order.rows < 1 || order.cols < 1) {
    throw input_error("accumulate_micro_batches, order: no micro-batches");
  }
  std::vector<bool> taken(count);
  for (std::ptrdiff_t i = 0; i < order.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < order.cols; ++j) {
      const auto at = static_cast<std::size_t>(order(i, j));
      if (order(i, j) < 0 || at >= count) {
        throw input_error(fmt::format(
            "accumulate_micro_batches, order ({}, {}): {}, but {} gradients "
            "are there",
            i, j, order(i, j), count));
      }
      if (taken[at]) {
        throw input_error(fmt::format(
            "accumulate_micro_batches, order ({}, {}): {} a second time", i, j,
            order(i, j)));
      }
      taken[at] = true;
    }
  }
}

}  // namespace

void dual_pipe_steps(const dual_pipe_shape& s, std::ptrdiff_t rank,
                     matrix_view<std::int32_t> steps) {
  check_pipe(s, rank, "dual_pipe_steps", "rank");
  check_shape(steps, 3 * s.micro_batches, pipe_columns, "dual_pipe_steps",
              "what a rank does is");
  zeroulp::dual_pipe_steps(s, rank, steps);
}

void dual_pipe_order(const dual_pipe_shape& s, std::ptrdiff_t stage,
                     matrix_view<std::int32_t> order) {
  check_pipe(s, stage, "dual_pipe_order", "stage");
  check_shape(order, 2, s.micro_batches / 2, "dual_pipe_order",
              "the micro-batches of two directions are");
  const std::ptrdiff_t rows = 3 * s.micro_batches;
  std::vector<std::int32_t> steps(
      static_cast<std::size_t>(rows * pipe_columns));
  zeroulp::dual_pipe_order(s, stage, {steps.data(), rows, pipe_columns}, order);
}

void accumulate_micro_batches(
    std::span<const matrix_view<const std::uint32_t>> gradients,
    matrix_view<const std::int32_t> order, matrix_view<std::uint32_t> out) {
  check_order(order, gradients.size());
  check_rows_of(out, out.rows, out.cols, "accumulate_micro_batches, output");
  for (const auto& g : gradients) {
    check_rows_of(g, out.rows, out.cols,
                  "accumulate_micro_batches, a gradient");
  }
  for_lines(out.rows, out.cols, true,
            [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) {
              line_buffer total;
              for (std::ptrdiff_t c = 0; c < order.rows; ++c) {
                line_buffer chain;
                for (std::ptrdiff_t k = 0; k < order.cols; ++k) {
                  const auto at = static_cast<std::size_t>(order(c, k));
                  const std::uint32_t* const next = &gradients[at](i, j);
                  if (k == 0) {
                    std::copy_n(next, n, chain.word);
                  } else {
                    sum_words(chain.word, next, chain.word, n);
                  }
                }
                if (c == 0) {
                  std::copy_n(chain.word, n, total.word);
                } else {
                  sum_words(total.word, chain.word, total.word, n);
                }
              }
              std::copy_n(total.word, n, &out(i, j));
            });
}

void choose_replicas(const replica_choice& c) {
  const std::ptrdiff_t count = c.ends.rows - 1;
  check_shape(c.ends, c.ends.rows, 1, "choose_replicas, ends", "a column is");
  if (count < 0 || c.ends(0, 0) != 0) {
    throw input_error("choose_replicas, ends: the first end is 0");
  }
  for (std::ptrdiff_t e = 0; e < count; ++e) {
    if (c.ends(e + 1, 0) <= c.ends(e, 0)) {
      throw input_error(
          fmt::format("choose_replicas, ends: expert {} has no replica", e));
    }
  }
  check_shape(c.replicas, c.experts.rows, c.experts.cols,
              "choose_replicas, replicas", "the experts are");
  check_indices(c.experts, 0, count, "choose_replicas, experts");
  zeroulp::choose_replicas(c);
}

void merge_replicas(const replica_rows& r) {
  check_shape(r.from, r.from.rows, 1, "merge_replicas, from", "a column is");
  check_shape(r.by_replica, r.by_expert.rows, r.by_expert.cols,
              "merge_replicas, by_replica", "the slots are");
  check_indices(r.by_replica, -1, 0x7fffffff, "merge_replicas, by_replica");
  check_indices(r.by_expert, -1, r.from.rows, "merge_replicas, by_expert");
  zeroulp::merge_replicas(r);
}

}  // namespace zeroulp::engine
