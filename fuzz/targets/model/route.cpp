// Defines the target `route`: the choice of experts under a total order, the
// weights, and the gradient of the logits. Source: SPEC clauses N8 to N11.

#include <algorithm>
#include <numeric>

#include "fuzz/targets/model/model_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  normal,
  ties,    ///< logits of few values
  zeros,   ///< biased scores of zero
  nan,     ///< with NaN and Inf strewn in
  groups,  ///< groups of equal score
  any_bits,
};

void draw(settings& s, counter_rng& rng) {
  constexpr int counts[] = {1, 1, 2, 3, 4, 8};
  router& r = s.route;
  r.score = rng.one_in(2) ? router_score::sigmoid : router_score::softmax;
  r.of_group = rng.one_in(2) ? group_score::top2_sum : group_score::max;
  r.groups = one_of(counts, rng);
  r.kept = rng.between(1, static_cast<int>(r.groups));
  r.normalized = rng.one_in(2);
  r.scale = rng.one_in(2) ? fp32_one : 0x40200000 + (rng.next32() >> 12);
  s.place = draw_rows(rng);
}

std::string refuse(const settings& s) {
  if (s.route.kept > s.route.groups) {
    return "kept is at most the number of groups";
  }
  return refuse_rows(s);
}

std::vector<operand_spec> operands_of(const settings&) {
  const axis one{0, 1};
  return {{"logits", fp32, {'m', 1}, {'n', 1}},
          {"bias", fp32, one, {'n', 1}, true},
          {"dweights", fp32, {'m', 1}, {'k', 1}}};
}

/// Numbers of N(0, 1), nearly; BF16 ones, which are often alike, if asked for.
void fill_normal(matrix& x, bool short_ones, counter_rng& rng) {
  for (auto& word : x.words) {
    word = code_at(fp32, -1 - static_cast<int>(rng.below(4) * rng.below(2)),
                   rng.next() >> 41);
    if (rng.one_in(3)) word = code_at(fp32, 0, rng.next() >> 41);
    word = with_any_sign(fp32, word, rng);
    if (short_ones) word &= 0xffff0000;
  }
}

/// The experts of each group are those of the first, in another order.
void repeat_groups(matrix& x, std::ptrdiff_t groups, counter_rng& rng) {
  const std::ptrdiff_t each = x.cols / groups;
  for (std::ptrdiff_t t = 0; t < x.rows; ++t) {
    for (std::ptrdiff_t g = 1; g < groups; ++g) {
      const auto from = static_cast<std::ptrdiff_t>(
          rng.below(static_cast<std::uint32_t>(each)));
      for (std::ptrdiff_t e = 0; e < each; ++e) {
        x(t, g * each + e) = x(t, (e + from) % each);
      }
    }
  }
}

/// Biases that leave zeros of the scores, at times of either sign.
void cancel_scores(problem& p, counter_rng& rng) {
  matrix& logits = p.in[0];
  matrix& bias = p.in[1];
  // sigmoid(0) is 0.5; scores of very negative logits are 0.
  for (auto& word : logits.words) word = rng.one_in(3) ? 0xc3480000 : 0;
  for (auto& word : bias.words) {
    constexpr std::uint32_t some[] = {0xbf000000, 0x80000000, 0, 0xbf000001};
    word = one_of(some, rng);
  }
}

void fill_bias(matrix& bias, profile how, counter_rng& rng) {
  if (how == profile::any_bits) return fill_any(bias, rng);
  fill_about(bias, rng.one_in(2) ? -3 : 0, 2, rng);
  if (how == profile::ties) {
    for (auto& word : bias.words) word = rng.below(2) << 30;
  }
  if (how == profile::nan) strew_kinds(bias, 8, rng);
}

void fill(problem& p, int by, counter_rng& rng) {
  const auto how = static_cast<profile>(by);
  const router& r = p.with.route;
  const int each = rng.one_in(24) ? 32 : rng.between(1, 6);
  const auto n = r.groups * each;
  const std::ptrdiff_t open = each * r.kept;
  const std::ptrdiff_t k =
      rng.one_in(6)
          ? open
          : rng.between(1, static_cast<int>(std::min<std::ptrdiff_t>(open, 8)));
  const std::ptrdiff_t m = rng.one_in(32) ? 0 : rng.between(1, 3);
  const bool biased = how == profile::zeros || rng.one_in(2);
  make_operands(p, m, n, k, biased ? 0 : 1u << 1);
  matrix& logits = p.in[0];
  fill_normal(logits, rng.one_in(2), rng);
  if (how == profile::ties) {
    constexpr std::uint32_t few[] = {0x3f800000, 0xbf800000, 0,
                                     0x80000000, 0x40000000, 0xff800000};
    for (auto& word : logits.words) word = one_of(few, rng);
  }
  if (how == profile::nan) strew_kinds(logits, rng.one_in(2) ? 2 : 6, rng);
  if (how == profile::any_bits) fill_any(logits, rng);
  // Scores that underflow, to subnormals and zeros.
  if (rng.one_in(12)) fill_about(logits, 6, 1, rng);
  if (biased) fill_bias(p.in[1], how, rng);
  if (how == profile::zeros) cancel_scores(p, rng);
  if (how == profile::groups) {
    repeat_groups(logits, r.groups, rng);
    if (biased) repeat_groups(p.in[1], r.groups, rng);
  }
  fill_about(p.in[2], 0, rng.one_in(2) ? 2 : 12, rng);
  if (how == profile::nan) strew_kinds(p.in[2], 8, rng);
  if (how == profile::any_bits) fill_any(p.in[2], rng);
}

