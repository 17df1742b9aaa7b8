// Defines `model_arguments`: valid arguments of the operators of a training
// step in the C ABI, and each of them beside the engine's.

#ifndef ZEROULP_CONFORMANCE_TESTS_C_ABI_MODEL_ARGUMENTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_C_ABI_MODEL_ARGUMENTS_HPP_

#include <functional>
#include <tuple>

#include "conformance/tests/c_abi/c_abi_parts.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp {

/// A matrix with a gap after each row, which nobody may write to.
template <class T>
struct gapped {
  table<T> all;
  std::ptrdiff_t cols;

  gapped(const table<T>& x, std::ptrdiff_t gap)
      : all(x.rows, x.cols + gap, static_cast<T>(0xa5a5a5a5)), cols(x.cols) {
    for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
        all(i, j) = x.data[static_cast<std::size_t>(i * x.cols + j)];
      }
    }
  }
  /// An output, filled with what no result is.
  gapped(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t gap)
      : gapped(table<T>(m, n, static_cast<T>(0x5a5a5a5a)), gap) {}

  matrix_view<T> view() {
    return {all.data.data(), all.rows, cols, all.cols, 1};
  }
  T& operator()(std::ptrdiff_t i, std::ptrdiff_t j) { return all(i, j); }
  friend bool operator==(const gapped&, const gapped&) = default;
};

/// A matrix as a call takes it, or NULL.
template <class Matrix>
struct model_matrix {
  Matrix m;
  bool null = false;

  template <class T>
  explicit model_matrix(gapped<T>& x)
      : m{x.all.data.data(), x.all.rows, x.cols, x.all.cols, 1, sizeof(T)} {}
  operator const Matrix*() const { return null ? nullptr : &m; }
};
using model_input = model_matrix<zeroulp_const_matrix>;
using model_output = model_matrix<zeroulp_matrix>;

inline table<std::uint16_t> any_bf16(std::ptrdiff_t m, std::ptrdiff_t n,
                                     std::uint64_t seed) {
  const auto x = any_data(m, n, seed, seed % 2 == 0);
  table<std::uint16_t> codes(m, n);
  for (std::size_t i = 0; i < codes.data.size(); ++i) {
    codes.data[i] = static_cast<std::uint16_t>(recode(fp32, x.data[i], bf16));
  }
  return codes;
}

/// Distinct numbers of each row, from 0 to `count` - 1.
inline table<std::int32_t> any_choice(std::ptrdiff_t m, std::ptrdiff_t top,
                                      std::ptrdiff_t count) {
  table<std::int32_t> x(m, top);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t k = 0; k < top; ++k) {
      x(i, k) = static_cast<std::int32_t>((5 * i + 3 * k + i / 7) % count);
    }
  }
  return x;
}

/// The row of each slot: all differ, some are none.
inline table<std::int32_t> any_slots(std::ptrdiff_t m, std::ptrdiff_t top) {
  table<std::int32_t> x(m, top);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t k = 0; k < top; ++k) {
      const auto row = m * top - 1 - (i * top + k);
      x(i, k) = row % 5 == 3 ? -1 : static_cast<std::int32_t>(row);
    }
  }
  return x;
}

struct model_sizes {
  std::ptrdiff_t length, sequences, heads, depth, value_depth, experts, top,
      gap;
};
inline constexpr model_sizes usual_sizes{5, 2, 2, 8, 6, 8, 3, 3};

/// Valid arguments of every function, and what they gave.
struct model_arguments {
  model_sizes s;
  std::ptrdiff_t m = s.length * s.sequences;
  std::ptrdiff_t n = s.heads * s.depth;
  std::ptrdiff_t values = s.heads * s.value_depth;
  std::int64_t align = 4;

