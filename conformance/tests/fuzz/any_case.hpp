// Defines `any_case`: cases of the case engine for RapidCheck properties. A
// counterexample is cut to fewer elements and shown as its replay token.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_ANY_CASE_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_ANY_CASE_HPP_

#include <rapidcheck/gtest.h>

#include <ostream>

#include "fuzz/cases/token.hpp"
#include "fuzz/engine/shrink.hpp"

namespace zeroulp::fuzz {

inline void showValue(const problem& p, std::ostream& out) {
  out << to_token(p);
}

/// Every half, then every single element, of every dimension left out.
inline rc::Seq<problem> smaller(const problem& p) {
  std::vector<problem> all;
  for (const char dimension : {'m', 'n', 'k'}) {
    const auto length = length_of(p, dimension);
    for (const auto run : {length / 2, std::ptrdiff_t{1}}) {
      for (std::ptrdiff_t at = 0; run > 0 && at + run <= length; at += run) {
        all.push_back(cut(p, dimension, at, run));
      }
    }
  }
  return rc::seq::fromContainer(std::move(all));
}

/// Any mixed case of `t`, some of its settings replaced.
inline rc::Gen<problem> any_case(target t, const pins& pinned = {}) {
  const auto cases = rc::gen::map(
      rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()),
      [t, pinned](std::uint64_t n) { return generate(t, -1, 1, n, pinned); });
  return rc::gen::shrink(cases, [](const problem& p) { return smaller(p); });
}

/// Targets of matrices, which kernels serve.
inline constexpr target matrix_targets[] = {
    target::quantize, target::pack,     target::retile,
    target::gemm,     target::swiglu,   target::rms_norm,
    target::adamw,    target::dispatch, target::combine};

/// Any target.
inline rc::Gen<target> any_target() {
  return rc::gen::map(rc::gen::inRange(0, target_count),
                      [](int t) { return static_cast<target>(t); });
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_ANY_CASE_HPP_
