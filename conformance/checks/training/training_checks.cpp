// The list of the training path's checks, and those of exp, sigmoid and rsqrt;
// matrices are in training_matrix_checks.cpp.

#include <fmt/format.h>

#include <cmath>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/float_sweep.hpp"
#include "conformance/checks/training/training_parts.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

namespace zeroulp::conformance {
namespace {

/// A function with its oracles.
struct function_row {
  const char* name;
  elementary which;
  std::uint32_t (*expected)(std::uint32_t x);
  double (*error)(std::uint32_t x, std::uint32_t result);
  double (*near)(double x);  ///< in FP64, of numbers
  double bound;              ///< E5, in ulps
};

constexpr function_row functions[] = {
    {"exp", elementary::exp, oracle::exponential, oracle::exponential_error,
     [](double x) { return std::exp(x); }, 0.78},
    {"sigmoid", elementary::sigmoid, oracle::logistic, oracle::logistic_error,
     [](double x) {
       const double e = std::exp(-std::fabs(x));
       return (x < 0 ? e : 1) / (1 + e);
     },
     0.99},
    {"rsqrt", elementary::rsqrt, oracle::inverse_root,
     oracle::inverse_root_error, [](double x) { return 1 / std::sqrt(x); },
     0.501},
};

/// Returns false if MPFR need not be asked: the result is a normal number
/// within the bound less 2^-20 ulps.
bool is_close(const function_row& f, std::uint32_t x, std::uint32_t result) {
  if (result < 0x00800000 || result > 0x7f000000) return false;
  const double y = f.near(static_cast<double>(bit_cast<float>(x)));
  const double error = static_cast<double>(bit_cast<float>(result)) - y;
  return std::fabs(error) <
         (f.bound - 0x1p-20) * std::ldexp(1.0, std::ilogb(y) - 23);
}

/// Calls use(x, n) for blocks of arguments: special ones, then every so many of
/// all 2^32, upwards.
template <class Use>
void for_arguments(const effort& e, Use use) {
  std::vector<std::uint32_t> x;
  for (const auto code : special_codes(fp32)) {
    x.push_back(static_cast<std::uint32_t>(code));
  }
  // Where exp and sigmoid change their nature, and where n does.
  for (const std::uint32_t sign : {0u, 0x80000000u}) {
    for (const float at : {0x1.0a2b24p0f, 0x1.62e42ep-2f, 16.6f, 17.5f, 87.5f,
                           0x1.62e42ep6f, 89.0f, 0x1.9fe368p6f, 104.0f}) {
      for (std::uint32_t step = 0; step <= 80; ++step) {
        x.push_back((bit_cast<std::uint32_t>(at) - 40 + step) | sign);
      }
    }
  }
  use(x);
  const std::uint64_t stride = sweep_stride(e.level);
  constexpr std::size_t block = 1 << 14;
  x.clear();
  for (std::uint64_t code = e.seed % stride; code >> 32 == 0; code += stride) {
    x.push_back(static_cast<std::uint32_t>(code));
    if (x.size() < block) continue;
    use(x);
    x.clear();
  }
  use(x);
}

/// Calls count(x, result) for each argument and what `t` makes of it.
template <class Count>
void for_results(const training_functions& t, elementary which, const effort& e,
                 const verdict& v, Count count) {
  std::vector<std::uint32_t> out;
  for_arguments(e, [&](const std::vector<std::uint32_t>& x) {
    if (x.empty() || (e.stop_early && v.failures > 0)) return;
    const auto n = static_cast<std::ptrdiff_t>(x.size());
    out.resize(x.size());
    t.apply(which, {x.data(), 1, n}, {out.data(), 1, n});
    for (std::size_t i = 0; i < x.size(); ++i) count(x[i], out[i]);
  });
}

/// The core takes hours for all arguments: it gets those of the level below.
effort within_reason(const training_functions& t, effort e) {
  if (t.name == "core" && e.level > 0) --e.level;
  return e;
}

verdict within_their_bounds(const training_functions& t, const effort& given) {
  verdict v;
  const effort e = within_reason(t, given);
  for (const function_row& f : functions) {
    for_results(t, f.which, e, v, [&](std::uint32_t x, std::uint32_t result) {
      if (is_close(f, x, result)) {
        ++v.cases;
        return;
      }
      const double error = f.error(x, result);
      v.count(error <= f.bound, [&] {
        return fmt::format("{}({:08x}) is {:08x}: off by {} ulps", f.name, x,
                           result, error);
      });
    });
  }
  v.exhaustive = e.level >= 3;
  return v;
}

verdict operation_by_operation(const training_functions& t,
                               const effort& given) {
  verdict v;
  const effort e = within_reason(t, given);
  for (const function_row& f : functions) {
    for_results(t, f.which, e, v, [&](std::uint32_t x, std::uint32_t result) {
      const auto want = f.expected(x);
      v.compare(result, want, [&] {
        return fmt::format("{}({:08x}) is {:08x}, not {:08x}", f.name, x,
                           result, want);
      });
    });
  }
  v.exhaustive = e.level >= 3;
  return v;
}

verdict never_the_wrong_way(const training_functions& t, const effort& given) {
  verdict v;
  const effort e = within_reason(t, given);
  for (const function_row& f : functions) {
    // Of one sign, ascending codes are ascending magnitudes.
    std::uint32_t last_x = 0;
    std::uint32_t last = 0;
    for_results(t, f.which, e, v, [&](std::uint32_t x, std::uint32_t result) {
      const bool number =
          (x & 0x7fffffff) <= 0x7f800000 && result <= 0x7f800000;
      const bool comparable =
          number && x > last_x && (x ^ last_x) >> 31 == 0 && last <= 0x7f800000;
      const bool falls = x >> 31 != 0 || f.which == elementary::rsqrt;
      if (comparable) {
        v.count(falls ? result <= last : result >= last, [&] {
          return fmt::format("{}: {:08x} gives {:08x}, {:08x} gives {:08x}",
                             f.name, last_x, last, x, result);
        });
      }
      last_x = x;
      last = number ? result : 0xffffffff;
    });
  }
  v.exhaustive = e.level >= 3;
  return v;
}

}  // namespace

std::vector<training_check> training_check_list() {
  return {
      {"ElementaryFunctionsOperationByOperation", "E1 E2 E3 E4", "host FP32", 0,
       operation_by_operation},
      {"ElementaryFunctionsAreWithinTheirBounds", "E5", "MPFR", 0,
       within_their_bounds},
      {"ElementaryFunctionsAreMonotone", "E5", "property", 0,
       never_the_wrong_way},
      {"SwigluForwardElements", "S1 S2", "host FP32", 0, swiglu_forward_checks},
      {"SwigluBackwardElements", "S1 S3", "host FP32", 0,
       swiglu_backward_checks},
      {"RmsNormRows", "S1 S4 S5", "host FP32", 0, rms_norm_checks},
      {"AdamwFactors", "S7", "host FP64", 0, adamw_factor_checks},
      {"AdamwSteps", "S6 S8", "host FP32", 0, adamw_checks},
      {"CombinedTokens", "S9 S10", "host FP32, GMP", 0, combine_checks},
      {"DispatchedRows", "S11", "comparison", 0, dispatch_checks},
  };
}

check_list training_checks() {
  check_list all;
  for (const training_check& c : training_check_list()) {
    all.push_back({c.name + "OfTheCore", c.clauses, c.oracle, c.level,
                   [run = c.run](const implementation& i, const effort& e) {
                     return run(training_of(i), e);
                   }});
  }
  for (const training_check& c : training_check_list()) {
    all.push_back({c.name + "OfTheEngine", c.clauses, c.oracle, c.level,
                   [run = c.run](const implementation&, const effort& e) {
                     return run(engine_training(), e);
                   }});
  }
  return all;
}

}  // namespace zeroulp::conformance
