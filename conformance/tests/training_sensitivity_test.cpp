// The training path's checks see each of these faults: an operation more or
// less, an order changed, a special case forgotten.

#include <gtest/gtest.h>

#include "conformance/checks/training_functions.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {
namespace {

/// The core's arithmetic with one fault.
struct two_roundings : core_fp32 {
  static number fma(number a, number b, number c) {
    return add(multiply(a, b), c);
  }
};
struct forgets_nan : core_fp32 {
  static number minimum(number a, number b) {
    return decode(zeroulp::fp32, a.value).is_nan() ? b
                                                   : core_fp32::minimum(a, b);
  }
};
struct flushes : core_fp32 {
  static number multiply(number a, number b) {
    const number p = core_fp32::multiply(a, b);
    return (p.value & 0x7f800000) == 0 ? number{p.value & 0x80000000} : p;
  }
};
struct rough_reciprocal : core_fp32 {
  static number reciprocal(number a) {
    return {core_fp32::reciprocal(a).value & 0xffffe000};
  }
};
struct rough_root : core_fp32 {
  static number square_root(number a) {
    const number s = core_fp32::square_root(a);
    return s.value < 0x7f800000 ? number{s.value & 0xffffe000} : s;
  }
};

template <class A>
std::uint32_t apply_one(elementary f, std::uint32_t x) {
  const typename A::number in = A::from_bits(x);
  return A::bits(f == elementary::exp       ? exp<A>(in)
                 : f == elementary::sigmoid ? sigmoid<A>(in)
                                            : rsqrt<A>(in));
}

template <class Function>
void replace_apply(training_functions& t, Function f) {
  t.apply = [f](elementary which, codes_in x, codes_out out) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) out(0, j) = f(which, x(0, j));
  };
}

/// A fault: what it does to the core's functions, and the checks that see it.
struct fault {
  const char* name;
  std::vector<std::string> seen_by;
  std::function<void(training_functions&)> put;
};

core_fp32::number number(std::uint32_t bits) { return {bits}; }

std::uint32_t in_bf16(core_fp32::number x) {
  return static_cast<std::uint32_t>(
      recode(fp32, x.value, bf16, {}, cuda_nosat));
}

/// SwiGLU's values alone, by another expression.
template <class Value>
void replace_swiglu(training_functions& t, Value value) {
  t.swiglu_forward = [value](const swiglu_layer& layer, codes_in g, codes_in u,
                             codes_out h, quantized_out h_out,
                             quantized_out g_cache, quantized_out u_cache) {
    swiglu_forward(layer, g, u, h, h_out, g_cache, u_cache);
    for (std::ptrdiff_t i = 0; i < h.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < h.cols; ++j) {
        const auto x = value(number(as_fp32(layer.cache.from, g(i, j))),
                             number(as_fp32(layer.cache.from, u(i, j))));
        h(i, j) = static_cast<std::uint32_t>(
            recode(fp32, x.value, layer.out.from, {}, cuda_nosat));
      }
    }
  };
}

template <class Value>
void replace_dg(training_functions& t, Value value) {
  t.swiglu_backward = [value](const swiglu_layer& layer, format from,
                              codes_in dh, quantized_in g, quantized_in u,
                              codes_out h, codes_out dg, codes_out du,
                              quantized_out dg_out, quantized_out du_out) {
    swiglu_backward(layer, from, dh, g, u, h, dg, du, dg_out, du_out);
    std::vector<std::uint32_t> numbers[2];
    for (auto& x : numbers) {
      x.resize(static_cast<std::size_t>(dh.rows * dh.cols));
    }
    const quantizer& q = layer.cache;
    const codes_out at_g(numbers[0].data(), dh.rows, dh.cols);
    const codes_out at_u(numbers[1].data(), dh.rows, dh.cols);
    dequantize(q.to, q.group, g.codes, g.scales, at_g);
    dequantize(q.to, q.group, u.codes, u.scales, at_u);
    for (std::ptrdiff_t i = 0; i < dh.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < dh.cols; ++j) {
        const auto x = value(number(at_g(i, j)), number(at_u(i, j)),
                             number(as_fp32(from, dh(i, j))));
        dg(i, j) = static_cast<std::uint32_t>(
            recode(fp32, x.value, layer.out.from, {}, cuda_nosat));
      }
    }
  };
}

/// RMSNorm's factors alone, from another sum of squares.
template <class Sum>
void replace_rms(training_functions& t, Sum sum) {
  t.rms_norm = [sum](const rms_layer& layer, codes_in x, codes_in w,
                     codes_out y, codes_out rstd, quantized_out out) {
    rms_norm(layer, x, w, y, rstd, out);
    for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
      std::vector<core_fp32::number> row;
      for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
        row.push_back(number(as_fp32(layer.from, x(i, j))));
      }
      rstd(i, 0) =
          rms_rstd<core_fp32>(sum(row), {count_as_fp32(x.cols)}, {layer.eps})
              .value;
    }
  };
}

