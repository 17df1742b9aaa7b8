// What routers, plans and slots of experts say of shapes, indices and settings
// that do not fit, and what they take at the limits.

#include "conformance/tests/engine/model_refusal_parts.hpp"

namespace zeroulp::conformance::model_refusals {

void requests::routers() {
  struct forward {
    router r;
    codes_in logits, bias;
    codes_out scores, weights;
    matrix_view<std::int32_t> experts;
  };
  const forward usual{
      {router_score::sigmoid, 2, 2, 1, group_score::max, true, fp32_one},
      {word, 3, 6},
      {word, 1, 6},
      {out, 3, 6},
      {out + 100, 3, 2},
      {out_index, 3, 2}};
  const auto call = [&](const forward& x) {
    f.route(x.r, {x.logits, x.bias, x.scores, x.experts, x.weights, {}});
  };
  one(
      usual, call, [](auto&) {}, "");
  one(
      usual, call, [](forward& x) { x.bias = {}; }, "");
  shapes(usual, call, &forward::logits, "route, logits", false, false, true);
  shapes(usual, call, &forward::bias, "route, bias", true, true, true);
  shapes(usual, call, &forward::scores, "route, scores", true, true, true);
  shapes(usual, call, &forward::experts, "route, experts", true, true, true);
  shapes(usual, call, &forward::weights, "route, weights", true, true, true);
  struct backward {
    router r;
    codes_in scores, dweights;
    codes_out dlogits;
    matrix_view<const std::int32_t> experts;
  };
  const backward back{
      usual.r, {word, 3, 6}, {word, 3, 2}, {out, 3, 6}, {index, 3, 2}};
  const auto call_back = [&](const backward& x) {
    f.route_backward(x.r, {x.scores, x.experts, x.dweights, x.dlogits});
  };
  const std::string name = "route_backward, ";
  one(
      back, call_back, [](auto&) {}, "");
  shapes(back, call_back, &backward::scores, name + "scores", false, false,
         true);
  shapes(back, call_back, &backward::experts, name + "experts", true, true,
         true);
  shapes(back, call_back, &backward::dweights, name + "dweights", true, true,
         true);
  shapes(back, call_back, &backward::dlogits, name + "dlogits", true, true,
         true);
  // Each place of an index, and both ends of the range.
  places(back, call_back, name + "experts", {0, 1, 2, 3, 4, 5}, 2, 0, 5);
  // Settings that no router has: {top, groups, kept}, experts.
  struct row {
    int top, groups, kept, experts;
    bool right;
  };
  static constexpr row rows[] = {
      {0, 1, 1, 6, false}, {-1, 1, 1, 6, false}, {7, 1, 1, 6, false},
      {6, 1, 1, 6, true},  {4, 2, 1, 6, false},  {3, 2, 1, 6, true},
      {4, 2, 2, 6, true},  {1, 0, 1, 6, false},  {1, -1, 1, 6, false},
      {1, 4, 1, 6, false}, {1, 2, 0, 6, false},  {1, 2, -1, 6, false},
      {1, 2, 3, 6, false}, {1, 1, 1, 1, true},   {1, 1, 1, 0, false},
      {6, 6, 6, 6, true},  {7, 6, 6, 6, false},  {5, 5, 5, 6, false},
      {1, 6, 1, 6, true},  {6, 3, 3, 6, true}};
  for (const row& s : rows) {
    const auto with = [&](auto& x) {
      x.r.top = s.top;
      x.r.groups = s.groups;
      x.r.kept = s.kept;
    };
    const std::string what =
        s.right ? ""
                : fmt::format("{} experts in {} groups", s.experts, s.groups);
    one(
        usual, call,
        [&](forward& x) {
          with(x);
          x.logits = {word, 3, s.experts};
          x.bias = {};
          x.scores = {out, 3, s.experts};
          x.experts = {out_index, 3, s.top};
          x.weights = {out + 100, 3, s.top};
        },
        s.right ? "" : "route: " + what);
    one(
        back, call_back,
        [&](backward& x) {
          with(x);
          x.scores = {word, 3, s.experts};
          x.dlogits = {out, 3, s.experts};
          x.experts = {index, 3, s.top};
          x.dweights = {word, 3, s.top};
        },
        s.right ? "" : "route_backward: " + what);
  }
}

void requests::biases() {
  struct update {
    slots_in experts;
    codes_out bias;
  };
  const update usual{{index, 3, 2}, {out, 1, 4}};
  const auto call = [&](const update& x) {
    f.update_bias(x.experts, fp32_one, x.bias);
  };
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &update::bias, "update_bias, bias", true, false, false);
  places(usual, call, "update_bias, experts", {0, 5}, 2, 0, 3);
}