  gapped<std::uint16_t> q{any_bf16(m, n, 1), s.gap},
      k{any_bf16(m, n, 3), s.gap}, v{any_bf16(m, values, 5), s.gap},
      d_o{any_bf16(m, values, 7), s.gap}, residual{any_bf16(m, n, 8), s.gap},
      y_rows{any_bf16(m * s.top, n, 9), s.gap};
  gapped<std::uint32_t> kept{any_data(m, values, 10, false), s.gap},
      w{any_data(1, n, 11), s.gap}, rstd{any_scales(m, 1, 12), s.gap},
      logits{any_data(m, s.experts, 13), s.gap},
      bias{any_data(1, s.experts, 14, false), s.gap},
      by_slot{any_data(m, s.top, 15), s.gap},
      shard{any_data(m, s.experts, 16), s.gap},
      cosine{any_data(s.length, s.depth / 2, 17), s.gap},
      sine{any_data(s.length, s.depth / 2, 18), s.gap};
  gapped<std::int32_t> experts{any_choice(m, s.top, s.experts), s.gap},
      slots{any_slots(m, s.top), s.gap},
      targets{any_choice(m, 1, s.experts), s.gap};
  gapped<double> frequencies{table<double>(1, s.depth / 2, 0.25), s.gap};

  // What is read by one call and written by another.
  gapped<std::uint32_t> largest{any_data(m, s.heads, 19, false), s.gap},
      inverse{any_data(m, s.heads, 20, false), s.gap},
      scores{any_scales(m, s.experts, 21), s.gap},
      average{any_data(m, s.experts, 22), s.gap};

  gapped<std::uint16_t> o{m, values, s.gap}, dq{m, n, s.gap}, dk{dq},
      dv{m, values, s.gap}, dx{dq}, turned{dq}, d_rows{m * s.top, n, s.gap},
      dz{m, s.experts, s.gap};
  gapped<std::uint32_t> logs{m, s.experts, s.gap}, dw{1, n, s.gap},
      dlogits{logs}, sum{logs}, weights{m, s.top, s.gap}, dweights{weights},
      losses{m, 1, s.gap}, balances{s.sequences, 1, s.gap},
      cosines{s.length, s.depth / 2, s.gap}, sines{cosines}, new_bias{bias};
  gapped<std::int32_t> chosen{m, s.top, s.gap}, places{chosen},
      rows{plan_capacity(m * s.top, s.experts, align) + 2, 1, s.gap},
      ends{s.experts + 1, 1, s.gap};

  std::int32_t pairs = ZEROULP_ROPE_HALVES, backward = 1;
  std::int64_t heads = s.heads, first = 7, shard_count = 4, length = s.length;
  zeroulp_attention shape{s.length, static_cast<std::int32_t>(s.heads),
                          0x3eb504f3};
  zeroulp_router router{ZEROULP_ROUTER_SIGMOID,
                        static_cast<std::int32_t>(s.top),
                        2,
                        2,
                        ZEROULP_GROUP_TOP2_SUM,
                        1,
                        0x40200000};
  std::uint32_t speed = 0x3a83126f, factor = 0x3dcccccd;

  model_input in_q{q}, in_k{k}, in_v{v}, in_d_o{d_o}, in_residual{residual},
      in_y{y_rows}, in_kept{kept}, in_w{w}, in_rstd{rstd}, in_logits{logits},
      in_bias{bias}, in_by_slot{by_slot}, in_cosines{cosine}, in_sines{sine},
      in_experts{experts}, in_slots{slots}, in_targets{targets},
      in_frequencies{frequencies}, in_largest{largest}, in_inverse{inverse},
      in_scores{scores};
  model_output to_largest{largest}, to_inverse{inverse}, to_scores{scores},
      to_o{o}, to_dq{dq}, to_dk{dk}, to_dv{dv}, to_dx{dx}, to_turned{turned},
      to_d_rows{d_rows}, to_dz{dz}, to_logs{logs}, to_dw{dw},
      to_dlogits{dlogits}, to_sum{sum}, to_weights{weights},
      to_dweights{dweights}, to_losses{losses}, to_cosines{cosines},
      to_sines{sines}, to_bias{new_bias}, to_chosen{chosen}, to_places{places},
      to_rows{rows}, to_ends{ends}, to_balances{balances}, to_average{average};
  zeroulp_const_matrix shards[4] = {in_logits.m, model_input(shard).m,
                                    in_scores.m, in_logits.m};