using A = core_fp32;

A::number in_order(const std::vector<A::number>& row) {
  A::number sum{0};
  for (const auto& x : row) sum = A::fma(x, x, sum);
  return sum;
}

/// Lanes of `run` elements, added as a tree whose halves are `far` apart, or
/// neighbours.
A::number in_lanes(const std::vector<A::number>& row, std::size_t run,
                   bool far) {
  A::number p[256]{};
  for (std::size_t j = 0; j < row.size(); ++j) {
    auto& lane = p[j / run % 256];
    lane = A::fma(row[j], row[j], lane);
  }
  for (std::size_t count = 128; count > 0; count /= 2) {
    for (std::size_t t = 0; t < count; ++t) {
      p[t] = far ? A::add(p[t], p[t + count]) : A::add(p[2 * t], p[2 * t + 1]);
    }
  }
  return p[0];
}

/// AdamW's weights alone, by another expression.
template <class Update>
void replace_adamw(training_functions& t, Update update) {
  t.adamw = [update](const adamw_step& step, codes_in g, codes_out m,
                     codes_out v, codes_out w, codes_out copy) {
    std::vector<std::uint32_t> weights;
    for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
        const adamw_state<A> old{number(as_fp32(step.moment, m(i, j))),
                                 number(as_fp32(step.moment, v(i, j))),
                                 number(w(i, j))};
        weights.push_back(
            update(step.factors, old, number(as_fp32(step.gradient, g(i, j))))
                .value);
      }
    }
    adamw(step, g, m, v, w, copy);
    for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
        w(i, j) = weights[static_cast<std::size_t>(i * g.cols + j)];
      }
    }
  };
}

template <class Sum>
void replace_combine(training_functions& t, Sum sum) {
  t.combine = [sum](combine_rule rule, codes_in x, slots_in slots,
                    codes_in weights, codes_out out) {
    combine(rule, x, slots, weights, out);
    if (weights.data != nullptr) return;
    for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
        std::vector<A::number> terms;
        for (std::ptrdiff_t s = 0; s < slots.cols; ++s) {
          if (slots(i, s) >= 0) {
            terms.push_back(number(as_fp32(bf16, x(slots(i, s), j))));
          }
        }
        if (!terms.empty()) out(i, j) = in_bf16(sum(rule, terms));
      }
    }
  };
}

A::number one() { return {fp32_one}; }

