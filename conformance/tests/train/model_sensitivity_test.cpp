// The checks of a training step's operators see each of these faults: another
// order of sums, a rounding more or less, a tie the other way, a special case
// forgotten.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "conformance/checks/model/model_functions.hpp"

namespace zeroulp::conformance {
namespace {

using A = core_fp32;

/// The core's arithmetic with one fault.
struct two_roundings : core_fp32 {
  static number fma(number a, number b, number c) {
    return add(multiply(a, b), c);
  }
};
struct flushes : core_fp32 {
  static number multiply(number a, number b) {
    const number p = core_fp32::multiply(a, b);
    return (p.value & 0x7f800000) == 0 ? number{p.value & 0x80000000} : p;
  }
};
struct truncates : core_fp32 {
  static number round_to_bf16(number a) { return {a.value & 0xffff0000}; }
};
struct wide_sums : core_fp64 {
  static number fma(number a, number b, number c) {
    return add(multiply(a, b), c);
  }
};

/// A fault: what it does to the functions, and the check that sees it.
struct fault {
  const char* name;
  const char* seen_by;
  std::function<void(model_functions&)> put;
};

std::uint32_t sum_of(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(add(fp32, a, b));
}

template <class B>
void norm_by(const rms_norm_gradients& t) {
  if (t.dx.data != nullptr) rms_norm_dx<B>(t, 0, t.x.rows);
  if (t.dw.data != nullptr) rms_norm_dw<B>(t, 0, t.x.cols);
}

/// The router with one field of it, or of what it is given, changed.
template <class Change>
auto route_with(Change change) {
  return [change](model_functions& t) {
    t.route = [change](router r, routing x) {
      change(r, x);
      if (is_valid(r, x.logits.cols)) engine::route(r, x);
    };
  };
}

/// The balance loss by arithmetic `B`, after `change` of what it is given.
template <class B, class Change>
void balance_by(balance_rows x, Change change) {
  change(x);
  std::vector<std::uint32_t> work(
      static_cast<std::size_t>(x.losses.rows * 4 * x.scores.cols));
  x.work = {work.data(), x.losses.rows, 4 * x.scores.cols};
  balance_loss<B>(x, 0, x.losses.rows);
}

template <class Next>
void average_by(codes_in weights, codes_out average, Next next) {
  for (std::ptrdiff_t i = 0; i < average.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < average.cols; ++j) {
      average(i, j) = next(A::number{average(i, j)}, {weights(i, j)}).value;
    }
  }
}

/// Attention with one field of its shape changed.
template <class Change>
auto attention_with(Change change) {
  return [change](model_functions& t) {
    t.attention_forward =
        [change](attention_shape s, const engine::attention_inputs& x,
                 matrix_view<std::uint16_t> o, codes_out m, codes_out r) {
          change(s, x.q.rows);
          engine::attention_forward(s, x, o, m, r);
        };
  };
}

/// Attention's gradients after `change` of what they are made from.
template <class Change>
auto gradients_with(Change change) {
  return [change](model_functions& t) {
    t.attention_backward = [change](attention_shape s,
                                    const engine::attention_inputs& x,
                                    engine::attention_kept kept,
                                    matrix_view<const std::uint16_t> d_o,
                                    engine::attention_gradients_out out) {
      change(s, kept, out);
      engine::attention_backward(s, x, kept, d_o, out);
    };
  };
}

const std::vector<fault>& faults() {
  static const std::vector<fault> all = {
      {"log: the series by products and sums that are rounded apart",
       "LogOperationByOperation",
       [](auto& t) {
         t.log = [](codes_in x, codes_out out) {
           for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
             for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
               // Rounded to FP32 before the exponent's part is added.
               const std::uint32_t y = log<wide_sums>(x(i, j));
               out(i, j) = (y & 0xfff) == 0x123 ? y + 1 : y;
             }
           }
         };
       }},
      {"RMSNorm: a product and its sum are rounded apart", "RmsNormGradients",
       [](auto& t) { t.rms_norm_backward = norm_by<two_roundings>; }},
      {"RMSNorm: subnormal products are flushed", "RmsNormGradients",
       [](auto& t) { t.rms_norm_backward = norm_by<flushes>; }},
      {"RMSNorm: gradients are cut, not rounded", "RmsNormGradients",
       [](auto& t) { t.rms_norm_backward = norm_by<truncates>; }},
      {"RMSNorm: the residual's gradient is forgotten", "RmsNormGradients",
       [](auto& t) {
         t.rms_norm_backward = [](rms_norm_gradients x) {
           x.residual = {};
           engine::rms_norm_backward(x);
         };
       }},
      {"RMSNorm: dw is one chain over all tokens", "RmsNormGradients",
       [](auto& t) {
         t.rms_norm_backward = [](rms_norm_gradients x) {
           engine::rms_norm_backward(x);
           if (x.dw.data == nullptr) return;
           for (std::ptrdiff_t j = 0; j < x.x.cols; ++j) {
             A::number sum{0};
             for (std::ptrdiff_t i = 0; i < x.x.rows; ++i) {
               sum = A::fma(
                   bf16_number<A>(x.dy(i, j)),
                   A::multiply(bf16_number<A>(x.x(i, j)), {x.rstd(i, 0)}), sum);
             }
             x.dw(0, j) = sum.value;
           }
         };
       }},
      {"rope: a product and its sum are rounded apart", "RopeRows",
       [](auto& t) {
         t.rope = [](const rope_rows& x) {
           rope<two_roundings>(x, 0, x.x.rows);
         };
       }},
      {"rope: the backward pass turns forward", "RopeRows",
       [](auto& t) {
         t.rope = [](rope_rows x) {
           x.backward = false;
           engine::rope(x);
         };
       }},
      {"rope: other pairs", "RopeRows",
       [](auto& t) {
         t.rope = [](rope_rows x) {
           x.pairs = rope_pairs::adjacent;
           engine::rope(x);
         };
       }},
      {"rope's table: a position early", "RopeTables",
       [](auto& t) {
         t.rope_table = [](auto frequencies, std::ptrdiff_t first, codes_out c,
                           codes_out s) {
           engine::rope_table(frequencies,
                              std::max<std::ptrdiff_t>(first - 1, 0), c, s);
         };
       }},
      {"attention: the scale is rounded to BF16", "AttentionForward",
       attention_with([](attention_shape& s, std::ptrdiff_t) {
         s.scale = (s.scale + 0x8000) & 0xffff0000;
       })},
      {"attention: sequences see each other", "AttentionForward",
       attention_with([](attention_shape& s, std::ptrdiff_t tokens) {
         s.length = tokens;
       })},
      {"attention: dO . O of the output in BF16", "AttentionBackward",
       [](auto& t) {
         t.attention_backward = [](const attention_shape& s,
                                   const engine::attention_inputs& x,
                                   engine::attention_kept kept,
                                   matrix_view<const std::uint16_t> d_o,
                                   const engine::attention_gradients_out& out) {
           std::vector<std::uint32_t> o;
           for (std::ptrdiff_t i = 0; i < kept.o.rows; ++i) {
             for (std::ptrdiff_t j = 0; j < kept.o.cols; ++j) {
               o.push_back(A::round_to_bf16({kept.o(i, j)}).value);
             }
           }
           kept.o = {o.data(), kept.o.rows, kept.o.cols};
           engine::attention_backward(s, x, kept, d_o, out);
         };
       }},
      {"attention: gradients by another scale", "AttentionBackward",
       gradients_with([](attention_shape& s, auto&, auto&) {
         s.scale = (s.scale + 0x8000) & 0xffff0000;
       })},
      {"attention: dQ and dK are exchanged", "AttentionBackward",
       gradients_with(
           [](auto&, auto&, auto& out) { std::swap(out.dq, out.dk); })},
      {"router: softmax for sigmoid", "RouterChoices",
       route_with(
           [](router& r, routing&) { r.score = router_score::softmax; })},
      {"router: no bias", "RouterChoices",
       route_with([](router&, routing& x) { x.bias = {}; })},
      {"router: groups by their best", "RouterChoices",
       route_with([](router& r, routing&) { r.of_group = group_score::max; })},
      {"router: every group is kept", "RouterChoices",
       route_with([](router& r, routing&) { r.kept = r.groups; })},
      {"router: weights that are no shares", "RouterChoices",
       route_with([](router& r, routing&) { r.normalized = false; })},
      {"router: weights without the scale", "RouterChoices",
       route_with([](router& r, routing&) { r.scale = fp32_one; })},
      {"router: ties go to the higher index", "RouterChoices",
       [](auto& t) {
         t.route = [](const router& r, const routing& x) {
           // Of experts in reverse order.
           const std::ptrdiff_t n = x.logits.cols;
           const std::ptrdiff_t m = x.logits.rows;
           std::vector<std::uint32_t> logits, bias,
               scores(static_cast<std::size_t>(m * n));
           for (std::ptrdiff_t i = 0; i < m; ++i) {
             for (std::ptrdiff_t e = n; e-- > 0;) {
               logits.push_back(x.logits(i, e));
             }
           }
           for (std::ptrdiff_t e = n; x.bias.data != nullptr && e-- > 0;) {
             bias.push_back(x.bias(0, e));
           }
           engine::route(
               r, {{logits.data(), m, n},
                   bias.empty() ? codes_in{} : codes_in(bias.data(), 1, n),
                   {scores.data(), m, n},
                   x.experts,
                   x.weights,
                   {}});
           for (std::ptrdiff_t i = 0; i < m; ++i) {
             for (std::ptrdiff_t e = 0; e < n; ++e) {
               x.scores(i, e) =
                   scores[static_cast<std::size_t>(i * n + n - 1 - e)];
             }
             for (std::ptrdiff_t k = 0; k < r.top; ++k) {
               x.experts(i, k) =
                   static_cast<std::int32_t>(n - 1 - x.experts(i, k));
             }
           }
         };
       }},
      {"router: gradients of weights that are no shares", "RouterGradients",
       [](auto& t) {
         t.route_backward = [](router r, const routing_gradients& x) {
           r.normalized = false;
           engine::route_backward(r, x);
         };
       }},
      {"router: gradients by products and sums rounded apart",
       "RouterGradients",
       [](auto& t) {
         t.route_backward = [](const router& r, const routing_gradients& x) {
           route_backward<two_roundings>(r, x, 0, x.scores.rows);
         };
       }},
      {"router: a bias moves the other way", "RouterBiasUpdates",
       [](auto& t) {
         t.update_bias = [](slots_in experts, std::uint32_t speed,
                            codes_out bias) {
           engine::update_bias(experts, speed ^ 0x80000000, bias);
         };
       }},
      {"balance: no gradients beyond a range of tokens", "BalanceLosses",
       [](auto& t) {
         t.balance_loss = [](const balance_rows& x) {
           balance_by<A>(x, [](balance_rows& y) {
             if (y.length > token_range) y.dlogits = {};
           });
         };
       }},
      {"balance: products and sums are rounded apart", "BalanceLosses",
       [](auto& t) {
         t.balance_loss = [](const balance_rows& x) {
           balance_by<two_roundings>(x, [](balance_rows&) {});
         };
       }},
      {"balance: sigmoid's slope for softmax", "BalanceLosses",
       [](auto& t) {
         t.balance_loss = [](const balance_rows& x) {
           balance_by<A>(
               x, [](balance_rows& y) { y.score = router_score::sigmoid; });
         };
       }},
      {"balance: the first token's experts for all tokens", "BalanceLosses",
       [](auto& t) {
         t.balance_loss = [](const balance_rows& x) {
           balance_by<A>(x, [](balance_rows& y) {
             y.experts.row_stride =
                 y.scores.rows > y.length ? 0 : y.experts.row_stride;
           });
         };
       }},
      {"averages: a product and its sum are rounded apart", "AveragesOfWeights",
       [](auto& t) {
         t.update_average = [](codes_in w, std::uint32_t rate, codes_out a) {
           average_by(w, a, [rate](A::number x, A::number y) {
             return updated_average<two_roundings>(x, y, {rate});
           });
         };
       }},
      {"averages: decay times the average and the rest times the weight",
       "AveragesOfWeights",
       [](auto& t) {
         t.update_average = [](codes_in w, std::uint32_t rate, codes_out a) {
           average_by(w, a, [rate](A::number x, A::number y) {
             const auto decay = A::subtract({fp32_one}, {rate});
             return A::fma(decay, x, A::multiply({rate}, y));
           });
         };
       }},
      {"plan: an expert's rows are not padded", "ExpertPlans",
       [](auto& t) {
         t.make_plan = [](expert_plan p) {
           p.align = 1;
           engine::make_plan(p);
         };
       }},
      {"slots: rows without a slot keep what they had", "SlotGradients",
       [](auto& t) {
         t.slot_backward = [](const slot_gradients& x) {
           slot_backward<A>(x, 0, x.dy.rows);
         };
       }},
      {"slots: rows are cut, not rounded", "SlotGradients",
       [](auto& t) {
         t.slot_backward = [](const slot_gradients& x) {
           engine::slot_backward(x);
           slot_backward<truncates>(x, 0, x.dy.rows);
         };
       }},
      {"cross entropy: a factor of 1", "CrossEntropyRows",
       [](auto& t) {
         t.cross_entropy = [](cross_entropy_rows x) {
           x.factor = fp32_one;
           engine::cross_entropy(x);
         };
       }},
      {"cross entropy: gradients are cut, not rounded", "CrossEntropyRows",
       [](auto& t) {
         t.cross_entropy = [](cross_entropy_rows x) {
           std::vector<std::uint32_t> work(
               static_cast<std::size_t>(x.logits.rows * x.logits.cols));
           x.work = {work.data(), x.logits.rows, x.logits.cols};
           cross_entropy<truncates, core_fp64>(x, 0, x.logits.rows);
         };
       }},
      {"losses: one chain", "SumsOfLosses",
       [](auto& t) {
         t.sum_of_losses = [](codes_in x) {
           double sum = 0;
           for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
             sum += static_cast<double>(bit_cast<float>(x(i, 0)));
           }
           return sum;
         };
       }},
      {"shards: one chain", "SumsOfShards",
       [](auto& t) {
         t.add_shards = [](std::span<const codes_in> shards, codes_out out) {
           std::vector<std::uint32_t> sums;
           for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
             for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
               std::uint32_t sum = shards[0](i, j);
               for (std::size_t s = 1; s < shards.size(); ++s) {
                 sum = sum_of(sum, shards[s](i, j));
               }
               sums.push_back(sum);
             }
           }
           for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
             for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
               out(i, j) = sums[static_cast<std::size_t>(i * out.cols + j)];
             }
           }
         };
       }},
      {"squares: one chain", "SumsOfSquares",
       [](auto& t) {
         t.sum_of_squares = [](codes_in x) {
           double sum = 0;
           for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
             for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
               const auto value = static_cast<double>(bit_cast<float>(x(i, j)));
               sum += value * value;
             }
           }
           return sum;
         };
       }},
  };
  return all;
}

TEST(ModelSensitivity, TheChecksSeeEveryFault) {
  const auto checks = model_check_list();
  for (const fault& f : faults()) {
    const auto check =
        std::find_if(checks.begin(), checks.end(),
                     [&](const model_check& c) { return c.name == f.seen_by; });
    ASSERT_NE(check, checks.end()) << f.seen_by;
    model_functions t = engine_model();
    f.put(t);
    EXPECT_GT(check->run(t, {0, 1, true}).failures, 0u) << f.name;
  }
}

}  // namespace
}  // namespace zeroulp::conformance