void requests::balances() {
  using t = balance_rows;
  // Two sequences of 3 tokens, 4 experts, 2 slots a token.
  const t usual{
      router_score::sigmoid, 3,           fp32_one,          {word, 6, 4},
      {index, 6, 2},         {out, 2, 1}, {out + 100, 6, 4}, {}};
  const auto& call = f.balance_loss;
  const std::string name = "balance_loss, ";
  one(
      usual, call, [](auto&) {}, "");
  one(
      usual, call, [](t& x) { x.dlogits = {}; }, "");
  shapes(usual, call, &t::scores, name + "scores", false, false, true);
  shapes(usual, call, &t::experts, name + "experts", true, false, true);
  shapes(usual, call, &t::losses, name + "losses", true, true, false);
  shapes(usual, call, &t::dlogits, name + "dlogits", true, true, true);
  places(usual, call, name + "experts", {0, 1, 5, 11}, 2, 0, 3);
  const auto lengths = [&](std::ptrdiff_t m, std::ptrdiff_t length,
                           bool whole) {
    one(
        usual, call,
        [&](t& x) {
          x.length = length;
          x.scores.rows = x.experts.rows = x.dlogits.rows = m;
          x.losses.rows = length > 0 ? m / length : 0;
        },
        whole ? ""
              : fmt::format("balance_loss: {} tokens in sequences of {}", m,
                            length));
  };
  lengths(6, 1, true);
  lengths(6, 6, true);
  lengths(0, 3, true);
  lengths(0, 1, true);
  lengths(5, 3, false);
  lengths(7, 3, false);
  lengths(6, 0, false);
  lengths(0, 0, false);
  lengths(6, -1, false);
  lengths(6, -3, false);
  const auto counts = [&](std::ptrdiff_t experts, std::ptrdiff_t top,
                          bool right) {
    one(
        usual, call,
        [&](t& x) {
          x.scores.cols = x.dlogits.cols = experts;
          x.experts.cols = top;
        },
        right ? "" : "balance_loss: no experts, or none chosen");
  };
  counts(1, 1, true);
  counts(4, 1, true);
  counts(4, 0, false);
  counts(0, 0, false);
  counts(0, 1, false);
}

