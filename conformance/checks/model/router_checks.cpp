// Holds the router, the plan of experts' rows and gradients through slots
// against the oracle.

#include <fmt/format.h>

#include <algorithm>

#include "conformance/checks/model/model_parts.hpp"

namespace zeroulp::conformance {
namespace {

struct router_case {
  router r;
  int experts;
};

router_case any_router(counter_rng& rng) {
  static constexpr int expert_counts[] = {1, 2, 4, 8, 16, 24, 64, 256};
  const int experts = expert_counts[rng.below(std::size(expert_counts))];
  int groups = 1 << rng.between(0, 3);
  while (experts % groups != 0) groups /= 2;
  router r;
  r.score = rng.one_in(2) ? router_score::sigmoid : router_score::softmax;
  r.groups = groups;
  r.kept = rng.between(1, groups);
  r.of_group = rng.one_in(2) ? group_score::top2_sum : group_score::max;
  const int open = experts / groups * static_cast<int>(r.kept);
  r.top = rng.one_in(6) ? open : rng.between(1, std::min(open, 8));
  r.normalized = rng.one_in(2);
  r.scale = rng.one_in(2) ? 0x3f800000 : any_factor(rng);
  return {r, experts};
}

/// Ties, specials, zeros of both signs, or numbers of every kind.
grid any_router_logits(std::ptrdiff_t m, std::ptrdiff_t n, counter_rng& rng) {
  static constexpr std::uint32_t few[] = {0x3f800000, 0xbf800000, 0,
                                          0x80000000, 0x40000000, 0x3f000000};
  static constexpr std::uint32_t specials[] = {
      0x7fffffff, 0xffc00000, 0x7f800001, 0x7f800000,
      0xff800000, 0x80000000, 0x00000001, 0x7f7fffff};
  // Their sigmoids are 0 and the least numbers above it.
  static constexpr std::uint32_t least[] = {0xff800000, 0xc2d00000, 0xc2cf0000,
                                            0xc2ce0000};
  const auto kind = rng.below(7);
  if (kind < 2) return bell_shaped(fp32, m, n, kind == 0 ? 0 : 5, rng);
  if (kind == 2) return any_numbers(fp32, m, n, rng);
  grid z = bell_shaped(fp32, m, n, 0, rng);
  for (auto& word : z.words) {
    if (kind == 3) word = few[rng.below(std::size(few))];
    if (kind == 4 && rng.one_in(4)) {
      word = specials[rng.below(std::size(specials))];
    }
    if (kind == 5 && rng.one_in(2)) word = specials[rng.below(6)];
    if (kind == 6) word = least[rng.below(4)];
  }
  return z;
}

/// None, small ones, ones that reverse the order, or special ones.
grid any_bias(int experts, counter_rng& rng) {
  grid bias(1, experts);
  switch (rng.below(6)) {
    case 0:
      return {};
    case 5:
      for (auto& word : bias.words) {
        static constexpr std::uint32_t specials[] = {0x7f800000, 0xff800000,
                                                     0x7fffffff, 0x7f7fffff};
        if (rng.one_in(3)) word = specials[rng.below(4)];
      }
      return bias;
    case 1:
      for (int e = 0; e < experts; ++e) {
        bias(0, e) = code_near(fp32, static_cast<double>(e));
      }
      return bias;
    case 2:
      for (auto& word : bias.words) word = rng.below(2) << 31;
      return bias;
    case 3:
      return any_numbers(fp32, 1, experts, rng);
    default:
      return bell_shaped(fp32, 1, experts, -3, rng);
  }
}

std::string describe_router(const model_functions& t, const char* what,
                            const router_case& c, std::ptrdiff_t m) {
  return fmt::format(
      "{}: {} of {} x {}, {}, top {}, {} groups by {}, {} kept{}", t.name, what,
      m, c.experts, c.r.score == router_score::sigmoid ? "sigmoid" : "softmax",
      c.r.top, c.r.groups,
      c.r.of_group == group_score::max ? "max" : "top2_sum", c.r.kept,
      c.r.normalized ? ", normalized" : "");
}

/// Choices of experts, some of which nobody chooses.
grid any_choice(std::ptrdiff_t m, std::ptrdiff_t top, int experts,
                counter_rng& rng) {
  grid x(m, top);
  const int used = rng.between(1, experts);
  const int from = rng.between(0, experts - used);
  for (auto& word : x.words) {
    word = static_cast<std::uint32_t>(from + rng.between(0, used - 1));
  }
  return x;
}

}  // namespace

verdict router_choices(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(t, e, 300, [&](counter_rng& rng, auto, verdict& v) {
    const router_case c = any_router(rng);
    const int m = c.experts > 64 ? 2 : rng.between(1, 5);
    const grid logits = any_router_logits(m, c.experts, rng);
    const grid bias = any_bias(c.experts, rng);
    const auto want = oracle::route(c.r, logits, bias);
    word_rows z(logits, rng), b(bias, rng), scores(m, c.experts, rng),
        weights(m, c.r.top, rng);
    // What stands there before may be an expert, too.
    index_rows experts(any_choice(m, c.r.top, c.experts, rng), rng);
    std::vector<std::uint32_t> work(
        static_cast<std::size_t>(m * 4 * (c.experts + c.r.groups)));
    routing rows{
        z.input(),      {},
        scores.view(),  experts.view(),
        weights.view(), {work.data(), m, 4 * (c.experts + c.r.groups)}};
    if (bias.rows > 0) rows.bias = b.input();
    t.route(c.r, rows);
    const auto describe = [&] {
      return describe_router(t, "route", c, m) +
             (bias.rows > 0 ? ", biased" : "");
    };
    count_output(v, scores, want.scores, "score ", describe);
    count_output(v, experts, want.experts, "expert ", describe);
    count_output(v, weights, want.weights, "weight ", describe);
  });
}

verdict router_gradients(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(t, e, 300, [&](counter_rng& rng, auto, verdict& v) {
    const router_case c = any_router(rng);
    const int m = c.experts > 64 ? 2 : rng.between(1, 5);
    const auto forward = oracle::route(
        c.r, any_router_logits(m, c.experts, rng), any_bias(c.experts, rng));
    const grid dweights = any_numbers(fp32, m, c.r.top, rng);
    word_rows scores(forward.scores, rng), h(dweights, rng),
        dz(m, c.experts, rng);
    index_rows experts(forward.experts, rng);
    t.route_backward(c.r,
                     {scores.input(), experts.input(), h.input(), dz.view()});
    count_output(
        v, dz,
        oracle::route_backward(c.r, forward.scores, forward.experts, dweights),
        "dlogit ", [&] { return describe_router(t, "route_backward", c, m); });
  });
}

verdict bias_updates(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(t, e, 100, [&](counter_rng& rng, auto, verdict& v) {
    const int experts = rng.between(1, 40);
    const int m = rng.between(0, 20);
    const int top = rng.between(1, 8);
    // At times in turn, so that counts are equal.
    grid chosen = any_choice(m, top, experts, rng);
    if (rng.one_in(3)) {
      for (std::size_t at = 0; at < chosen.words.size(); ++at) {
        chosen.words[at] = static_cast<std::uint32_t>(at) %
                           static_cast<std::uint32_t>(experts);
      }
    }
    const grid bias = any_numbers(fp32, 1, experts, rng);
    const std::uint32_t speed = rng.one_in(4) ? any_factor(rng) : 0x3a83126f;
    const auto want = oracle::updated_bias(chosen, speed, bias);
    index_rows in(chosen, rng);
    word_rows out(bias, rng);
    t.update_bias(in.input(), speed, out.view());
    count_output(v, out, want, "bias ", [&] {
      return fmt::format("{}: update_bias of {} experts, {} x {} slots", t.name,
                         experts, m, top);
    });
  });
}

verdict expert_plans(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(t, e, 200, [&](counter_rng& rng, auto, verdict& v) {
    static constexpr int aligns[] = {1, 8, 128};
    const int experts = rng.between(1, 30);
    const int align = aligns[rng.below(3)];
    const int m = rng.one_in(8) ? 0 : rng.between(1, 200);
    const int top = rng.between(1, std::min(8, experts));
    const grid chosen = any_choice(m, top, experts, rng);
    const std::ptrdiff_t capacity =
        plan_capacity(m * top, experts, align) + rng.between(0, 3);
    const auto want = oracle::plan(chosen, experts, align, capacity);
    index_rows in(chosen, rng), rows(capacity, 1, rng), slots(m, top, rng),
        ends(experts + 1, 1, rng);
    t.make_plan({in.input(), align, rows.view(), slots.view(), ends.view()});
    const auto describe = [&] {
      return fmt::format("{}: make_plan of {} experts, {} x {} slots, align {}",
                         t.name, experts, m, top, align);
    };
    count_output(v, ends, want.ends, "end ", describe);
    count_output(v, slots, want.slots, "slot ", describe);
    count_output(v, rows, want.rows, "row ", describe);
  });
}

verdict slot_gradients_of(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(t, e, 60, [&](counter_rng& rng, auto, verdict& v) {
    static constexpr int widths[] = {1,   7,    8,    9,    100,  255,
                                     264, 1029, 2048, 2049, 8192, 8193};
    const int n = widths[rng.below(std::size(widths))];
    const int experts = rng.between(1, 6);
    const int top = rng.between(1, std::min(3, experts));
    const int m = rng.between(0, n > 255 ? 2 : 9);
    const int align = rng.one_in(2) ? 1 : 4;
    const auto count = plan_capacity(m * top, experts, align);
    auto plan =
        oracle::plan(any_choice(m, top, experts, rng), experts, align, count);
    for (auto& slot : plan.slots.words) {
      if (rng.one_in(6)) slot = 0xffffffff;
    }
    const grid dy = any_numbers(bf16, m, n, rng);
    const grid y = any_numbers(bf16, count, n, rng);
    const grid weights = any_numbers(fp32, m, top, rng);
    const auto want = oracle::slot_backward(dy, plan.slots, weights, y);
    bf16_rows in_dy(dy, rng), in_y(y, rng), d_rows(count, n, rng);
    index_rows slots(plan.slots, rng);
    word_rows in_weights(weights, rng), dweights(m, top, rng);
    const bool of_rows = !rng.one_in(4);
    const bool of_weights = !of_rows || !rng.one_in(4);
    slot_gradients g{
        in_dy.input(), slots.input(), in_weights.input(), {}, {}, {}};
    if (of_rows) g.d_rows = d_rows.view();
    if (of_weights) {
      g.y = in_y.input();
      g.dweights = dweights.view();
    }
    t.slot_backward(g);
    const auto describe = [&] {
      return fmt::format("{}: slot_backward of {} x {}, {} slots, {} rows",
                         t.name, m, n, top, count);
    };
    if (of_rows) count_output(v, d_rows, want.d_rows, "d_row ", describe);
    if (of_weights) {
      count_output(v, dweights, want.dweights, "dweight ", describe);
    }
  });
}

namespace {

/// Scores, and who is chosen.
struct balance_tokens {
  grid scores, experts;
};

/// The expert that all choose has shares of 2^-149 or 0, 128 of them 2^-149. Of
/// 257 tokens their mean is just below half of it: one more, and it is 2^-149.
balance_tokens faint_shares() {
  balance_tokens t{grid(257, 2), grid(257, 1)};
  for (std::ptrdiff_t i = 0; i < 257; ++i) {
    t.scores(i, 0) = i < 128 ? 1 : 0;
    t.scores(i, 1) = 0x3f800000;
  }
  return t;
}

}  // namespace

verdict balance_losses(const model_functions& t, const effort& given) {
  const effort e = within_reason(t, given);
  return for_separate_cases(
      t, e, 60, [&](counter_rng& rng, auto n, verdict& v) {
        static constexpr int lengths[] = {1, 2, 7, 64, 255, 256, 257, 513};
        const int length = lengths[n % std::size(lengths)];
        const bool faint = length == 257 && rng.one_in(2);
        const int experts = faint         ? 2
                            : length > 64 ? rng.between(1, 9)
                                          : rng.between(1, 40);
        const int sequences = length > 64 ? 1 : rng.between(0, 3);
        const int m = length * sequences;
        const int top = faint ? 1 : rng.between(1, std::min(4, experts));
        router r;
        r.score = rng.one_in(2) ? router_score::sigmoid : router_score::softmax;
        // Logits as they come; at times any scores at all.
        const grid logits = any_router_logits(m, experts, rng);
        grid scores = rng.one_in(6) ? any_numbers(fp32, m, experts, rng)
                                    : oracle::route(r, logits, {}).scores;
        grid chosen = any_choice(m, top, experts, rng);
        std::uint32_t alpha = rng.one_in(4) ? 0x38d1b717 : any_factor(rng);
        if (faint) {
          scores = faint_shares().scores;
          chosen = faint_shares().experts;
          alpha = 0x3f800000;
        }
        const auto want =
            oracle::balance({r.score, length, alpha, scores, chosen});
        const word_rows in(scores, rng);
        const index_rows in_chosen(chosen, rng);
        word_rows losses(sequences, 1, rng), dz(m, experts, rng);
        const bool both = !rng.one_in(4);
        balance_rows rows{r.score,           length,        alpha, in.input(),
                          in_chosen.input(), losses.view(), {},    {}};
        if (both) rows.dlogits = dz.view();
        t.balance_loss(rows);
        const auto describe = [&] {
          return fmt::format(
              "{}: balance_loss of {} sequences of {}, {} experts, "
              "top {}",
              t.name, sequences, length, experts, top);
        };
        count_output(v, losses, want.losses, "loss ", describe);
        if (both) count_output(v, dz, want.dlogits, "dlogit ", describe);
      });
}

}  // namespace zeroulp::conformance
