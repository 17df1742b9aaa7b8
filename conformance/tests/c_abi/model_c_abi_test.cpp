// The C ABI's operators of a training step give what the engine gives, on rows
// with gaps.

#include "conformance/tests/c_abi/model_arguments.hpp"
#include "zeroulp/model_arm.hpp"

namespace zeroulp {
namespace {

void expect_the_same(const model_call& f, model_arguments& a,
                     model_arguments& want) {
  SCOPED_TRACE(f.name);
  f.cpp(want);
  ZEROULP_CALLS(f.c(a));
  EXPECT_EQ(a.everything(), want.everything());
}

TEST(CAbiModel, OperatorsEqualTheEngine) {
  for (const model_sizes& s : {usual_sizes, model_sizes{1, 1, 1, 2, 1, 2, 1, 0},
                               model_sizes{70, 1, 1, 4, 3, 12, 2, 1},
                               model_sizes{3, 4, 3, 16, 16, 300, 4, 5}}) {
    for (const model_call* f : every_function) {
      model_arguments a(s), want(s);
      expect_the_same(*f, a, want);
      // Something was written.
      EXPECT_NE(a.everything(), model_arguments(s).everything()) << f->name;
    }
  }
}

TEST(CAbiModel, RoutersAndRopesOfEveryKindEqualTheEngine) {
  for (int i = 0; i < 16; ++i) {
    model_arguments a, want;
    for (auto* x : {&a, &want}) {
      x->router.score = i & 1;
      x->router.of_group = i >> 1 & 1;
      x->router.normalized = i >> 2 & 1;
      x->router.kept = 1;
      x->in_bias.null = (i & 8) != 0;
      x->pairs = i & 1;
      x->backward = i >> 1 & 1;
    }
    expect_the_same(route_calls, a, want);
    expect_the_same(route_backward_calls, a, want);
    expect_the_same(rope_calls, a, want);
  }
}

TEST(CAbiModel, TensorsAreThoseOfTheTable) {
  for (const char* const arm : {"full", "bf16", "mx", "full+splits:2"}) {
    const auto rows = tensor_table(parse_arm(arm));
    std::int64_t count = 0;
    ZEROULP_CALLS(zeroulp_tensor_count(arm, &count));
    ASSERT_EQ(count, std::ssize(rows));
    for (std::int64_t i = 0; i < count; ++i) {
      const tensor_row& row = rows[static_cast<std::size_t>(i)];
      zeroulp_tensor t;
      ZEROULP_CALLS(zeroulp_tensor_at(arm, i, &t));
      EXPECT_EQ(t.tensor, row.tensor);
      EXPECT_EQ(t.made_from, row.made_from);
      EXPECT_EQ(t.used_by, row.used_by);
      EXPECT_EQ(t.format.fraction_bits, row.how.to.man_bits);
      EXPECT_EQ(t.group.cols, row.how.group.cols);
      EXPECT_EQ(t.scaled == 1, row.how.scaled);
      EXPECT_EQ(t.scale, static_cast<std::int32_t>(row.how.scale));
    }
    zeroulp_tensor t;
    for (const std::int64_t beyond : {std::int64_t{-1}, count}) {
      EXPECT_EQ(zeroulp_tensor_at(arm, beyond, &t), ZEROULP_INVALID_ARGUMENT);
    }
    EXPECT_EQ(zeroulp_tensor_at(arm, 0, nullptr), ZEROULP_INVALID_ARGUMENT);
    EXPECT_EQ(zeroulp_tensor_count(arm, nullptr), ZEROULP_INVALID_ARGUMENT);
  }
  std::int64_t count = 0;
  EXPECT_EQ(zeroulp_tensor_count(nullptr, &count), ZEROULP_INVALID_ARGUMENT);
  EXPECT_EQ(zeroulp_tensor_count("ful", &count), ZEROULP_INVALID_ARGUMENT);
  EXPECT_NE(last_error().find("did you mean 'full'"), std::string::npos);
}

TEST(CAbiModel, OutputsMayBeLeftOut) {
  model_arguments a, want;
  norm_calls.cpp(want);
  slot_calls.cpp(want);
  loss_calls.cpp(want);
  a.to_dx.null = a.to_d_rows.null = a.in_by_slot.null = a.to_dz.null = true;
  ZEROULP_CALLS(norm_calls.c(a));
  ZEROULP_CALLS(slot_calls.c(a));
  ZEROULP_CALLS(loss_calls.c(a));
  EXPECT_EQ(a.dw, want.dw);
  EXPECT_EQ(a.dweights, want.dweights);
  EXPECT_EQ(a.losses, want.losses);
  EXPECT_EQ(a.dx, model_arguments().dx);
  EXPECT_EQ(a.d_rows, model_arguments().d_rows);
  EXPECT_EQ(a.dz, model_arguments().dz);
  model_arguments b;
  b.to_dw.null = b.to_dweights.null = b.in_y.null = true;
  ZEROULP_CALLS(norm_calls.c(b));
  ZEROULP_CALLS(slot_calls.c(b));
  EXPECT_EQ(b.dx, want.dx);
  EXPECT_EQ(b.d_rows, want.d_rows);
  EXPECT_EQ(b.dweights, model_arguments().dweights);
  model_arguments c, plain;
  c.in_residual.null = true;
  ZEROULP_CALLS(norm_calls.c(c));
  engine::rms_norm_backward({plain.q.view(),
                             plain.k.view(),
                             plain.w.view(),
                             plain.rstd.view(),
                             {},
                             plain.dx.view(),
                             plain.dw.view()});
  EXPECT_EQ(c.dx, plain.dx);
  EXPECT_NE(c.dx, want.dx);
}

TEST(CAbiModel, OutputsThatMayBeInputsAre) {
  model_arguments a, want;
  rope_calls.cpp(want);
  a.to_turned.m = model_output(a.q).m;
  ZEROULP_CALLS(rope_calls.c(a));
  EXPECT_EQ(a.q, want.turned);
  shards_calls.cpp(want);
  a.to_sum.m = model_output(a.shard).m;
  ZEROULP_CALLS(shards_calls.c(a));
  EXPECT_EQ(a.shard, want.sum);
}

TEST(CAbiModel, NumbersEqualTheEngine) {
  model_arguments a;
  double sum = 0;
  ZEROULP_CALLS(zeroulp_sum_of_squares(a.in_kept, &sum));
  EXPECT_EQ(sum, engine::sum_of_squares(a.kept.view()));
  ZEROULP_CALLS(zeroulp_sum_of_losses(a.in_rstd, &sum));
  EXPECT_EQ(sum, engine::sum_of_losses(a.rstd.view()));
  ZEROULP_CALLS(zeroulp_rope_frequency(64, 5, &sum));
  EXPECT_EQ(sum, engine::rope_frequency(64, 5));
  std::uint32_t bits = 0;
  ZEROULP_CALLS(zeroulp_attention_scale(192, &bits));
  EXPECT_EQ(bits, attention_scale(192));
  ZEROULP_CALLS(zeroulp_clip_factor(3, 1, &bits));
  EXPECT_EQ(bits, clip_factor(3, 1));
  ZEROULP_CALLS(zeroulp_clip_factor(0.5, 1, &bits));
  EXPECT_EQ(bits, fp32_one);
  std::int64_t rows = 0;
  ZEROULP_CALLS(zeroulp_plan_capacity(30, 8, 128, &rows));
  EXPECT_EQ(rows, plan_capacity(30, 8, 128));
  const zeroulp_rate_schedule schedule{1e-3, 10, 90, 100, 0.1};
  for (const std::int64_t step : {1, 10, 11, 90, 91, 100}) {
    ZEROULP_CALLS(zeroulp_rate_of(&schedule, step, &sum));
    EXPECT_EQ(sum, rate_of({1e-3, 10, 90, 100, 0.1}, step));
  }
}

TEST(CAbiModel, RowsWithoutElementsCostNothing) {
  constexpr std::int64_t tall = std::int64_t{1} << 40;
  const zeroulp_const_matrix codes{nullptr, tall, 0, 0, 1, 2};
  const zeroulp_const_matrix words{nullptr, tall, 0, 0, 1, 4};
  const zeroulp_const_matrix none{nullptr, 1, 0, 0, 1, 4};
  const zeroulp_matrix to_codes{nullptr, tall, 0, 0, 1, 2};
  const zeroulp_matrix to_words{nullptr, tall, 0, 0, 1, 4};
  const std::uint32_t one = fp32_one;
  const zeroulp_const_matrix ones{&one, tall, 1, 0, 1, 4};
  model_arguments x;
  ZEROULP_CALLS(zeroulp_log(&words, &to_words));
  ZEROULP_CALLS(zeroulp_rms_norm_backward(&codes, &codes, &none, &ones, nullptr,
                                          &to_codes, nullptr));
  ZEROULP_CALLS(zeroulp_rope(0, 0, 1, &codes, &words, &words, &to_codes));
  ZEROULP_CALLS(zeroulp_update_bias(&words, x.speed, x.to_bias));
  EXPECT_EQ(x.new_bias, x.bias);
  ZEROULP_CALLS(zeroulp_make_plan(&words, 4, x.to_rows, &to_words, x.to_ends));
  EXPECT_EQ(x.ends(8, 0), 0);
  EXPECT_EQ(x.rows(0, 0), -1);
  ZEROULP_CALLS(zeroulp_slot_backward(&codes, &words, &words, nullptr,
                                      &to_codes, nullptr));
  ZEROULP_CALLS(zeroulp_add_shards(&words, 1, &to_words));
  double sum = 7;
  ZEROULP_CALLS(zeroulp_sum_of_squares(&words, &sum));
  EXPECT_EQ(sum, 0);
}

}  // namespace
}  // namespace zeroulp