  explicit model_arguments(const model_sizes& given = usual_sizes) : s(given) {
    if (m > 1) targets(1, 0) = -1;
  }
  model_arguments(const model_arguments&) = delete;

  zeroulp::router cpp_router() const {
    return {router_score{static_cast<std::uint8_t>(router.score)},
            router.top,
            router.groups,
            router.kept,
            group_score{static_cast<std::uint8_t>(router.of_group)},
            router.normalized == 1,
            router.scale};
  }
  attention_shape cpp_shape() const {
    return {s.length, s.heads, s.depth, s.value_depth, shape.scale};
  }

  auto everything() const {
    return std::tie(largest, inverse, scores, o, dq, dk, dv, dx, turned, d_rows,
                    dz, logs, dw, dlogits, sum, weights, dweights, losses,
                    cosines, sines, new_bias, chosen, places, rows, ends,
                    balances, average);
  }
};

/// A function of the C ABI, and the engine's.
struct model_call {
  const char* name;
  std::function<zeroulp_status(model_arguments&)> c;
  std::function<void(model_arguments&)> cpp;
};

inline const model_call log_calls{
    "log", [](auto& a) { return zeroulp_log(a.in_logits, a.to_logs); },
    [](auto& a) { engine::log(a.logits.view(), a.logs.view()); }};

inline const model_call norm_calls{
    "rms_norm_backward",
    [](auto& a) {
      return zeroulp_rms_norm_backward(a.in_q, a.in_k, a.in_w, a.in_rstd,
                                       a.in_residual, a.to_dx, a.to_dw);
    },
    [](auto& a) {
      engine::rms_norm_backward({a.q.view(), a.k.view(), a.w.view(),
                                 a.rstd.view(), a.residual.view(), a.dx.view(),
                                 a.dw.view()});
    }};

inline const model_call rope_calls{
    "rope",
    [](auto& a) {
      return zeroulp_rope(a.pairs, a.backward, a.heads, a.in_q, a.in_cosines,
                          a.in_sines, a.to_turned);
    },
    [](auto& a) {
      engine::rope({rope_pairs{static_cast<std::uint8_t>(a.pairs)},
                    a.backward == 1, a.heads, a.q.view(), a.cosine.view(),
                    a.sine.view(), a.turned.view()});
    }};

inline const model_call table_calls{
    "rope_table",
    [](auto& a) {
      return zeroulp_rope_table(a.in_frequencies, a.first, a.to_cosines,
                                a.to_sines);
    },
    [](auto& a) {
      engine::rope_table({a.frequencies.all.data.data(),
                          static_cast<std::size_t>(a.frequencies.cols)},
                         a.first, a.cosines.view(), a.sines.view());
    }};

inline const model_call forward_calls{
    "attention_forward",
    [](auto& a) {
      return zeroulp_attention_forward(&a.shape, a.in_q, a.in_k, a.in_v, a.to_o,
                                       a.to_largest, a.to_inverse);
    },
    [](auto& a) {
      engine::attention_forward(a.cpp_shape(),
                                {a.q.view(), a.k.view(), a.v.view()},
                                a.o.view(), a.largest.view(), a.inverse.view());
    }};

inline const model_call backward_calls{
    "attention_backward",
    [](auto& a) {
      return zeroulp_attention_backward(&a.shape, a.in_q, a.in_k, a.in_v,
                                        a.in_kept, a.in_largest, a.in_inverse,
                                        a.in_d_o, a.to_dq, a.to_dk, a.to_dv);
    },
    [](auto& a) {
      engine::attention_backward(
          a.cpp_shape(), {a.q.view(), a.k.view(), a.v.view()},
          {a.kept.view(), a.largest.view(), a.inverse.view()}, a.d_o.view(),
          {a.dq.view(), a.dk.view(), a.dv.view()});
    }};