void requests::plans() {
  using t = expert_plan;
  // 6 slots, 4 experts, rows aligned to 2.
  const t usual{
      {index, 3, 2}, 2, {out_index, 10, 1}, {slots, 3, 2}, {ends, 5, 1}};
  const auto& call = f.make_plan;
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &t::slots, "make_plan, slots", true, true, false);
  shapes(usual, call, &t::ends, "make_plan, ends", false, true, false);
  for (const int rows : {9, 0}) {
    one(
        usual, call, [&](t& p) { p.rows.rows = rows; },
        fmt::format("make_plan, rows: {} x 1, but 10 x 1 hold", rows));
  }
  for (const int cols : {0, 2}) {
    one(
        usual, call, [&](t& p) { p.rows.cols = cols; },
        fmt::format("make_plan, rows: 10 x {}, but", cols));
  }
  one(
      usual, call, [](t& p) { p.rows.rows = 11; }, "");
  for (const std::ptrdiff_t align :
       {std::ptrdiff_t{0}, std::ptrdiff_t{-1}, std::ptrdiff_t{0x80000000}}) {
    one(
        usual, call, [&](t& p) { p.align = align; },
        "make_plan: rows are aligned to 1 or more");
  }
  one(
      usual, call, [](t& p) { p.align = 1; }, "");
  one(
      usual, call, [](t& p) { p.align = 0x7fffffff; },
      "make_plan, rows: 10 x 1, but 8589934590 x 1 hold");
  one(
      usual, call, [](t& p) { p.ends.rows = 0; },
      "make_plan: rows are aligned to 1 or more");
  // 2^31 rows: no memory is touched.
  one(
      usual, call,
      [](t& p) {
        p.align = 0x7ffffffb;
        p.ends.rows = 2;
        p.rows.rows = std::ptrdiff_t{1} << 32;
      },
      "make_plan: more rows than 2^31 - 1");
  // No experts: no slots.
  one(
      usual, call,
      [](t& p) {
        p.ends.rows = 1;
        p.experts.rows = p.slots.rows = 0;
      },
      "");
  one(
      usual, call,
      [](t& p) {
        p.ends.rows = 1;
        p.experts.cols = p.slots.cols = 0;
      },
      "");
  one(
      usual, call, [](t& p) { p.ends.rows = 1; },
      "make_plan, experts (0, 0): 0, but 0 to -1");
  places(usual, call, "make_plan, experts", {0, 5}, 2, 0, 3);
}

void requests::slot_gradients_of() {
  using t = slot_gradients;
  // Slots of rows 0 to 5 of 7.
  const t usual{{half, 3, 4}, {slots, 3, 2},    {word, 3, 2},
                {half, 7, 4}, {out_half, 7, 4}, {out, 3, 2}};
  for (int i = 0; i < 6; ++i) slots[i] = i;
  const auto& call = f.slot_backward;
  const std::string name = "slot_backward, ";
  one(
      usual, call, [](auto&) {}, "");
  shapes(usual, call, &t::dy, name + "dy", false, false, true);
  shapes(usual, call, &t::slots, name + "slots", true, false, false);
  shapes(usual, call, &t::weights, name + "weights", true, true, false);
  shapes(usual, call, &t::y, name + "y", true, true, true);
  shapes(usual, call, &t::d_rows, name + "rows of gradients", false, true,
         true);
  shapes(usual, call, &t::dweights, name + "gradients of weights", true, true,
         false);
  const auto without_rows = [](t& x) { x.d_rows = {}; };
  const auto without_weights = [](t& x) {
    x.y = {};
    x.dweights = {};
  };
  one(usual, call, without_rows, "");
  one(usual, call, without_weights, "");
  // Nothing to write: indices are not read.
  slots[0] = 99;
  one(
      usual, call,
      [&](t& x) {
        without_rows(x);
        without_weights(x);
      },
      "");
  slots[0] = 0;
  for (const auto& change : {std::function<void(t&)>([](t&) {}),
                             std::function<void(t&)>(without_rows),
                             std::function<void(t&)>(without_weights)}) {
    for (const int at : {0, 5}) {
      for (const int value : {-2, 7}) {
        slots[at] = value;
        one(usual, call, change,
            fmt::format("{}slots ({}, {}): {}, but -1 to 6 are there", name,
                        at / 2, at % 2, value));
      }
      for (const int value : {-1, 6, at}) {
        slots[at] = value;
        one(usual, call, change, "");
      }
    }
  }
  // A row of two slots, where rows are written.
  for (const int row : {0, 4}) {
    const int at = row == 0 ? 5 : 0;
    slots[at] = row;
    const auto both =
        fmt::format("{}slots ({}, {}): row {} is another slot's", name,
                    row == 0 ? 2 : 2, row == 0 ? 1 : 0, row);
    one(
        usual, call, [](auto&) {}, both);
    one(usual, call, without_rows, "");
    slots[at] = at;
  }
  slots[0] = slots[5] = -1;
  one(
      usual, call, [](auto&) {}, "");
}

}  // namespace zeroulp::conformance::model_refusals
