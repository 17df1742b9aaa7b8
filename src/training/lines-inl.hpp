// Defines the lines of kernels.hpp over an arithmetic `A`. Included
// once for each set of vector instructions. Internal.

#if defined(ZEROULP_SRC_TRAINING_LINES_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZEROULP_SRC_TRAINING_LINES_INL_HPP_
#undef ZEROULP_SRC_TRAINING_LINES_INL_HPP_
#else
#define ZEROULP_SRC_TRAINING_LINES_INL_HPP_
#endif

#include <hwy/highway.h>

#include "src/training/hardware.hpp"
#include "src/training/kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace zeroulp::engine {
namespace HWY_NAMESPACE {
namespace {

template <class A>
struct lines {
  static auto number(std::uint32_t bits) { return A::from_bits(bits); }

  static void exp_line(const std::uint32_t* x, std::uint32_t* out,
                       std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = A::bits(exp<A>(number(x[i])));
    }
  }
  static void sigmoid_line(const std::uint32_t* x, std::uint32_t* out,
                           std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = A::bits(sigmoid<A>(number(x[i])));
    }
  }
  static void rsqrt_line(const std::uint32_t* x, std::uint32_t* out,
                         std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = A::bits(rsqrt<A>(number(x[i])));
    }
  }
  static void elementary_line(elementary which, const std::uint32_t* x,
                              std::uint32_t* out, std::size_t n) {
    which == elementary::exp       ? exp_line(x, out, n)
    : which == elementary::sigmoid ? sigmoid_line(x, out, n)
                                   : rsqrt_line(x, out, n);
  }

  static void swiglu_line(const std::uint32_t* g, const std::uint32_t* u,
                          std::uint32_t* h, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      h[i] = A::bits(swiglu_value<A>(number(g[i]), number(u[i])));
    }
  }

  static void swiglu_gradient_line(const std::uint32_t* g,
                                   const std::uint32_t* u,
                                   const std::uint32_t* dh,
                                   const gradient_lines& out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto value =
          swiglu_gradient<A>(number(g[i]), number(u[i]), number(dh[i]));
      out.h[i] = A::bits(value.h);
      out.dg[i] = A::bits(value.dg);
      out.du[i] = A::bits(value.du);
    }
  }

  static void rms_fold_line(std::ptrdiff_t first, const std::uint32_t* x,
                            std::size_t n, rms_sums& sums) {
    for (std::size_t i = 0; i < n; i += rms_run) {
      const auto run = (static_cast<std::size_t>(first) + i) / rms_run;
      std::uint32_t& lane = sums.lane[run % rms_lanes];
      auto sum = number(lane);
      for (std::size_t k = i; k < n && k < i + rms_run; ++k) {
        sum = A::fma(number(x[k]), number(x[k]), sum);
      }
      lane = A::bits(sum);
    }
  }

  static void rms_factor(const rms_sums& sums, std::ptrdiff_t n,
                         std::uint32_t eps, std::uint32_t& factor) {
    typename A::number p[rms_lanes];
    for (std::ptrdiff_t t = 0; t < rms_lanes; ++t) p[t] = number(sums.lane[t]);
    factor = A::bits(
        rms_rstd<A>(rms_tree<A>(p), number(count_as_fp32(n)), number(eps)));
  }

  static void rms_line(const std::uint32_t* x, std::uint32_t factor,
                       const std::uint32_t* w, std::uint32_t* y,
                       std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = A::bits(rms_value<A>(number(x[i]), number(factor), number(w[i])));
    }
  }

  static void adamw_line(const adamw_factors& f, const std::uint32_t* g,
                         const adamw_lines& state, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto next = adamw_update<A>(
          f, {number(state.m[i]), number(state.v[i]), number(state.w[i])},
          number(g[i]));
      state.m[i] = A::bits(next.m);
      state.v[i] = A::bits(next.v);
      state.w[i] = A::bits(next.w);
    }
  }

  static void contribute_line(combine_rule rule, bool any,
                              const std::uint32_t* x,
                              const std::uint32_t* weight, std::uint32_t* sum,
                              std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const combined<A> c{number(sum[i]), any};
      const auto value = number(x[i]);
      sum[i] = A::bits((weight == nullptr
                            ? contribute<A>(rule, c, value)
                            : contribute<A>(rule, c, value, number(*weight)))
                           .sum);
    }
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace zeroulp::engine
HWY_AFTER_NAMESPACE();

#endif  // ZEROULP_SRC_TRAINING_LINES_INL_HPP_
