// The router, the plan of experts' rows, and gradients through their slots.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "conformance/oracles/model_oracle.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/training_oracle.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

using numbers = std::vector<float>;
using indices = std::vector<std::size_t>;

std::int32_t index_at(const grid& g, std::ptrdiff_t i, std::ptrdiff_t j) {
  return static_cast<std::int32_t>(g(i, j));
}
std::uint32_t word_of(std::ptrdiff_t index) {
  return static_cast<std::uint32_t>(index);
}

numbers row_of(const grid& g, std::ptrdiff_t i) {
  numbers row;
  for (std::ptrdiff_t j = 0; j < g.cols; ++j) row.push_back(to_float(g(i, j)));
  return row;
}

numbers decoded_row(const grid& g, std::ptrdiff_t i) {
  numbers row;
  for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
    row.push_back(number_of(bf16, g(i, j)));
  }
  return row;
}

/// `of`, ascending, in the order of the numbers of `x` that they index.
indices in_order(const numbers& x, indices of) {
  std::stable_sort(of.begin(), of.end(), [&](std::size_t a, std::size_t b) {
    if (std::isnan(x[a]) || std::isnan(x[b])) {
      return !std::isnan(x[a]) && std::isnan(x[b]);
    }
    return x[a] > x[b];
  });
  return of;
}

indices range(std::size_t begin, std::size_t end) {
  indices all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  return all;
}

// N8
numbers scores_of(const router& r, const numbers& z) {
  numbers s;
  if (r.score == router_score::sigmoid) {
    for (const float x : z) s.push_back(to_float(logistic(to_bits(x))));
    return s;
  }
  const float m = largest_of(z);
  for (const float x : z) s.push_back(to_float(exponential(to_bits(x - m))));
  const float inverse = 1 / row_sum(s);
  for (float& x : s) x *= inverse;
  return s;
}

// N9
indices choice_of(const router& r, const numbers& b) {
  const auto groups = static_cast<std::size_t>(r.groups);
  const std::size_t each = b.size() / groups;
  numbers of_groups;
  for (std::size_t g = 0; g < groups; ++g) {
    const indices best = in_order(b, range(g * each, (g + 1) * each));
    const bool two = r.of_group == group_score::top2_sum && each > 1;
    of_groups.push_back(two ? b[best[0]] + b[best[1]] : b[best[0]]);
  }
  indices kept = in_order(of_groups, range(0, groups));
  kept.resize(static_cast<std::size_t>(r.kept));
  std::sort(kept.begin(), kept.end());
  indices open;
  for (const std::size_t g : kept) {
    for (const std::size_t e : range(g * each, (g + 1) * each)) {
      open.push_back(e);
    }
  }
  indices chosen = in_order(b, open);
  chosen.resize(static_cast<std::size_t>(r.top));
  return chosen;
}

float chain_of_sums(const numbers& x) {
  float t = 0;
  for (const float number : x) t += number;
  return t;
}

// N10 (a)
numbers shares_of(const router& r, const numbers& s) {
  if (!r.normalized) return s;
  const float t = chain_of_sums(s);
  numbers w;
  for (const float x : s) w.push_back(x / t);
  return w;
}

float chain_of_products(const numbers& x, const numbers& y) {
  float a = 0;
  for (std::size_t k = 0; k < x.size(); ++k) a = std::fma(x[k], y[k], a);
  return a;
}

// N11 (a)
numbers share_gradients(const router& r, const numbers& h, const numbers& s) {
  numbers d;
  for (const float x : h) d.push_back(x * to_float(r.scale));
  if (!r.normalized) return d;
  const float a = chain_of_products(d, shares_of(r, s));
  const float t = chain_of_sums(s);
  for (float& x : d) x = (x - a) / t;
  return d;
}

}  // namespace

routed route(const router& r, const grid& logits, const grid& bias) {
  const std::ptrdiff_t m = logits.rows;
  routed out{grid(m, logits.cols), grid(m, r.top), grid(m, r.top)};
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    const numbers s = scores_of(r, row_of(logits, i));
    numbers b = s;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto col = static_cast<std::ptrdiff_t>(j);
      if (bias.rows > 0) b[j] += to_float(bias(0, col));
      out.scores(i, col) = to_bits(s[j]);
    }
    numbers chosen_scores;
    const indices chosen = choice_of(r, b);
    for (const std::size_t e : chosen) chosen_scores.push_back(s[e]);
    const numbers w = shares_of(r, chosen_scores);
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      const auto slot = static_cast<std::ptrdiff_t>(k);
      out.experts(i, slot) = static_cast<std::uint32_t>(chosen[k]);
      out.weights(i, slot) = to_bits(w[k] * to_float(r.scale));
    }
  }
  return out;
}

