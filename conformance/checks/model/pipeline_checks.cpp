// Holds what ranks need: DualPipe's schedule, sums over micro-batches, replicas
// of experts.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/contract/model_operators.hpp"
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

/// One to three replicas of each expert, and the ends of a table.
struct replica_table {
  std::vector<int> counts;
  grid ends;

  replica_table(int experts, counter_rng& rng) : ends(experts + 1, 1) {
    for (int e = 0; e < experts; ++e) {
      counts.push_back(rng.one_in(2) ? 1 : rng.between(2, 3));
      ends(e + 1, 0) = ends(e, 0) + static_cast<std::uint32_t>(counts.back());
    }
  }
  int replicas() const { return static_cast<int>(ends.words.back()); }
};

grid distinct_choice(int m, int top, int experts, counter_rng& rng) {
  grid x(m, top);
  for (int i = 0; i < m; ++i) {
    const auto first = rng.below(static_cast<std::uint32_t>(experts));
    for (int k = 0; k < top; ++k) {
      x(i, k) = (first + static_cast<std::uint32_t>(k)) %
                static_cast<std::uint32_t>(experts);
    }
  }
  return x;
}

/// The rows of a plan, made by the function in question.
struct plan_rows {
  index_rows rows, slots, ends;

  plan_rows(const model_functions& t, const grid& chosen, int experts,
            counter_rng& rng)
      : rows(plan_capacity(static_cast<std::ptrdiff_t>(chosen.words.size()),
                           experts, 16),
             1, rng),
        slots(chosen, rng),
        ends(experts + 1, 1, rng) {
    const index_rows in(chosen, rng);
    t.make_plan({in.input(), 16, rows.view(), slots.view(), ends.view()});
  }
};

/// Rows of x in the order of `from`, zeros where it is -1.
grid rows_taken(const grid& x, const grid& from) {
  grid out(from.rows, x.cols);
  for (std::ptrdiff_t r = 0; r < out.rows; ++r) {
    if (static_cast<std::int32_t>(from(r, 0)) < 0) continue;
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) out(r, j) = x(from(r, 0), j);
  }
  return out;
}

grid product_of(const grid& a, const grid& b, counter_rng& rng) {
  const bf16_rows left(a, rng), right(b, rng);
  word_rows d(a.rows, b.rows, rng);
  core_product(left.input(), right.input(), d.view());
  return d.read();
}

grid rows_between(const grid& x, std::ptrdiff_t begin, std::ptrdiff_t end) {
  grid out(end - begin, x.cols);
  for (std::ptrdiff_t i = begin; i < end; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) out(i - begin, j) = x(i, j);
  }
  return out;
}

/// A layer's tokens and gradients, and each expert's weights.
struct expert_layer {
  grid x, dy;
  std::vector<grid> weights;
};

/// The product of each expert's rows and its weights; rows by `plan`, which is
/// of replicas if `ends` says whose they are.
grid outputs_by(const expert_layer& l, const plan_rows& plan, const grid& ends,
                counter_rng& rng) {
  const grid rows = rows_taken(l.x, plan.rows.read());
  grid out(rows.rows, l.weights[0].rows);
  for (std::size_t e = 0; e < l.weights.size(); ++e) {
    for (auto r = ends(static_cast<std::ptrdiff_t>(e), 0);
         r < ends(static_cast<std::ptrdiff_t>(e) + 1, 0); ++r) {
      const auto begin = plan.ends.input()(r, 0);
      const auto end = plan.ends.input()(r + 1, 0);
      const grid y =
          product_of(rows_between(rows, begin, end), l.weights[e], rng);
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        for (std::ptrdiff_t j = 0; j < y.cols; ++j) out(i, j) = y(i - begin, j);
      }
    }
  }
  return out;
}

