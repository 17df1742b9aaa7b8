// The C ABI's operators of model_more.hpp, and MLA, give what the engine gives,
// on rows with gaps; what does not fit is named.

#include <numeric>

#include "conformance/tests/c_abi/model_arguments.hpp"
#include "zeroulp/model_more.hpp"

namespace zeroulp {
namespace {

template <class T>
using rows = gapped<T>;
using halves = rows<std::uint16_t>;
using words = rows<std::uint32_t>;
using indices = rows<std::int32_t>;

template <class T>
model_input in(rows<T>& x) {
  return model_input(x);
}
template <class T>
model_output to(rows<T>& x) {
  return model_output(x);
}

/// The C function's outputs `got` equal the engine's.
#define EXPECT_SAME(CALL, ENGINE, GOT, WANT) \
  do {                                       \
    ZEROULP_CALLS(CALL);                     \
    ENGINE;                                  \
    EXPECT_EQ(GOT, WANT);                    \
  } while (false)

#define EXPECT_REFUSED(CALL, TEXT)                                         \
  do {                                                                     \
    EXPECT_NE(CALL, ZEROULP_OK);                                           \
    EXPECT_NE(last_error().find(TEXT), std::string::npos) << last_error(); \
  } while (false)

TEST(CAbiModelMore, MlaEqualsTheEngine) {
  halves q{any_bf16(6, 2 * 12, 1), 3}, latent{any_bf16(6, 16, 3), 3},
      key{any_bf16(6, 4, 5), 3}, up{any_bf16(2 * (8 + 5), 16, 7), 3};
  const zeroulp_attention shape{3, 2, 0x3e93cd3a};
  for (const auto order : {mla_order::unabsorbed, mla_order::absorbed}) {
    halves o(6, 10, 3), o2(o);
    words m(6, 2, 3), m2(m), r(6, 2, 3), r2(r);
    EXPECT_SAME(
        zeroulp_mla_forward(static_cast<std::int32_t>(order), &shape, in(q),
                            in(latent), in(key), in(up), to(o), to(m), to(r)),
        engine::mla_forward(order, {3, 2, 8, 4, 5, 16, shape.scale},
                            {q.view(), latent.view(), key.view(), up.view()},
                            o2.view(), m2.view(), r2.view()),
        std::tie(o, m, r), std::tie(o2, m2, r2));
    const auto with = [&](const zeroulp_attention& s, std::int32_t how,
                          const model_input& keys) {
      return zeroulp_mla_forward(how, &s, in(q), in(latent), keys, in(up),
                                 to(o), to(m), to(r));
    };
    const auto how = static_cast<std::int32_t>(order);
    EXPECT_REFUSED(with(shape, 2, in(key)), "order is 2");
    EXPECT_REFUSED(with({3, 0, 1}, how, in(key)), "shape.heads is 0");
    EXPECT_REFUSED(with({0, 2, 1}, how, in(key)), "shape.length is 0");
    EXPECT_REFUSED(with({4, 2, 1}, how, in(key)), "q: 6 rows, but sequences");
    EXPECT_REFUSED(with({3, 2, 0}, how, in(key)), "shape.scale is 00000000");
    EXPECT_REFUSED(with({3, 5, 1}, how, in(key)), "q: columns: 24, but 5");
    halves wide{any_bf16(6, 12, 5), 0};
    EXPECT_REFUSED(with(shape, how, in(wide)),
                   "no elements of a head but rope");
    EXPECT_REFUSED(zeroulp_mla_forward(how, nullptr, in(q), in(latent), in(key),
                                       in(up), to(o), to(m), to(r)),
                   "shape");
  }
}

TEST(CAbiModelMore, PipelinesEqualTheEngine) {
  indices steps(24, 3, 2), steps2(steps), order(2, 4, 2), order2(order);
  EXPECT_SAME(zeroulp_dual_pipe_steps(4, 8, 1, to(steps)),
              engine::dual_pipe_steps({4, 8}, 1, steps2.view()), steps, steps2);
  EXPECT_SAME(zeroulp_dual_pipe_order(4, 8, 1, to(order)),
              engine::dual_pipe_order({4, 8}, 1, order2.view()), order, order2);
  EXPECT_REFUSED(zeroulp_dual_pipe_steps(3, 8, 1, to(steps)), "3 stages, 8");
  EXPECT_REFUSED(zeroulp_dual_pipe_steps(4, 8, 4, to(steps)), "rank is 4");
  EXPECT_REFUSED(zeroulp_dual_pipe_steps(4, 8, 0, to(order)), "steps: 2 x 4");
  EXPECT_REFUSED(zeroulp_dual_pipe_order(4, 6, 0, to(order)),
                 "6 micro-batches");
  EXPECT_REFUSED(zeroulp_dual_pipe_order(4, 8, -1, to(order)), "stage is -1");
  words a{any_data(3, 5, 1), 2}, b{any_data(3, 5, 2), 2}, sum(3, 5, 2),
      sum2(sum);
  indices chain{table<std::int32_t>(1, 2), 2};
  chain(0, 0) = 1;
  const zeroulp_const_matrix all[] = {in(a).m, in(b).m};
  const matrix_view<const std::uint32_t> views[] = {a.view(), b.view()};
  EXPECT_SAME(
      zeroulp_accumulate_micro_batches(all, 2, in(chain), to(sum)),
      engine::accumulate_micro_batches(views, chain.view(), sum2.view()), sum,
      sum2);
  EXPECT_REFUSED(zeroulp_accumulate_micro_batches(all, 0, in(chain), to(sum)),
                 "count is 0");
  EXPECT_REFUSED(
      zeroulp_accumulate_micro_batches(nullptr, 2, in(chain), to(sum)),
      "gradients");
  chain(0, 0) = 2;
  EXPECT_REFUSED(zeroulp_accumulate_micro_batches(all, 2, in(chain), to(sum)),
                 "(0, 0): 2");
}

TEST(CAbiModelMore, ReplicasEqualTheEngine) {
  indices experts{any_choice(7, 2, 3), 2}, ends{table<std::int32_t>(4, 1), 2},
      replicas(7, 2, 2), replicas2(replicas), from(20, 1, 2), from2(from);
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    ends(i, 0) = static_cast<std::int32_t>(2 * i);
  }
  EXPECT_SAME(
      zeroulp_choose_replicas(in(experts), in(ends), to(replicas)),
      engine::choose_replicas({experts.view(), ends.view(), replicas2.view()}),
      replicas, replicas2);
  indices slots{any_slots(7, 2), 2};
  EXPECT_SAME(
      zeroulp_merge_replicas(in(experts), in(slots), to(from)),
      engine::merge_replicas({experts.view(), slots.view(), from2.view()}),
      from, from2);
  EXPECT_REFUSED(zeroulp_choose_replicas(in(experts), nullptr, to(replicas)),
                 "ends");
  EXPECT_REFUSED(zeroulp_choose_replicas(in(experts), in(ends), to(from)),
                 "replicas: 20 x 1");
  EXPECT_REFUSED(zeroulp_merge_replicas(in(ends), in(slots), to(from)),
                 "by_replica: 4 x 1");
}

TEST(CAbiModelMore, IndexersEqualTheEngine) {
  rows<std::uint8_t> q{table<std::uint8_t>(3, 8, 0x38), 2},
      k{table<std::uint8_t>(5, 4, 0x3c), 2};
  words scales{any_scales(3, 2, 1), 2}, of_keys{any_scales(5, 1, 2), 2},
      weights{any_data(3, 2, 3, false), 2}, logits(3, 5, 2), logits2(logits);
  const auto call = [&](std::int64_t first) {
    return zeroulp_indexer_logits(in(q), in(k), in(scales), in(of_keys),
                                  in(weights), first, to(logits));
  };
  EXPECT_SAME(call(1),
              engine::indexer_logits({q.view(), k.view(), scales.view(),
                                      of_keys.view(), weights.view(), 1},
                                     logits2.view()),
              logits, logits2);
  EXPECT_REFUSED(call(-1), "first is -1");
  words more{any_data(3, 3, 3, false), 2};
  EXPECT_REFUSED(zeroulp_indexer_logits(in(q), in(k), in(more), in(of_keys),
                                        in(more), 1, to(logits)),
                 "q: 8 columns, but 3 heads of 4");
  indices keys(3, 2, 2), keys2(keys), ties(3, 1, 2), ties2(ties);
  EXPECT_SAME(
      zeroulp_indexer_keys(in(logits), 1, to(keys), to(ties)),
      engine::indexer_keys(logits.view(), 1, keys2.view(), ties2.view()),
      std::tie(keys, ties), std::tie(keys2, ties2));
  EXPECT_REFUSED(zeroulp_indexer_keys(in(logits), -1, to(keys), to(ties)),
                 "first is -1");
  EXPECT_REFUSED(zeroulp_indexer_keys(in(logits), 0, to(keys), to(keys)),
                 "ties: 3 x 2");
}

TEST(CAbiModelMore, MultiTokenPredictionEqualsTheEngine) {
  indices targets{any_choice(6, 1, 9), 2}, a(6, 1, 2), a2(a), b(6, 1, 2), b2(b);
  EXPECT_SAME(zeroulp_mtp_tokens(in(targets), 3, 1, to(a), to(b)),
              engine::mtp_tokens({targets.view(), 3, 1, a2.view(), b2.view()}),
              std::tie(a, b), std::tie(a2, b2));
  EXPECT_REFUSED(zeroulp_mtp_tokens(in(targets), 4, 1, to(a), to(b)),
                 "targets: 6 rows, but sequences of 4");
  EXPECT_REFUSED(zeroulp_mtp_tokens(in(targets), 3, 0, to(a), to(b)),
                 "depth is 0");
  EXPECT_REFUSED(zeroulp_mtp_tokens(in(targets), 0, 1, to(a), to(b)),
                 "length is 0");
  halves h{any_bf16(4, 6, 1), 2}, next{any_bf16(4, 6, 3), 2},
      slopes{any_bf16(4, 12, 5), 2}, beside{any_bf16(4, 6, 7), 2},
      joined(4, 12, 2), joined2(joined), dh(4, 6, 2), dh2(dh), dn(dh), dn2(dh);
  words w{any_data(1, 6, 1), 2}, v{any_data(1, 6, 2), 2}, r(4, 1, 2), r2(r),
      s(r), s2(r), dw(1, 6, 2), dw2(dw), dv(dw), dv2(dw);
  const engine::mtp_rows t{h.view(), next.view(), w.view(), v.view()};
  EXPECT_SAME(
      zeroulp_mtp_input(in(h), in(next), in(w), in(v), 0x358637bd, to(joined),
                        to(r), to(s)),
      engine::mtp_input(t, 0x358637bd, joined2.view(), r2.view(), s2.view()),
      std::tie(joined, r, s), std::tie(joined2, r2, s2));
  for (const bool residual : {true, false}) {
    model_input q = in(beside);
    q.null = !residual;
    EXPECT_SAME(zeroulp_mtp_input_backward(in(slopes), in(h), in(next), in(w),
                                           in(v), in(r), in(s), q, to(dh),
                                           to(dn), to(dw), to(dv)),
                engine::mtp_input_backward(
                    t, {slopes.view(), r.view(), s.view(),
                        residual ? beside.view() : matrix_view<std::uint16_t>{},
                        dh2.view(), dn2.view(), dw2.view(), dv2.view()}),
                std::tie(dh, dn, dw, dv), std::tie(dh2, dn2, dw2, dv2));
  }
  EXPECT_REFUSED(zeroulp_mtp_input(in(h), in(slopes), in(w), in(v), 0,
                                   to(joined), to(r), to(s)),
                 "next: 4 x 12");
  EXPECT_REFUSED(zeroulp_mtp_input_backward(in(h), in(h), in(next), in(w),
                                            in(v), in(r), in(s), nullptr,
                                            to(dh), to(dn), to(dw), to(dv)),
                 "d_joined: 4 x 6");
}

}  // namespace
}  // namespace zeroulp
