// Wrong operators of a model's step: the router, and RMSNorm's backward pass.
// Those of attention have a file of their own.

#include <algorithm>
#include <numeric>
#include <vector>

#include "conformance/mutants/model_parts.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;
using value = A::number;
using index_list = std::vector<std::ptrdiff_t>;
using value_list = std::vector<value>;

enum class route_fault : std::uint8_t {
  ties_last,
  nan_first,
  biased_weights,
  unbiased_groups,
  masked_by_zero,
  sum_by_expert,
  reciprocal,
  sum_and_eps,
  scale_first,
  softmax_divided,
};

value at(const value_list& x, std::ptrdiff_t i) {
  return x[static_cast<std::size_t>(i)];
}

bool is_nan(value x) { return (x.value & 0x7fffffffu) > 0x7f800000u; }

template <route_fault F>
std::uint32_t place_of(value x) {
  if (F == route_fault::nan_first && is_nan(x)) return 0xffffffff;
  return detail::rank_of(x.value);
}

/// `of`, ascending, in the order of the numbers that they index.
template <route_fault F>
index_list in_order(const value_list& x, index_list of) {
  if (F == route_fault::ties_last) std::reverse(of.begin(), of.end());
  std::stable_sort(of.begin(), of.end(), [&](auto a, auto b) {
    return place_of<F>(at(x, a)) > place_of<F>(at(x, b));
  });
  return of;
}

index_list between(std::ptrdiff_t begin, std::ptrdiff_t end) {
  index_list all(static_cast<std::size_t>(end - begin));
  std::iota(all.begin(), all.end(), begin);
  return all;
}

template <route_fault F>
value_list scores_of(const router& r, const std::uint32_t* logits,
                     std::ptrdiff_t n) {
  std::vector<std::uint32_t> s(static_cast<std::size_t>(n));
  detail::router_scores<A>(r.score, logits, n, s.data());
  const auto z = [logits](std::ptrdiff_t e) { return value{logits[e]}; };
  if (F == route_fault::softmax_divided && r.score == router_score::softmax) {
    const value sum = exponentials_of_row<A>(n, z, s.data()).sum;
    for (auto& word : s) word = A::divide({word}, sum).value;
  }
  value_list all;
  for (const auto word : s) all.push_back({word});
  return all;
}

template <route_fault F>
index_list chosen_of(const router& r, const value_list& scores, value_list b) {
  const auto n = static_cast<std::ptrdiff_t>(b.size());
  const std::ptrdiff_t each = n / r.groups;
  value_list groups;
  for (std::ptrdiff_t g = 0; g < r.groups; ++g) {
    const auto& of = F == route_fault::unbiased_groups ? scores : b;
    const auto best = in_order<F>(of, between(g * each, (g + 1) * each));
    const bool two = r.of_group == group_score::top2_sum && each > 1;
    groups.push_back(two ? A::add(at(of, best[0]), at(of, best[1]))
                         : at(of, best[0]));
  }
  auto kept = in_order<F>(groups, between(0, r.groups));
  kept.resize(static_cast<std::size_t>(r.kept));
  index_list open;
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    const bool is_kept =
        std::find(kept.begin(), kept.end(), e / each) != kept.end();
    if (!is_kept) b[static_cast<std::size_t>(e)] = {0};
    if (is_kept || F == route_fault::masked_by_zero) open.push_back(e);
  }
  auto chosen = in_order<F>(b, open);
  chosen.resize(static_cast<std::size_t>(r.top));
  return chosen;
}

template <route_fault F>
void route_by(const router& r, const routing& t) {
  const std::ptrdiff_t n = t.logits.cols;
  for (std::ptrdiff_t i = 0; i < t.logits.rows; ++i) {
    const auto scores = scores_of<F>(r, &t.logits(i, 0), n);
    value_list b = scores;
    for (std::ptrdiff_t e = 0; e < n; ++e) {
      t.scores(i, e) = at(scores, e).value;
      if (t.bias.data == nullptr) continue;
      value& biased = b[static_cast<std::size_t>(e)];
      biased = A::add(biased, {t.bias(0, e)});
    }
    const auto chosen = chosen_of<F>(r, scores, b);
    const auto& by = F == route_fault::biased_weights ? b : scores;
    index_list summed = chosen;
    if (F == route_fault::sum_by_expert) {
      std::sort(summed.begin(), summed.end());
    }
    value sum{0};
    for (const auto e : summed) sum = A::add(sum, at(by, e));
    if (F == route_fault::sum_and_eps) {
      sum = A::add(sum, {0x1e3ce508});  // 1e-20
    }
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      const auto e = chosen[static_cast<std::size_t>(k)];
      value w = at(by, e);
      const value scale{r.scale};
      if (F == route_fault::scale_first) w = A::multiply(w, scale);
      if (r.normalized) {
        w = F == route_fault::reciprocal
                ? A::multiply(w, A::divide({fp32_one}, sum))
                : A::divide(w, sum);
      }
      if (F != route_fault::scale_first) w = A::multiply(w, scale);
      t.experts(i, k) = static_cast<std::int32_t>(e);
      t.weights(i, k) = w.value;
    }
  }
}

