// Wrong schedules, sums over micro-batches and replicas: SPEC N28 and N29.

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "conformance/mutants/runner/operator_mutants.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;
using table = matrix_view<std::int32_t>;
using slots = matrix_view<const std::int32_t>;

bool is_pass(const table& steps, std::ptrdiff_t i, pipe_pass pass) {
  return steps(i, 0) == static_cast<std::int32_t>(pass);
}

void last_waits_least(const dual_pipe_shape& s, std::ptrdiff_t rank,
                      table steps) {
  engine::dual_pipe_steps(s, rank, steps);
  std::vector<std::pair<std::int32_t, std::int32_t>> waiting;
  for (std::ptrdiff_t i = 0; i < steps.rows; ++i) {
    if (is_pass(steps, i, pipe_pass::backward)) {
      waiting.emplace_back(steps(i, 1), steps(i, 2));
    }
    if (!is_pass(steps, i, pipe_pass::weights)) continue;
    std::tie(steps(i, 1), steps(i, 2)) = waiting.back();
    waiting.pop_back();
  }
}

void nothing_waits(const dual_pipe_shape& s, std::ptrdiff_t rank, table steps) {
  engine::dual_pipe_steps(s, rank, steps);
  std::vector<std::int32_t> rows;
  const auto add = [&](pipe_pass pass, std::ptrdiff_t i) {
    rows.insert(rows.end(),
                {static_cast<std::int32_t>(pass), steps(i, 1), steps(i, 2)});
  };
  for (std::ptrdiff_t i = 0; i < steps.rows; ++i) {
    if (is_pass(steps, i, pipe_pass::forward)) add(pipe_pass::forward, i);
    if (!is_pass(steps, i, pipe_pass::backward)) continue;
    add(pipe_pass::backward, i);
    add(pipe_pass::weights, i);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    steps(at / pipe_columns, at % pipe_columns) = rows[i];
  }
}

void first_is_near(const dual_pipe_shape& s, std::ptrdiff_t rank, table steps) {
  engine::dual_pipe_steps(s, std::min(rank, s.stages - 1 - rank), steps);
}

enum class sum_fault : std::uint8_t { one_chain, from_zero };

template <sum_fault F>
void accumulate_by(std::span<const codes_in> gradients, slots order,
                   codes_out out) {
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
      A::number total{0};
      for (std::ptrdiff_t c = 0; c < order.rows; ++c) {
        A::number sum{0};
        for (std::ptrdiff_t k = 0; k < order.cols; ++k) {
          const auto from = static_cast<std::size_t>(order(c, k));
          const A::number g{gradients[from](i, j)};
          const bool goes_on = F == sum_fault::one_chain && c > 0 && k == 0;
          if (goes_on) sum = total;
          const bool first = k == 0 && !goes_on && F != sum_fault::from_zero;
          sum = first ? g : A::add(sum, g);
        }
        const bool whole = c == 0 || F == sum_fault::one_chain;
        total = whole ? sum : A::add(total, sum);
      }
      out(i, j) = total.value;
    }
  }
}

enum class turn_fault : std::uint8_t { slots_in_turn, token_ranges };

template <turn_fault F>
void choose_by(const replica_choice& c) {
  std::vector<std::ptrdiff_t> met(static_cast<std::size_t>(c.ends.rows));
  const std::ptrdiff_t m = c.experts.rows;
  for (std::ptrdiff_t t = 0; t < m; ++t) {
    for (std::ptrdiff_t k = 0; k < c.experts.cols; ++k) {
      const std::ptrdiff_t e = c.experts(t, k);
      const std::ptrdiff_t count = c.ends(e + 1, 0) - c.ends(e, 0);
      const std::ptrdiff_t which =
          F == turn_fault::slots_in_turn
              ? met[static_cast<std::size_t>(e)]++ % count
              : t * count / m;
      c.replicas(t, k) = static_cast<std::int32_t>(c.ends(e, 0) + which);
    }
  }
}

/// Replicas of an expert follow each other, and so do the experts: rows of the
/// two plans, each ascending, are of the same experts.
void merge_by_replica(const replica_rows& r) {
  engine::merge_replicas(r);
  std::vector<std::int32_t> from;
  for (std::ptrdiff_t i = 0; i < r.from.rows; ++i) {
    if (r.from(i, 0) >= 0) from.push_back(r.from(i, 0));
  }
  std::sort(from.begin(), from.end());
  auto next = from.begin();
  for (std::ptrdiff_t i = 0; i < r.from.rows; ++i) {
    if (r.from(i, 0) >= 0) r.from(i, 0) = *next++;
  }
}

void merge_padding_of_row_0(const replica_rows& r) {
  engine::merge_replicas(r);
  for (std::ptrdiff_t i = 0; i < r.from.rows; ++i) {
    r.from(i, 0) = std::max(r.from(i, 0), 0);
  }
}

}  // namespace

operator_mutant_list parallel_mutants() {
  using f = model_functions;
  return {
      table_but("pipe_last_waits_least",
                "as if the newest gradients of weights came first",
                &f::dual_pipe_steps, last_waits_least),
      table_but("pipe_nothing_waits", "as if no gradient of weights waited",
                &f::dual_pipe_steps, nothing_waits),
      table_but("pipe_first_is_near",
                "as if the first direction were near to every rank",
                &f::dual_pipe_steps, first_is_near),
      table_but(
          "batches_one_chain", "as if one chain went over both directions",
          &f::accumulate_micro_batches, accumulate_by<sum_fault::one_chain>),
      table_but("batches_from_zero", "as if each chain began at +0",
                &f::accumulate_micro_batches,
                accumulate_by<sum_fault::from_zero>),
      table_but("replicas_slots_in_turn",
                "as if an expert's slots took its replicas in turn",
                &f::choose_replicas, choose_by<turn_fault::slots_in_turn>),
      table_but("replicas_token_ranges",
                "as if each replica had a range of the tokens",
                &f::choose_replicas, choose_by<turn_fault::token_ranges>),
      table_but("replicas_merged_apart",
                "as if rows of an expert came replica by replica",
                &f::merge_replicas, merge_by_replica),
      table_but("replicas_padding_of_row_0",
                "as if rows of no slot were the first one", &f::merge_replicas,
                merge_padding_of_row_0),
  };
}

}  // namespace zeroulp::conformance