inline const model_call route_calls{
    "route",
    [](auto& a) {
      return zeroulp_route(&a.router, a.in_logits, a.in_bias, a.to_scores,
                           a.to_chosen, a.to_weights);
    },
    [](auto& a) {
      engine::route(
          a.cpp_router(),
          {a.logits.view(),
           a.in_bias.null ? matrix_view<const std::uint32_t>{} : a.bias.view(),
           a.scores.view(),
           a.chosen.view(),
           a.weights.view(),
           {}});
    }};

inline const model_call route_backward_calls{
    "route_backward",
    [](auto& a) {
      return zeroulp_route_backward(&a.router, a.in_scores, a.in_experts,
                                    a.in_by_slot, a.to_dlogits);
    },
    [](auto& a) {
      engine::route_backward(
          a.cpp_router(), {a.scores.view(), a.experts.view(), a.by_slot.view(),
                           a.dlogits.view()});
    }};

inline const model_call bias_calls{
    "update_bias",
    [](auto& a) {
      return zeroulp_update_bias(a.in_experts, a.speed, a.to_bias);
    },
    [](auto& a) {
      engine::update_bias(a.experts.view(), a.speed, a.new_bias.view());
    }};

inline const model_call balance_calls{
    "balance_loss",
    [](auto& a) {
      return zeroulp_balance_loss(a.router.score, a.length, a.factor,
                                  a.in_scores, a.in_experts, a.to_balances,
                                  a.to_dlogits);
    },
    [](auto& a) {
      engine::balance_loss({a.cpp_router().score,
                            a.length,
                            a.factor,
                            a.scores.view(),
                            a.experts.view(),
                            a.balances.view(),
                            a.dlogits.view(),
                            {}});
    }};

inline const model_call average_calls{
    "update_average",
    [](auto& a) {
      return zeroulp_update_average(a.in_logits, a.speed, a.to_average);
    },
    [](auto& a) {
      engine::update_average(a.logits.view(), a.speed, a.average.view());
    }};

inline const model_call plan_calls{
    "make_plan",
    [](auto& a) {
      return zeroulp_make_plan(a.in_experts, a.align, a.to_rows, a.to_places,
                               a.to_ends);
    },
    [](auto& a) {
      engine::make_plan({a.experts.view(), a.align, a.rows.view(),
                         a.places.view(), a.ends.view()});
    }};

inline const model_call slot_calls{
    "slot_backward",
    [](auto& a) {
      return zeroulp_slot_backward(a.in_q, a.in_slots, a.in_by_slot, a.in_y,
                                   a.to_d_rows, a.to_dweights);
    },
    [](auto& a) {
      engine::slot_backward({a.q.view(), a.slots.view(), a.by_slot.view(),
                             a.y_rows.view(), a.d_rows.view(),
                             a.dweights.view()});
    }};

inline const model_call loss_calls{"cross_entropy",
                                   [](auto& a) {
                                     return zeroulp_cross_entropy(
                                         a.in_logits, a.in_targets, a.factor,
                                         a.to_losses, a.to_dz);
                                   },
                                   [](auto& a) {
                                     engine::cross_entropy({a.logits.view(),
                                                            a.targets.view(),
                                                            a.factor,
                                                            a.losses.view(),
                                                            a.dz.view(),
                                                            {}});
                                   }};

inline const model_call shards_calls{
    "add_shards",
    [](auto& a) {
      return zeroulp_add_shards(a.shards, a.shard_count, a.to_sum);
    },
    [](auto& a) {
      const matrix_view<const std::uint32_t> shards[] = {
          a.logits.view(), a.shard.view(), a.scores.view(), a.logits.view()};
      engine::add_shards(shards, a.sum.view());
    }};

inline const model_call* const every_function[] = {
    &log_calls,     &norm_calls,     &rope_calls,   &table_calls,
    &forward_calls, &backward_calls, &route_calls,  &route_backward_calls,
    &bias_calls,    &plan_calls,     &slot_calls,   &loss_calls,
    &shards_calls,  &balance_calls,  &average_calls};

}  // namespace zeroulp

#endif  // ZEROULP_CONFORMANCE_TESTS_C_ABI_MODEL_ARGUMENTS_HPP_