enum class slope_fault : std::uint8_t {
  weights_alone,
  slope_by_fma,
  chosen_alone,
};

template <slope_fault F>
void route_backward_by(const router& r, const routing_gradients& t) {
  core_operators().route_backward(r, t);
  const bool sigmoid = r.score == router_score::sigmoid;
  for (std::ptrdiff_t i = 0; i < t.scores.rows; ++i) {
    value sum{0};
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      sum = A::add(sum, {t.scores(i, t.experts(i, k))});
    }
    if (F == slope_fault::chosen_alone && !sigmoid) {
      for (std::ptrdiff_t e = 0; e < t.scores.cols; ++e) {
        bool is_chosen = false;
        for (std::ptrdiff_t k = 0; k < r.top; ++k) {
          is_chosen = is_chosen || t.experts(i, k) == e;
        }
        if (!is_chosen) t.dlogits(i, e) = 0;
      }
    }
    if (!sigmoid) continue;
    for (std::ptrdiff_t k = 0; k < r.top; ++k) {
      const value s{t.scores(i, t.experts(i, k))};
      const value h = A::multiply({t.dweights(i, k)}, {r.scale});
      auto& dz = t.dlogits(i, t.experts(i, k));
      const value slope = A::subtract({fp32_one}, s);
      if (F == slope_fault::weights_alone && r.normalized) {
        const value d = A::divide(h, sum);
        dz = A::multiply(A::multiply(d, s), slope).value;
      }
      if (F == slope_fault::slope_by_fma && !r.normalized) {
        dz = A::multiply(h, A::fma(A::negate(s), s, s)).value;
      }
    }
  }
}

enum class norm_fault : std::uint8_t {
  in_order,
  factor_squared,
  rounded_apart,
  rounded_twice,
  one_chain,
  factor_last,
};

template <norm_fault F>
value dot_of(const rms_norm_gradients& t, std::ptrdiff_t i) {
  const auto g = [&](std::ptrdiff_t j) {
    return A::multiply(bf16_number<A>(t.dy(i, j)), {t.w(0, j)});
  };
  const auto x = [&](std::ptrdiff_t j) { return bf16_number<A>(t.x(i, j)); };
  if (F != norm_fault::in_order) return row_dot<A>(t.x.cols, g, x);
  value sum{0};
  for (std::ptrdiff_t j = 0; j < t.x.cols; ++j) {
    sum = A::fma(g(j), x(j), sum);
  }
  return sum;
}

template <norm_fault F>
void norm_dx(const rms_norm_gradients& t, std::ptrdiff_t i) {
  const value r{t.rstd(i, 0)};
  const value dot = dot_of<F>(t, i);
  const value scaled = F == norm_fault::factor_squared
                           ? A::multiply(dot, A::multiply(r, r))
                           : A::multiply(A::multiply(dot, r), r);
  const value minus_a = A::negate(A::divide(scaled, {count_as_fp32(t.x.cols)}));
  for (std::ptrdiff_t j = 0; j < t.x.cols; ++j) {
    const value g = A::multiply(bf16_number<A>(t.dy(i, j)), {t.w(0, j)});
    const value x = bf16_number<A>(t.x(i, j));
    const value inner = F == norm_fault::rounded_apart
                            ? A::add(g, A::multiply(minus_a, x))
                            : A::fma(minus_a, x, g);
    value d = A::multiply(r, inner);
    if (t.residual.data != nullptr) {
      if (F == norm_fault::rounded_twice) {
        d = bf16_number<A>(bf16_code<A>(d));
      }
      d = A::add(d, bf16_number<A>(t.residual(i, j)));
    }
    t.dx(i, j) = bf16_code<A>(d);
  }
}