const std::vector<fault>& faults() {
  static const std::string bits = "OperationByOperation";
  static const std::string bounds = "WithinTheirBounds";
  static const std::vector<fault> all = {
      {"products and sums are rounded apart",
       {bits, bounds},
       [](auto& t) { replace_apply(t, apply_one<two_roundings>); }},
      {"the minimum drops NaN",
       {bits, bounds},
       [](auto& t) { replace_apply(t, apply_one<forgets_nan>); }},
      {"products are flushed",
       {bits, bounds},
       [](auto& t) { replace_apply(t, apply_one<flushes>); }},
      {"a reciprocal of 11 bits",
       {bits},
       [](auto& t) { replace_apply(t, apply_one<rough_reciprocal>); }},
      {"a root of 11 bits",
       {bits},
       [](auto& t) { replace_apply(t, apply_one<rough_root>); }},
      {"sigmoid is 1 / (1 + exp(-x))",
       {bits, bounds},
       [](auto& t) {
         replace_apply(t, [](elementary f, std::uint32_t x) {
           if (f != elementary::sigmoid) return apply_one<A>(f, x);
           const auto e = exp<A>(A::negate(number(x)));
           return A::divide(one(), A::add(one(), e)).value;
         });
       }},
      {"rsqrt is 1 / sqrt(x)",
       {bits, bounds},
       [](auto& t) {
         replace_apply(t, [](elementary f, std::uint32_t x) {
           if (f != elementary::rsqrt) return apply_one<A>(f, x);
           return A::divide(one(), A::square_root(number(x))).value;
         });
       }},
      {"exp falls at one point",
       {bits, bounds, "Monotone"},
       [](auto& t) {
         replace_apply(t, [](elementary f, std::uint32_t x) {
           const auto y = apply_one<A>(f, x);
           return f == elementary::exp && x == 0x42af0000 ? y - 0x100 : y;
         });
       }},
      {"h = g (sigmoid(g) u)",
       {"SwigluForward"},
       [](auto& t) {
         replace_swiglu(t, [](A::number g, A::number u) {
           return A::multiply(g, A::multiply(sigmoid<A>(g), u));
         });
       }},
      {"dg = dh (u slope)",
       {"SwigluBackward"},
       [](auto& t) {
         replace_dg(t, [](A::number g, A::number u, A::number dh) {
           const auto s = sigmoid<A>(g);
           const auto slope =
               A::multiply(s, A::fma(g, A::subtract(one(), s), one()));
           return A::multiply(dh, A::multiply(u, slope));
         });
       }},
      {"slope = s + silu (1 - s)",
       {"SwigluBackward"},
       [](auto& t) {
         replace_dg(t, [](A::number g, A::number u, A::number dh) {
           const auto s = sigmoid<A>(g);
           const auto slope =
               A::fma(A::multiply(g, s), A::subtract(one(), s), s);
           return A::multiply(A::multiply(dh, u), slope);
         });
       }},
      {"squares are summed in order",
       {"RmsNorm"},
       [](auto& t) { replace_rms(t, in_order); }},
      {"lanes of four elements",
       {"RmsNorm"},
       [](auto& t) {
         replace_rms(t,
                     [](const auto& row) { return in_lanes(row, 4, false); });
       }},
      {"a tree of halves",
       {"RmsNorm"},
       [](auto& t) {
         replace_rms(t, [](const auto& row) { return in_lanes(row, 8, true); });
       }},
      {"eps is added under the fma",
       {"AdamwSteps"},
       [](auto& t) {
         replace_adamw(t, [](const adamw_factors& f, const adamw_state<A>& old,
                             A::number g) {
           const auto next = adamw_update<A>(f, old, g);
           const auto denominator =
               A::fma(A::square_root(next.v), {f.inverse_sqrt_bias2}, {f.eps});
           const auto decayed = A::fma(A::negate({f.decay}), old.w, old.w);
           return A::fma(A::negate({f.step}), A::divide(next.m, denominator),
                         decayed);
         });
       }},
      {"decay after the step",
       {"AdamwSteps"},
       [](auto& t) {
         replace_adamw(t, [](const adamw_factors& f, const adamw_state<A>& old,
                             A::number g) {
           auto without = f;
           without.decay = 0;
           const auto w = adamw_update<A>(without, old, g).w;
           return A::fma(A::negate({f.decay}), old.w, w);
         });
       }},
      {"one seed's bits for both moments",
       {"AdamwSteps"},
       [](auto& t) {
         t.adamw = [](const adamw_step& step, codes_in g, codes_out m,
                      codes_out v, codes_out w, codes_out copy) {
           auto other = step;
           other.seed += golden;  // of the next element
           adamw(other, g, m, v, w, copy);
         };
       }},
      {"beta^t without squaring",
       {"AdamwFactors"},
       [](auto& t) {
         t.factors = [](const adamw_settings& s) {
           auto f = make_adamw_factors(s);
           f.step ^= s.t > 2 && s.t < 1000 ? 1u : 0u;
           return f;
         };
       }},
      {"contributions in reverse",
       {"CombinedTokens"},
       [](auto& t) {
         replace_combine(t, [](combine_rule rule, const auto& terms) {
           auto c = no_contribution<A>();
           for (auto i = terms.size(); i-- > 0;) {
             c = contribute<A>(rule, c, terms[i]);
           }
           return c.sum;
         });
       }},
      {"hops are not rounded",
       {"CombinedTokens"},
       [](auto& t) {
         replace_combine(t, [](combine_rule, const auto& terms) {
           auto c = no_contribution<A>();
           for (const auto& x : terms) {
             c = contribute<A>(combine_rule::fp32_slots, c, x);
           }
           return c.sum;
         });
       }},
      {"the first contribution is added to +0",
       {"CombinedTokens"},
       [](auto& t) {
         replace_combine(t, [](combine_rule rule, const auto& terms) {
           combined<A> c{{0}, true};
           for (const auto& x : terms) c = contribute<A>(rule, c, x);
           return c.sum;
         });
       }},
      {"an empty row has scale 0",
       {"DispatchedRows"},
       [](auto& t) {
         t.dispatch = [](const quantizer& q, codes_in x, slots_in rows,
                         codes_out codes, codes_out scales) {
           dispatch(q, x, rows, codes, scales);
           for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
             for (std::ptrdiff_t j = 0; j < scales.cols; ++j) {
               if (rows(i, 0) < 0) scales(i, j) = 0;
             }
           }
         };
       }},
  };
  return all;
}

TEST(TrainingChecks, SeeEveryFault) {
  for (const fault& f : faults()) {
    training_functions t = core_training();
    t.name = f.name;
    f.put(t);
    for (const std::string& by : f.seen_by) {
      bool there = false;
      for (const training_check& c : training_check_list()) {
        if (c.name.find(by) == std::string::npos) continue;
        there = true;
        EXPECT_GT(c.run(t, {0, 1, true}).failures, 0u)
            << c.name << " does not see: " << f.name;
      }
      EXPECT_TRUE(there) << by;
    }
  }
}

TEST(TrainingChecks, StopEarlyWhenAsked) {
  training_functions t = core_training();
  replace_apply(t, [](elementary, std::uint32_t) { return 1u; });
  for (const training_check& c : training_check_list()) {
    if (c.name.find("Operation") == std::string::npos) continue;
    EXPECT_LT(c.run(t, {0, 1, true}).cases, 20000u);
  }
}

}  // namespace
}  // namespace zeroulp::conformance
