// Holds replicas of experts: which one a slot goes to, how rows come together,
// and that a layer with replicas has the bits of one without.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/contract/model_operators.hpp"
#include "conformance/oracles/model/pipeline_oracle.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::conformance {
namespace {

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

/// The product of section N.
grid product_of(const grid& a, const grid& b, counter_rng& rng) {
  const bf16_rows left(a, rng), right(b, rng);
  word_rows d(a.rows, b.rows, rng);
  core_product(left.input(), right.input(), d.view());
  return d.read();
}

/// Codes of E4M3 in groups, and their scales.
struct fp8_codes {
  guarded_rows<std::uint8_t> codes;
  word_rows scales;

  fp8_codes(const grid& x, const granularity& of, counter_rng& rng)
      : codes(x.rows, x.cols, rng),
        scales(oracle::groups_along(x.rows, of.mn),
               oracle::groups_along(x.cols, of.k), rng) {
    const bf16_rows from(x, rng);
    const quantizer q{
        bf16, e4m3, zeroulp_convention, scale_kind::float32, {of.mn, of.k}};
    engine::quantize(q, from.input(), codes.view(), scales.view());
  }
};

/// The same of FP8 codes, in the groups of a recipe.
grid fp8_product_of(recipe by, const grid& a, const grid& b, counter_rng& rng) {
  word_rows d(a.rows, b.rows, rng);
  if (a.rows == 0) return d.read();
  by.output = fp32;
  const fp8_codes left(a, by.a, rng), right(b, by.b, rng);
  engine::gemm(by, prepared_operand(e4m3, left.codes.input()),
               left.scales.input(), prepared_operand(e4m3, right.codes.input()),
               right.scales.input(), {}, d.view());
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
template <class Product>
grid outputs_by(const expert_layer& l, const plan_rows& plan, const grid& ends,
                Product product) {
  const grid rows = rows_taken(l.x, plan.rows.read());
  grid out(rows.rows, l.weights[0].rows);
  for (std::size_t e = 0; e < l.weights.size(); ++e) {
    for (auto r = ends(static_cast<std::ptrdiff_t>(e), 0);
         r < ends(static_cast<std::ptrdiff_t>(e) + 1, 0); ++r) {
      const auto begin = plan.ends.input()(r, 0);
      const auto end = plan.ends.input()(r + 1, 0);
      const grid y = product(rows_between(rows, begin, end), l.weights[e]);
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

verdict choices_of_replicas(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(t, e, 60, [&](counter_rng& rng, auto, verdict& v) {
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
  std::uint64_t scales_differ = 0;
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
    index_rows from(one.rows.read().rows, 1, rng);
    t.merge_replicas({many.slots.input(), one.slots.input(), from.view()});
    const auto same = [&](const grid& a, const grid& b, const char* what) {
      compare(w, a, b, what, [&] {
        return t.name + ": replicas of experts, against one of each";
      });
    };
    const auto outputs = [&](auto multiply) {
      const auto product = [&](const grid& a, const grid& b) {
        return multiply(a, b, rng);
      };
      const grid apart = outputs_by(l, many, table.ends, product);
      return std::pair(rows_taken(apart, from.read()),
                       outputs_by(l, one, alone, product));
    };
    const auto by = [](const recipe& r) {
      return [&r](const grid& a, const grid& b, counter_rng& source) {
        return fp8_product_of(r, a, b, source);
      };
    };
    const auto plain = outputs(product_of);
    same(plain.first, plain.second, "output ");
    const auto tiles = outputs(by(deepgemm_1d2d_recipe));
    same(tiles.first, tiles.second, "FP8 output ");
    // One scale for all of an expert's rows depends on who else is there.
    const auto whole = outputs(by(cublaslt_tensorwise_recipe));
    scales_differ += whole.first == whole.second ? 0 : 1;
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
  v.count(scales_differ > 0, [&] {
    return t.name + ": one scale a replica's rows never differs";
  });
  return v;
}

}  // namespace zeroulp::conformance