template <norm_fault F>
void norm_by(const rms_norm_gradients& t) {
  core_operators().rms_norm_backward(t);
  for (std::ptrdiff_t i = 0; t.dx.data != nullptr && i < t.x.rows; ++i) {
    norm_dx<F>(t, i);
  }
  const bool sums = F == norm_fault::one_chain || F == norm_fault::factor_last;
  if (!sums || t.dw.data == nullptr) return;
  for (std::ptrdiff_t j = 0; j < t.x.cols; ++j) {
    value sum{0}, total{0};
    for (std::ptrdiff_t i = 0; i < t.x.rows; ++i) {
      const value dy = bf16_number<A>(t.dy(i, j));
      const value x = bf16_number<A>(t.x(i, j));
      const value r{t.rstd(i, 0)};
      sum = F == norm_fault::factor_last ? A::fma(A::multiply(dy, x), r, sum)
                                         : A::fma(dy, A::multiply(x, r), sum);
      const bool ends = (i + 1) % token_range == 0 || i + 1 == t.x.rows;
      if (F == norm_fault::one_chain || !ends) continue;
      total = A::add(total, sum);
      sum = {0};
    }
    t.dw(0, j) = F == norm_fault::one_chain ? sum.value : total.value;
  }
}

mutant_list route_mutants() {
  using f = route_fault;
  const auto forward = &model_operators::route;
  const auto backward = &model_operators::route_backward;
  return {
      core_but("route_ties_last", "as if of equal scores the last one won",
               forward, route_by<f::ties_last>),
      core_but("route_nan_first", "as if NaN came before all numbers", forward,
               route_by<f::nan_first>),
      core_but("route_biased_weights",
               "as if weights were made from biased scores", forward,
               route_by<f::biased_weights>),
      core_but("route_unbiased_groups",
               "as if groups were chosen without the bias", forward,
               route_by<f::unbiased_groups>),
      core_but("route_masked_by_zero",
               "as if experts of other groups had scores of 0", forward,
               route_by<f::masked_by_zero>),
      core_but("route_sum_by_expert",
               "as if the slots' scores were added in the order of experts",
               forward, route_by<f::sum_by_expert>),
      core_but("route_reciprocal",
               "as if scores were multiplied by the reciprocal of their sum",
               forward, route_by<f::reciprocal>),
      core_but("route_sum_and_eps", "as if 1e-20 were added to the sum",
               forward, route_by<f::sum_and_eps>),
      core_but("route_scale_first",
               "as if scores were scaled before they are divided", forward,
               route_by<f::scale_first>),
      core_but("route_softmax_divided", "as if softmax divided by the sum",
               forward, route_by<f::softmax_divided>),
      core_but("route_gradient_of_weights_alone",
               "as if the sum of the slots' scores had no gradient", backward,
               route_backward_by<slope_fault::weights_alone>),
      core_but("route_slope_by_fma",
               "as if sigmoid's slope were s - s s, by fma", backward,
               route_backward_by<slope_fault::slope_by_fma>),
      core_but("route_gradient_of_slots_alone",
               "as if experts without a slot had no gradient", backward,
               route_backward_by<slope_fault::chosen_alone>),
  };
}

mutant_list norm_mutants() {
  using f = norm_fault;
  const auto norm = &model_operators::rms_norm_backward;
  return {
      core_but("norm_backward_in_order",
               "as if products of a row were summed in order", norm,
               norm_by<f::in_order>),
      core_but("norm_backward_factor_squared",
               "as if the sum were multiplied by rstd rstd", norm,
               norm_by<f::factor_squared>),
      core_but("norm_backward_rounded_apart",
               "as if a x were rounded before it is subtracted", norm,
               norm_by<f::rounded_apart>),
      core_but("norm_backward_rounded_twice",
               "as if dx became BF16 before the residual's gradient is added",
               norm, norm_by<f::rounded_twice>),
      core_but("norm_backward_one_chain",
               "as if dw were summed over all tokens in order", norm,
               norm_by<f::one_chain>),
      core_but("norm_backward_factor_last", "as if dw summed (dy x) rstd", norm,
               norm_by<f::factor_last>),
  };
}

}  // namespace

mutant_list model_mutants() {
  mutant_list all = route_mutants();
  for (auto* const list : {norm_mutants, attention_mutants}) {
    for (auto& m : list()) all.push_back(std::move(m));
  }
  return all;
}

}  // namespace zeroulp::conformance