grid route_backward(const router& r, const grid& scores, const grid& experts,
                    const grid& dweights) {
  grid dz(scores.rows, scores.cols);
  for (std::ptrdiff_t i = 0; i < scores.rows; ++i) {
    const numbers s = row_of(scores, i);
    numbers chosen;
    for (std::ptrdiff_t k = 0; k < experts.cols; ++k) {
      chosen.push_back(to_float(scores(i, index_at(experts, i, k))));
    }
    const numbers slots = share_gradients(r, row_of(dweights, i), chosen);
    numbers d(s.size());
    std::vector<bool> is_chosen(s.size());
    for (std::size_t k = 0; k < slots.size(); ++k) {
      const auto e = static_cast<std::size_t>(
          index_at(experts, i, static_cast<std::ptrdiff_t>(k)));
      d[e] = slots[k];
      is_chosen[e] = true;
    }
    const float a = chain_of_products(slots, chosen);
    for (std::size_t e = 0; e < s.size(); ++e) {
      float x = 0;
      if (r.score == router_score::softmax) {
        x = s[e] * (d[e] - a);
      } else if (is_chosen[e]) {
        x = d[e] * s[e] * (1 - s[e]);
      }
      dz(i, static_cast<std::ptrdiff_t>(e)) = to_bits(x);
    }
  }
  return dz;
}

grid updated_bias(const grid& experts, std::uint32_t speed, const grid& bias) {
  grid out = bias;
  const auto total = static_cast<std::ptrdiff_t>(experts.words.size());
  for (std::ptrdiff_t e = 0; e < bias.cols; ++e) {
    const auto count =
        std::count(experts.words.begin(), experts.words.end(), word_of(e));
    const float old = to_float(bias(0, e));
    const std::ptrdiff_t load = count * bias.cols;
    if (load > total) out(0, e) = to_bits(old - to_float(speed));
    if (load < total) out(0, e) = to_bits(old + to_float(speed));
  }
  return out;
}

planned plan(const grid& experts, std::ptrdiff_t count, std::ptrdiff_t align,
             std::ptrdiff_t capacity) {
  constexpr std::uint32_t none = 0xffffffff;
  planned p{grid(capacity, 1, none), grid(experts.rows, experts.cols),
            grid(count + 1, 1)};
  std::ptrdiff_t row = 0;
  for (std::ptrdiff_t e = 0; e < count; ++e) {
    for (std::ptrdiff_t t = 0; t < experts.rows; ++t) {
      for (std::ptrdiff_t k = 0; k < experts.cols; ++k) {
        if (index_at(experts, t, k) != e) continue;
        p.rows(row, 0) = word_of(t);
        p.slots(t, k) = word_of(row);
        ++row;
      }
    }
    row = (row + align - 1) / align * align;
    p.ends(e + 1, 0) = word_of(row);
  }
  return p;
}

slot_outputs slot_backward(const grid& dy, const grid& slots,
                           const grid& weights, const grid& y) {
  slot_outputs out{grid(y.rows, y.cols), grid(slots.rows, slots.cols)};
  for (std::ptrdiff_t t = 0; t < slots.rows; ++t) {
    const numbers gradient = decoded_row(dy, t);
    for (std::ptrdiff_t k = 0; k < slots.cols; ++k) {
      const std::ptrdiff_t row = index_at(slots, t, k);
      if (row < 0) continue;
      out.dweights(t, k) = to_bits(dot(gradient, decoded_row(y, row)));
      for (std::ptrdiff_t j = 0; j < y.cols; ++j) {
        const float weight = to_float(weights(t, k));
        out.d_rows(row, j) =
            code_of(bf16, weight * gradient[static_cast<std::size_t>(j)]);
      }
    }
  }
  return out;
}

balance_outputs balance(const balance_inputs& t) {
  const std::ptrdiff_t m = t.scores.rows;
  const auto n = static_cast<std::size_t>(t.scores.cols);
  const auto tokens = static_cast<float>(t.length);
  balance_outputs out{grid(m / t.length, 1), grid(m, t.scores.cols)};
  for (std::ptrdiff_t first = 0; first < m; first += t.length) {
    std::vector<numbers> shares;  // by expert, over the tokens
    numbers f, p;
    for (std::size_t e = 0; e < n; ++e) {
      std::ptrdiff_t count = 0;
      for (std::ptrdiff_t i = first; i < first + t.length; ++i) {
        for (std::ptrdiff_t k = 0; k < t.experts.cols; ++k) {
          count += t.experts(i, k) == e ? 1 : 0;
        }
      }
      f.push_back(static_cast<float>(count * t.scores.cols) /
                  static_cast<float>(t.experts.cols * t.length));
      numbers of_expert;
      for (std::ptrdiff_t i = first; i < first + t.length; ++i) {
        const numbers s = row_of(t.scores, i);
        of_expert.push_back(s[e] / row_sum(s));
      }
      p.push_back(token_sum(of_expert, numbers(of_expert.size(), 1)) / tokens);
      shares.push_back(of_expert);
    }
    const float alpha = to_float(t.alpha);
    out.losses(first / t.length, 0) = to_bits(alpha * dot(f, p));
    numbers c;
    for (const float x : f) c.push_back(alpha * x / tokens);
    for (std::ptrdiff_t i = first; i < first + t.length; ++i) {
      const numbers s = row_of(t.scores, i);
      const float sum = row_sum(s);
      numbers share, d;
      for (const auto& of_expert : shares) {
        share.push_back(of_expert[static_cast<std::size_t>(i - first)]);
      }
      const float a = dot(c, share);
      for (const float x : c) d.push_back((x - a) / sum);
      const float g = dot(d, s);
      for (std::size_t e = 0; e < n; ++e) {
        const bool softmax = t.score == router_score::softmax;
        out.dlogits(i, static_cast<std::ptrdiff_t>(e)) =
            to_bits(softmax ? s[e] * (d[e] - g) : d[e] * s[e] * (1 - s[e]));
      }
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
