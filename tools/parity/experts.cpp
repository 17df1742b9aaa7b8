// The router and the sum over slots as operators of a chain: a pass has them in
// other shapes than the fuzzer's cases. Source: SPEC clauses N8 to N10, S9.

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/explain/explain.hpp"
#include "src/base/whole_number.hpp"
#include "tools/parity/chain.hpp"
#include "tools/parity/dump.hpp"
#include "tools/parity/problem.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

enum router_operand : std::size_t { logits_of, bias_of, dweights_of };

std::vector<fuzz::operand_spec> router_operands(const problem&) {
  return {{"logits", fp32, {'m', 1}, {'n', 1}},
          {"bias", fp32, {0, 1}, {'n', 1}, true},
          {"dweights", fp32, {'m', 1}, {'k', 1}}};
}

/// The slots are the columns of what the router makes.
void take_slots(problem& p, const chain_operator& o, const dump& types) {
  for (const char* const output : {"experts", "weights"}) {
    const std::string* const tensor = o.makes_as(output);
    if (tensor == nullptr || !types.has(*tensor) || p.top > 0) continue;
    p.top = static_cast<std::int32_t>(types.extent_of(*tensor).cols);
  }
  const auto experts = p.in[logits_of].cols;
  p.top = std::max(p.top, 1);
  if (p.top > experts || experts % p.with.route.groups != 0) {
    throw input_error(
        fmt::format("{} experts have no {} slots of a token, in {} groups",
                    experts, p.top, p.with.route.groups));
  }
  if (p.in[dweights_of].words.empty()) {
    p.in[dweights_of] =
        matrix("dweights", fp32, p.in[logits_of].rows, p.top, 0);
  }
}

void add_router_variants(const problem&, std::vector<rule>& all) {
  const auto add = [&](const char* name, const char* what, auto change) {
    all.push_back(variant(name, what, [change](const problem& p) {
      problem q = p;
      change(q);
      return claimed_outputs(q);
    }));
  };
  add("other scores", "scores are softmax's, not sigmoid's, or the reverse",
      [](problem& q) {
        router& r = q.with.route;
        r.score = r.score == router_score::sigmoid ? router_score::softmax
                                                   : router_score::sigmoid;
      });
  add("shares or scores",
      "weights are shares where scores are claimed, or the "
      "reverse",
      [](problem& q) { q.with.route.normalized = !q.with.route.normalized; });
  add("other groups' score", "groups have the other score", [](problem& q) {
    router& r = q.with.route;
    r.of_group = r.of_group == group_score::max ? group_score::top2_sum
                                                : group_score::max;
  });
  add("no groups", "experts of every group are open",
      [](problem& q) { q.with.route.kept = q.with.route.groups; });
  add("bias lost", "the choice has no bias",
      [](problem& q) { q.in[bias_of] = matrix("bias", fp32, 0, 0); });
  add("weights unscaled", "weights are not scaled",
      [](problem& q) { q.with.route.scale = fp32_one; });
}

void read_top(problem& p, std::string_view text) {
  const auto value = whole_number<std::int32_t>(text);
  if (!value || *value < 1) {
    throw input_error(fmt::format("'{}': use a number from 1 on", text));
  }
  p.top = *value;
}

/// Rows of x are those of experts, in any number.
std::vector<fuzz::operand_spec> combine_operands(const problem&) {
  return {{"x", bf16, {'k', 1}, {'n', 1}},
          {"slots", fuzz::row_word, {'m', 1}, {'s', 1}},
          {"weights", fp32, {'m', 1}, {'s', 1}, true}};
}

/// A slot is a row of x, or none.
void check_slots(problem& p, const chain_operator&, const dump&) {
  const auto rows = static_cast<std::uint64_t>(p.in[0].rows);
  const matrix& slots = p.in[1];
  for (std::size_t i = 0; i < slots.words.size(); ++i) {
    if (slots.words[i] <= rows) continue;
    const auto cols = static_cast<std::size_t>(slots.cols);
    throw input_error(fmt::format(
        "slots({}, {}) is row {} of x, which has {}: use -1 for none", i / cols,
        i % cols, slots.words[i] - 1, rows));
  }
}

/// The slots of each token, and their weights, in another order.
template <class Before>
problem reordered(const problem& p, const Before& before) {
  problem q = p;
  matrix& slots = q.in[1];
  matrix& weights = q.in[2];
  for (std::ptrdiff_t i = 0; i < slots.rows; ++i) {
    std::vector<std::ptrdiff_t> at(static_cast<std::size_t>(slots.cols));
    for (std::size_t s = 0; s < at.size(); ++s) {
      at[s] = static_cast<std::ptrdiff_t>(s);
    }
    std::stable_sort(at.begin(), at.end(), [&](auto a, auto b) {
      return before(p.in[1](i, a), p.in[1](i, b));
    });
    for (std::ptrdiff_t s = 0; s < slots.cols; ++s) {
      slots(i, s) = p.in[1](i, at[static_cast<std::size_t>(s)]);
      if (weights.words.empty()) continue;
      weights(i, s) = p.in[2](i, at[static_cast<std::size_t>(s)]);
    }
  }
  return q;
}

void add_combine_variants(const problem&, std::vector<rule>& all) {
  const auto add = [&](std::string name, std::string what, change of,
                       auto changed) {
    all.push_back(variant(
        std::move(name), std::move(what),
        [changed](const problem& p) { return claimed_outputs(changed(p)); },
        of));
  };
  add("slots by expert", "slots are added in the order of their rows",
      change::order, [](const problem& p) {
        return reordered(p, [](auto a, auto b) { return a < b; });
      });
  add("slots by expert, last first",
      "slots are added in the order of their rows, from the last on",
      change::order, [](const problem& p) {
        return reordered(p, [](auto a, auto b) { return a > b; });
      });
  add("weights lost", "slots are added without weights", change::more,
      [](problem p) {
        p.in[2] = matrix("weights", fp32, 0, 0);
        return p;
      });
  add("first slot alone", "the other slots are left out", change::more,
      [](problem p) {
        for (std::ptrdiff_t i = 0; i < p.in[1].rows; ++i) {
          for (std::ptrdiff_t s = 1; s < p.in[1].cols; ++s) p.in[1](i, s) = 0;
        }
        return p;
      });
  add("last slot lost", "the last slot is left out", change::more,
      [](problem p) {
        const auto last = p.in[1].cols - 1;
        for (std::ptrdiff_t i = 0; i < p.in[1].rows; ++i) p.in[1](i, last) = 0;
        return p;
      });
  for (const auto& [name, sum] : named_combine_rules) {
    add(fmt::format("sum {}", name),
        fmt::format("slots are summed as {}", name), change::more,
        [sum = sum](problem p) {
          p.with.sum = sum;
          return p;
        });
  }
}

}  // namespace

operator_kind route_kind() {
  operator_kind k;
  k.name = "route";
  k.of = fuzz::target::route;
  k.settings = {{"top", read_top}};
  k.operands = router_operands;
  k.complete = take_slots;
  k.add_variants = add_router_variants;
  return k;
}

operator_kind combine_kind() {
  operator_kind k;
  k.name = "combine";
  k.of = fuzz::target::combine;
  k.operands = combine_operands;
  k.complete = check_slots;
  k.add_variants = add_combine_variants;
  return k;
}

}  // namespace zeroulp::parity