std::string clauses(const problem&, std::string_view output) {
  if (output == "scores") return "N1 N8 E2 E3";
  if (output == "experts") return "N9";
  return output == "weights" ? "N10" : "N11";
}

/// How the last number that was chosen and the first that was not compare.
enum class limit : std::uint8_t { none, apart, tie, zeros, nan };

enum family { choices, experts_left, groups_left, weights, gradients };

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    const bin_axis scores{"score", {"sigmoid", "softmax"}};
    const bin_axis normalized{"normalized", {"no", "yes"}};
    const bin_axis rules{"group_score", {"top2_sum", "max"}};
    t.add({scores, normalized, {"bias", {"no", "yes"}}});
    t.add({{"next", {"none", "apart", "tie", "zeros", "nan"}},
           {"groups", {"one", "all", "some"}}});
    t.add({{"next_group", {"none", "apart", "tie", "zeros", "nan"}}, rules});
    t.add({plain_axis("weight"), scores, normalized},
          [](const bin_table::combination& at) { return at[0] != 3; });
    t.add({plain_axis("dlogit"), scores});
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

bool is_nan(std::uint64_t word) { return (word & 0x7fffffff) > 0x7f800000; }
bool is_zero(std::uint64_t word) { return (word & 0x7fffffff) == 0; }

/// `numbers` of which `count` are chosen, in the order of N9.
limit limit_of(std::vector<std::uint32_t> numbers, std::ptrdiff_t count) {
  const auto at = static_cast<std::size_t>(count);
  if (numbers.size() <= at) return limit::none;
  std::stable_sort(numbers.begin(), numbers.end(),
                   [](std::uint32_t a, std::uint32_t b) {
                     return detail::rank_of(a) > detail::rank_of(b);
                   });
  const auto last = numbers[at - 1], next = numbers[at];
  if (is_nan(next)) return limit::nan;
  if (is_zero(last) && is_zero(next)) return limit::zeros;
  return last == next ? limit::tie : limit::apart;
}

/// Where the choice of token `t` ends, among experts and among groups.
struct limits {
  limit experts, groups;
};

limits limits_of(const problem& p, const matrix& scores, std::ptrdiff_t t) {
  const router r = router_of(p);
  const matrix& bias = p.in[1];
  const std::ptrdiff_t each = scores.cols / r.groups;
  const auto number = [&](std::ptrdiff_t e) {
    const auto score = static_cast<std::uint32_t>(scores(t, e));
    return bias.rows == 0
               ? score
               : static_cast<std::uint32_t>(add(fp32, score, bias(0, e)));
  };
  std::vector<std::uint32_t> groups;
  for (std::ptrdiff_t g = 0; g < r.groups; ++g) {
    std::vector<std::uint32_t> b;
    for (std::ptrdiff_t e = 0; e < each; ++e) b.push_back(number(g * each + e));
    std::stable_sort(b.begin(), b.end(), [](std::uint32_t x, std::uint32_t y) {
      return detail::rank_of(x) > detail::rank_of(y);
    });
    const bool two = r.of_group == group_score::top2_sum && each > 1;
    groups.push_back(two ? static_cast<std::uint32_t>(add(fp32, b[0], b[1]))
                         : b[0]);
  }
  std::vector<std::ptrdiff_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto x, auto y) {
    return detail::rank_of(groups[static_cast<std::size_t>(x)]) >
           detail::rank_of(groups[static_cast<std::size_t>(y)]);
  });
  std::vector<std::uint32_t> open;
  for (std::ptrdiff_t g = 0; g < r.kept; ++g) {
    const std::ptrdiff_t from = order[static_cast<std::size_t>(g)] * each;
    for (std::ptrdiff_t e = 0; e < each; ++e) open.push_back(number(from + e));
  }
  return {limit_of(open, r.top), limit_of(groups, r.kept)};
}

void cover(const problem& p, const outputs& right, bin_counts counts) {
  const matrix& scores = output_of(right, "scores");
  if (scores.words.empty()) return;
  const router r = router_of(p);
  const int biased = p.in[1].rows > 0 ? 1 : 0;
  const int normalized = r.normalized ? 1 : 0;
  table().hit(counts, choices, r.score, normalized, biased);
  const int open = r.groups == 1 ? 0 : r.kept == r.groups ? 1 : 2;
  const limits at = limits_of(p, scores, 0);
  table().hit(counts, experts_left, at.experts, open);
  table().hit(counts, groups_left, at.groups, r.of_group);
  const auto sample = [&](const char* name, auto use) {
    const matrix& x = output_of(right, name);
    const auto size = static_cast<std::ptrdiff_t>(x.words.size());
    for_each_sampled(size, 6, [&](std::ptrdiff_t n) {
      use(plain_kind(fp32, x.words[static_cast<std::size_t>(n)]));
    });
  };
  sample("weights", [&](int kind) {
    table().hit(counts, weights, kind, r.score, normalized);
  });
  sample("dlogits",
         [&](int kind) { table().hit(counts, gradients, kind, r.score); });
}

}  // namespace

target_info route_info() {
  return {target::route,
          "route",
          "a router: experts, weights, and the gradient of the logits",
          {"score", "groups", "kept", "group_score", "normalized",
           "route_scale", "place"},
          {"normal", "ties", "zeros", "nan", "groups", "any_bits"},
          draw,
          refuse,
          operands_of,
          fill,
          run_route,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
