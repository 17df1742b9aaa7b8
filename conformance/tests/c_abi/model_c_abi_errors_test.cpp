// The C ABI's operators of a training step refuse what does not fit before they
// write anything.

#include <cmath>
#include <limits>

#include "conformance/tests/c_abi/model_arguments.hpp"

namespace zeroulp {
namespace {

using model_spoil = std::function<void(model_arguments&)>;

void expect_refused(const model_call& f, const model_spoil& change,
                    const std::string& text) {
  model_arguments a, before;
  change(before);
  change(a);
  EXPECT_EQ(f.c(a), ZEROULP_INVALID_ARGUMENT) << f.name << ", " << text;
  EXPECT_EQ(last_error().find(std::string("zeroulp_") + f.name + ": "), 0u)
      << last_error();
  EXPECT_NE(last_error().find(text), std::string::npos)
      << f.name << ", want " << text << "\ngot " << last_error();
  EXPECT_EQ(a.everything(), before.everything()) << f.name << ", " << text;
}

/// An argument and its name; of a leading one's shape depend the others'.
template <class Argument>
struct named_argument {
  std::string name;
  Argument model_arguments::*which;
  enum { follows, leads, optional } kind = follows;
};

template <class Argument>
void expect_bad_matrices_refused(
    const model_call& f, const std::vector<named_argument<Argument>>& all) {
  for (const auto& x : all) {
    const auto which = x.which;
    const auto text = x.name + ": ";
    const auto refused = [&](auto change, const std::string& why) {
      expect_refused(
          f, [which, change](model_arguments& a) { change(a.*which); }, why);
    };
    if (x.kind != x.optional) {
      refused([](auto& y) { y.null = true; }, x.name + " is NULL");
    }
    refused([](auto& y) { y.m.data = nullptr; }, text + "data is NULL");
    refused([](auto& y) { y.m.element_bytes = 1; },
            text + "elements of 1 bytes");
    refused([](auto& y) { y.m.element_bytes = 3; },
            text + "elements of 3 bytes");
    refused(
        [](auto& y) {
          y.m.data = reinterpret_cast<decltype(y.m.data)>(
              reinterpret_cast<std::uintptr_t>(y.m.data) + 1);
        },
        text + "data is not aligned");
    const auto shape = x.kind == x.leads ? std::string() : text;
    refused([](auto& y) { y.m.rows -= 1; }, shape);
    refused([](auto& y) { y.m.cols -= 1; }, shape);
    const model_arguments usual_ones;
    if ((usual_ones.*which).m.cols > 1) {
      refused(
          [](auto& y) {
            y.m.row_stride *= 2;
            y.m.col_stride = 2;
          },
          text + "elements of a row are 2 apart, not adjacent");
    }
  }
}

using inputs = std::vector<named_argument<model_input>>;
using outputs = std::vector<named_argument<model_output>>;
constexpr auto in_leads = named_argument<model_input>::leads;
constexpr auto in_optional = named_argument<model_input>::optional;
constexpr auto out_leads = named_argument<model_output>::leads;
constexpr auto out_optional = named_argument<model_output>::optional;

TEST(CAbiModelRefuses, MatricesOfActivations) {
  using a = model_arguments;
  expect_bad_matrices_refused(log_calls,
                              inputs{{"x", &a::in_logits, in_leads}});
  expect_bad_matrices_refused(log_calls, outputs{{"out", &a::to_logs}});
  expect_bad_matrices_refused(
      norm_calls, inputs{{"dy", &a::in_q, in_leads},
                         {"x", &a::in_k},
                         {"w", &a::in_w},
                         {"rstd", &a::in_rstd},
                         {"residual", &a::in_residual, in_optional}});
  expect_bad_matrices_refused(norm_calls,
                              outputs{{"dx", &a::to_dx, out_optional},
                                      {"dw", &a::to_dw, out_optional}});
  expect_bad_matrices_refused(rope_calls,
                              inputs{{"x", &a::in_q, in_leads},
                                     {"cosines", &a::in_cosines, in_leads},
                                     {"sines", &a::in_sines}});
  expect_bad_matrices_refused(rope_calls, outputs{{"y", &a::to_turned}});
  expect_bad_matrices_refused(
      table_calls, inputs{{"frequencies", &a::in_frequencies, in_leads}});
  expect_bad_matrices_refused(
      table_calls,
      outputs{{"cosines", &a::to_cosines, out_leads}, {"sines", &a::to_sines}});
}

TEST(CAbiModelRefuses, MatricesOfAttention) {
  using a = model_arguments;
  for (const model_call* f : {&forward_calls, &backward_calls}) {
    expect_bad_matrices_refused(
        *f,
        inputs{{"q", &a::in_q, in_leads}, {"k", &a::in_k}, {"v", &a::in_v}});
  }
  expect_bad_matrices_refused(forward_calls,
                              outputs{{"o", &a::to_o},
                                      {"largest", &a::to_largest},
                                      {"inverse", &a::to_inverse}});
  expect_bad_matrices_refused(backward_calls,
                              inputs{{"o", &a::in_kept},
                                     {"largest", &a::in_largest},
                                     {"inverse", &a::in_inverse},
                                     {"d_o", &a::in_d_o}});
  expect_bad_matrices_refused(
      backward_calls,
      outputs{{"dq", &a::to_dq}, {"dk", &a::to_dk}, {"dv", &a::to_dv}});
}

TEST(CAbiModelRefuses, MatricesOfExperts) {
  using a = model_arguments;
  expect_bad_matrices_refused(route_calls,
                              inputs{{"logits", &a::in_logits, in_leads},
                                     {"bias", &a::in_bias, in_optional}});
  expect_bad_matrices_refused(route_calls,
                              outputs{{"scores", &a::to_scores},
                                      {"experts", &a::to_chosen},
                                      {"weights", &a::to_weights}});
  expect_bad_matrices_refused(route_backward_calls,
                              inputs{{"scores", &a::in_scores, in_leads},
                                     {"experts", &a::in_experts},
                                     {"dweights", &a::in_by_slot}});
  expect_bad_matrices_refused(route_backward_calls,
                              outputs{{"dlogits", &a::to_dlogits}});
  // Fewer rows of experts are experts, too.
  expect_bad_matrices_refused(plan_calls,
                              inputs{{"experts", &a::in_experts, in_leads}});
  expect_bad_matrices_refused(
      plan_calls,
      outputs{{"slots", &a::to_places}, {"ends", &a::to_ends, out_leads}});
  expect_bad_matrices_refused(slot_calls,
                              inputs{{"dy", &a::in_q, in_leads},
                                     {"slots", &a::in_slots, in_leads},
                                     {"weights", &a::in_by_slot},
                                     {"y", &a::in_y}});
  expect_bad_matrices_refused(
      slot_calls, outputs{{"dweights", &a::to_dweights, out_optional}});
}

TEST(CAbiModelRefuses, MatricesOfLosses) {
  using a = model_arguments;
  expect_bad_matrices_refused(
      loss_calls,
      inputs{{"logits", &a::in_logits, in_leads}, {"targets", &a::in_targets}});
  expect_bad_matrices_refused(
      loss_calls,
      outputs{{"losses", &a::to_losses}, {"dlogits", &a::to_dz, out_optional}});
  expect_bad_matrices_refused(shards_calls,
                              outputs{{"out", &a::to_sum, out_leads}});
  for (std::size_t i = 0; i < 4; ++i) {
    const auto name = "shards[" + std::to_string(i) + "]: ";
    expect_refused(
        shards_calls, [i](auto& x) { x.shards[i].cols -= 1; }, name + "10 x 7");
    expect_refused(
        shards_calls, [i](auto& x) { x.shards[i].data = nullptr; },
        name + "data is NULL");
  }
}

TEST(CAbiModelRefuses, MatricesOfBalanceAndAverages) {
  using a = model_arguments;
  const model_call& f = balance_calls;
  expect_bad_matrices_refused(f, inputs{{"scores", &a::in_scores, in_leads}});
  expect_bad_matrices_refused(
      f, outputs{{"losses", &a::to_balances},
                 {"dlogits", &a::to_dlogits, out_optional}});
  expect_refused(
      f, [](auto& x) { x.in_experts.null = true; }, "experts is NULL");
  expect_refused(
      f, [](auto& x) { x.in_experts.m.rows = 9; }, "experts: 9 x 3");
  expect_refused(
      f, [](auto& x) { x.in_experts.m.cols = 0; }, "no experts");
  expect_refused(
      f, [](auto& x) { x.experts(9, 2) = 8; }, "experts (9, 2): 8");
  expect_refused(
      f, [](auto& x) { x.router.score = 2; }, "score is 2");
  expect_refused(
      f, [](auto& x) { x.length = 0; }, "length is 0");
  expect_refused(
      f, [](auto& x) { x.length = 4; },
      "scores: 10 rows, no multiple of the length 4");
  expect_bad_matrices_refused(average_calls,
                              inputs{{"weights", &a::in_logits, in_leads}});
  expect_bad_matrices_refused(average_calls,
                              outputs{{"average", &a::to_average}});
}

TEST(CAbiModelRefuses, ValuesOfAttentionAndRope) {
  for (const model_call* f : {&forward_calls, &backward_calls}) {
    for (const std::uint32_t scale :
         {0u, 0x7f800000u, 0x7fc00000u, 0x80000000u, 0xbf800000u}) {
      expect_refused(
          *f, [scale](auto& x) { x.shape.scale = scale; }, "shape.scale is ");
    }
    expect_refused(
        *f, [](auto& x) { x.shape.length = 0; }, "shape.length is 0");
    expect_refused(
        *f, [](auto& x) { x.shape.length = 4; },
        "q: 10 rows, but sequences of 4");
    expect_refused(
        *f, [](auto& x) { x.shape.heads = -1; }, "shape.heads is -1");
    expect_refused(
        *f, [](auto& x) { x.shape.heads = 3; }, "q: 16 columns, but 3 heads");
    expect_refused(
        *f, [](auto& x) { x.shape.heads = 8; }, "v: 12 columns, but 8 heads");
  }
  expect_refused(
      rope_calls, [](auto& x) { x.pairs = 2; }, "pairs is 2");
  expect_refused(
      rope_calls, [](auto& x) { x.backward = 2; }, "backward is 2");
  for (const std::int64_t heads :
       {std::int64_t{0}, std::int64_t{-2}, std::int64_t{1}, INT64_MAX}) {
    expect_refused(
        rope_calls, [heads](auto& x) { x.heads = heads; }, "x: 16 columns");
  }
  expect_refused(
      rope_calls, [](auto& x) { x.in_cosines.m.rows = x.in_sines.m.rows = 0; },
      "no positions");
  expect_refused(
      table_calls, [](auto& x) { x.first = -1; }, "first is -1");
  expect_refused(
      table_calls, [](auto& x) { x.first = INT64_MAX; }, "first is ");
  expect_refused(
      table_calls, [](auto& x) { x.first = (1 << 20) - 3; }, "positions");
  for (const double f : {-0.5, 1.5, std::nan("")}) {
    expect_refused(
        table_calls, [f](auto& x) { x.frequencies(0, 3) = f; }, "frequency 3");
  }
}

TEST(CAbiModelRefuses, ValuesOfExperts) {
  for (const model_call* f : {&route_calls, &route_backward_calls}) {
    expect_refused(
        *f, [](auto& x) { x.router.score = 2; }, "router.score is 2");
    expect_refused(
        *f, [](auto& x) { x.router.of_group = -1; }, "router.of_group is -1");
    expect_refused(
        *f, [](auto& x) { x.router.normalized = 2; }, "router.normalized is 2");
    expect_refused(
        *f, [](auto& x) { x.router.top = 0; }, "router: 8 experts");
    expect_refused(
        *f, [](auto& x) { x.router.top = 9; }, "router: 8 experts");
    expect_refused(
        *f, [](auto& x) { x.router.groups = 3; }, "router: 8 experts");
    expect_refused(
        *f, [](auto& x) { x.router.groups = 0; }, "router: 8 experts");
    expect_refused(
        *f, [](auto& x) { x.router.kept = 3; }, "router: 8 experts");
    expect_refused(
        *f, [](auto& x) { x.router.groups = 8; }, "router: 8 experts");
  }
  for (const model_call* f :
       {&route_backward_calls, &bias_calls, &plan_calls}) {
    expect_refused(
        *f, [](auto& x) { x.experts(9, 2) = 8; }, "experts (9, 2): 8");
    expect_refused(
        *f, [](auto& x) { x.experts(0, 1) = -1; }, "experts (0, 1): -1");
  }
  expect_refused(
      bias_calls, [](auto& x) { x.to_bias.m.rows = 0; }, "bias: 0 x 8");
  expect_refused(
      bias_calls, [](auto& x) { x.to_bias.null = true; }, "bias is NULL");
  expect_refused(
      bias_calls, [](auto& x) { x.in_experts.null = true; }, "experts is NULL");
  expect_refused(
      plan_calls, [](auto& x) { x.align = 0; }, "align is 0");
  expect_refused(
      plan_calls, [](auto& x) { x.align = INT64_MAX / 4; }, "more than 2^31");
  expect_refused(
      plan_calls, [](auto& x) { x.align = 1 << 30; }, "more than 2^31");
  expect_refused(
      plan_calls, [](auto& x) { x.to_rows.m.rows = 53; },
      "rows: 53 x 1, but 54 x 1 hold any choice");
  expect_refused(
      plan_calls, [](auto& x) { x.to_rows.null = true; }, "rows is NULL");
  expect_refused(
      plan_calls, [](auto& x) { x.to_ends.m.rows = 0; }, "ends: 0 x 1");
  expect_refused(
      slot_calls, [](auto& x) { x.slots(2, 1) = 30; }, "slots (2, 1): 30");
  expect_refused(
      slot_calls, [](auto& x) { x.slots(2, 1) = -2; }, "slots (2, 1): -2");
  expect_refused(
      slot_calls, [](auto& x) { x.slots(9, 2) = x.slots(0, 0); },
      "is another slot's, too");
  expect_refused(
      slot_calls, [](auto& x) { x.to_d_rows.m.cols = 15; }, "d_rows: 30 x 15");
}

TEST(CAbiModelRefuses, ValuesOfLosses) {
  expect_refused(
      loss_calls, [](auto& x) { x.targets(3, 0) = 8; }, "targets (3, 0): 8");
  expect_refused(
      loss_calls, [](auto& x) { x.targets(3, 0) = -2; }, "targets (3, 0): -2");
  expect_refused(
      loss_calls, [](auto& x) { x.to_dz.m.row_stride = 0; },
      "dlogits: elements overlap");
  for (const std::int64_t count : {0, 3, -4}) {
    expect_refused(
        shards_calls, [count](auto& x) { x.shard_count = count; }, "count is ");
  }
  EXPECT_EQ(zeroulp_add_shards(nullptr, 1, model_arguments().to_sum),
            ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "zeroulp_add_shards: shards is NULL");
}

TEST(CAbiModelRefuses, Numbers) {
  const auto refused = [](zeroulp_status s, const std::string& text) {
    EXPECT_EQ(s, ZEROULP_INVALID_ARGUMENT) << text;
    EXPECT_NE(last_error().find(text), std::string::npos) << last_error();
  };
  model_arguments x;
  double sum = 7;
  std::uint32_t bits = 7;
  std::int64_t rows = 7;
  refused(zeroulp_attention_forward(nullptr, x.in_q, x.in_k, x.in_v, x.to_o,
                                    x.to_largest, x.to_inverse),
          "shape is NULL");
  refused(zeroulp_route(nullptr, x.in_logits, nullptr, x.to_scores, x.to_chosen,
                        x.to_weights),
          "router is NULL");
  refused(zeroulp_sum_of_squares(nullptr, &sum), "g is NULL");
  refused(zeroulp_sum_of_squares(x.in_kept, nullptr), "sum is NULL");
  refused(zeroulp_sum_of_squares(x.in_q, &sum), "g: elements of 2 bytes");
  refused(zeroulp_sum_of_losses(nullptr, &sum), "losses is NULL");
  refused(zeroulp_sum_of_losses(x.in_rstd, nullptr), "sum is NULL");
  refused(zeroulp_sum_of_losses(x.in_kept, &sum), "losses: 10 x 12");
  for (const std::int64_t n : {0, 1, 3, 256, -4}) {
    refused(zeroulp_rope_frequency(n, 0, &sum), "rope_frequency: pair 0 of");
  }
  refused(zeroulp_rope_frequency(64, 32, &sum), "rope_frequency: pair 32");
  refused(zeroulp_rope_frequency(64, 0, nullptr), "frequency is NULL");
  refused(zeroulp_attention_scale(0, &bits), "n is 0");
  refused(zeroulp_attention_scale(64, nullptr), "scale is NULL");
  refused(zeroulp_clip_factor(-1, 1, &bits), "norm is -1");
  refused(zeroulp_clip_factor(1, -1, &bits), "clip is -1");
  refused(zeroulp_clip_factor(1, std::nan(""), &bits), "clip is nan");
  refused(zeroulp_clip_factor(1, 1, nullptr), "factor is NULL");
  refused(zeroulp_plan_capacity(-1, 8, 1, &rows), "slots is -1");
  refused(zeroulp_plan_capacity(1, -8, 1, &rows), "experts is -8");
  refused(zeroulp_plan_capacity(1, 8, 0, &rows), "align is 0");
  refused(zeroulp_plan_capacity(1, 8, INT64_MAX, &rows), "more than 2^31");
  refused(zeroulp_plan_capacity(0x80000000, 0, 1, &rows), "more than 2^31");
  refused(zeroulp_plan_capacity(1, 8, 1, nullptr), "rows is NULL");
  zeroulp_rate_schedule r{1e-3, 10, 90, 100, 0.1};
  refused(zeroulp_rate_of(nullptr, 1, &sum), "schedule is NULL");
  refused(zeroulp_rate_of(&r, 1, nullptr), "rate is NULL");
  refused(zeroulp_rate_of(&r, 0, &sum), "step is 0: use 1 to 100");
  refused(zeroulp_rate_of(&r, 101, &sum), "step is 101: use 1 to 100");
  r.hold = 5;
  refused(zeroulp_rate_of(&r, 1, &sum), "they must ascend from 0");
  r = {-1, 10, 90, 100, 0.1};
  refused(zeroulp_rate_of(&r, 1, &sum), "schedule.rate is -1");
  r = {1, 10, 90, 100, std::numeric_limits<double>::quiet_NaN()};
  refused(zeroulp_rate_of(&r, 1, &sum), "schedule.last is nan");
  EXPECT_EQ(sum, 7);
  EXPECT_EQ(bits, 7u);
  EXPECT_EQ(rows, 7);
}

}  // namespace
}  // namespace zeroulp