/// dW of rows [begin, end): the product of dY^T and X^T.
grid wgrad(const grid& dy, const grid& x, std::ptrdiff_t begin,
           std::ptrdiff_t end, counter_rng& rng) {
  return product_of(oracle::flipped(rows_between(dy, begin, end)),
                    oracle::flipped(rows_between(x, begin, end)), rng);
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

verdict choices_of_replicas(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_model_cases(e, 60, [&](counter_rng& rng, auto, verdict& v) {
    const int experts = rng.between(1, 20);
    const int m = rng.one_in(8) ? 0 : rng.between(1, 30);
    const int top = rng.between(1, std::min(4, experts));
    const replica_table table(experts, rng);
    const grid chosen = distinct_choice(m, top, experts, rng);
    const index_rows in(chosen, rng), ends(table.ends, rng);
    index_rows replicas(m, top, rng);
    t.choose_replicas({in.input(), ends.input(), replicas.view()});
    const auto describe = [&] {
      return fmt::format("{}: replicas of {} experts, {} x {} slots", t.name,
                         experts, m, top);
    };
    count_output(v, replicas, oracle::replicas_of(chosen, table.counts),
                 "replica ", describe);
    // Back together: each row of an expert from the row of the same slot.
    const plan_rows one(t, chosen, experts, rng),
        many(t, replicas.read(), table.replicas(), rng);
    index_rows from(one.rows.read().rows, 1, rng);
    t.merge_replicas({many.slots.input(), one.slots.input(), from.view()});
    grid want(from.read().rows, 1, 0xffffffff);
    for (int i = 0; i < m; ++i) {
      for (int k = 0; k < top; ++k) {
        want(one.slots.input()(i, k), 0) =
            static_cast<std::uint32_t>(many.slots.input()(i, k));
      }
    }
    count_output(v, from, want, "merged row ", describe);
  });
}

verdict replicas_give_the_same(const model_functions& t, const effort& given) {
  effort e = given;
  e.level = 0;
  std::uint64_t differ = 0;
  verdict v = for_model_cases(e, 6, [&](counter_rng& rng, auto, verdict& w) {
    const int experts = 3;
    const int m = 40;
    const replica_table table(experts, rng);
    const grid chosen = distinct_choice(m, 2, experts, rng);
    expert_layer l{
        bell_shaped(bf16, m, 24, 0, rng), bell_shaped(bf16, m, 8, 0, rng), {}};
    for (int k = 0; k < experts; ++k) {
      l.weights.push_back(bell_shaped(bf16, 8, 24, 0, rng));
    }
    const index_rows in(chosen, rng), ends(table.ends, rng);
    index_rows replicas(chosen, rng);
    t.choose_replicas({in.input(), ends.input(), replicas.view()});
    const plan_rows one(t, chosen, experts, rng),
        many(t, replicas.read(), table.replicas(), rng);
    grid alone(experts + 1, 1);
    std::iota(alone.words.begin(), alone.words.end(), 0u);
    const grid y_one = outputs_by(l, one, alone, rng);
    const grid y_many = outputs_by(l, many, table.ends, rng);
    index_rows from(one.rows.read().rows, 1, rng);
    t.merge_replicas({many.slots.input(), one.slots.input(), from.view()});
    const auto same = [&](const grid& a, const grid& b, const char* what) {
      compare(w, a, b, what, [&] {
        return t.name + ": replicas of experts, against one of each";
      });
    };
    same(rows_taken(y_many, from.read()), y_one, "output ");
    // Gradients: of rows that came together, and of each replica by itself.
    const grid x_many = rows_taken(l.x, many.rows.read());
    const grid dy_many = rows_taken(l.dy, many.rows.read());
    const grid x_one = rows_taken(l.x, one.rows.read());
    const grid dy_one = rows_taken(l.dy, one.rows.read());
    const grid x_merged = rows_taken(x_many, from.read());
    const grid dy_merged = rows_taken(dy_many, from.read());
    for (int k = 0; k < experts; ++k) {
      const auto begin = one.ends.input()(k, 0);
      const auto end = one.ends.input()(k + 1, 0);
      const grid want = wgrad(dy_one, x_one, begin, end, rng);
      same(wgrad(dy_merged, x_merged, begin, end, rng), want, "gradient ");
      std::vector<grid> parts;
      for (auto r = table.ends(k, 0); r < table.ends(k + 1, 0); ++r) {
        parts.push_back(wgrad(dy_many, x_many, many.ends.input()(r, 0),
                              many.ends.input()(r + 1, 0), rng));
      }
      if (parts.size() == 1) continue;
      grid sum = parts[0];
      for (std::size_t at = 0; at < sum.words.size(); ++at) {
        std::vector<std::uint32_t> terms;
        for (const grid& p : parts) terms.push_back(p.words[at]);
        sum.words[at] = oracle::chained_sum({terms});
      }
      differ += sum == want ? 0 : 1;
    }
  });
  v.count(differ > 0, [&] {
    return t.name + ": the sum of replicas' gradients never differs";
  });
  return v;
}

}  // namespace zeroulp::conformance
