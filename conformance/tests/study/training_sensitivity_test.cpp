// The training path's checks see each of these faults of elementary functions
// and factors, and every mutant: an operation more or less, an order changed, a
// special case forgotten.

#include <gtest/gtest.h>

#include "conformance/checks/training/training_functions.hpp"
#include "conformance/mutants/mutant.hpp"
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

using A = core_fp32;

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
      {"beta^t without squaring",
       {"AdamwFactors"},
       [](auto& t) {
         t.factors = [](const adamw_settings& s) {
           auto f = make_adamw_factors(s);
           f.step ^= s.t > 2 && s.t < 1000 ? 1u : 0u;
           return f;
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

TEST(TrainingChecks, SeeEveryMutant) {
  for (const mutant& m : training_mutants()) {
    std::uint64_t failures = 0;
    for (const training_check& c : training_check_list()) {
      if (c.name.find("Elementary") != std::string::npos) continue;
      failures += c.run(training_of(m.table), {0, 1, true}).failures;
    }
    EXPECT_GT(failures, 0u) << m.name;
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
