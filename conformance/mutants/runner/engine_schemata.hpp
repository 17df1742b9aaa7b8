// Defines what generate_engine.py writes into scalar code besides schemata.hpp.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_ENGINE_SCHEMATA_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_ENGINE_SCHEMATA_HPP_

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "conformance/mutants/runner/schemata.hpp"

namespace zm {

/// `value`, doubled under the mutant, or 1 for 0.
template <class T>
T real(T value, int mutant) {
  return !on(mutant) ? value : value == 0 ? T{1} : 2 * value;
}

template <class T, class U>
auto min(site s, T a, U b) {
  return (b < a) != on(s.mutant) ? b : a;
}
template <class T, class U>
auto max(site s, T a, U b) {
  return (a < b) != on(s.mutant) ? b : a;
}
template <class T>
T min(site s, std::initializer_list<T> list) {
  return on(s.mutant) ? std::max(list) : std::min(list);
}

// The functions of an arithmetic A (core/elementary.hpp), and others.
#define ZEROULP_ARITHMETIC(NAME, OTHER)                      \
  template <class A, class... Args>                          \
  constexpr auto NAME(site s, Args... args) {                \
    const auto other = [](auto a, auto... rest) {            \
      ((void)rest, ...);                                     \
      return OTHER;                                          \
    };                                                       \
    return on(s.mutant) ? other(args...) : A::NAME(args...); \
  }
ZEROULP_ARITHMETIC(add, A::subtract(a, rest...))
ZEROULP_ARITHMETIC(subtract, A::add(a, rest...))
ZEROULP_ARITHMETIC(multiply, A::divide(a, rest...))
ZEROULP_ARITHMETIC(divide, A::multiply(a, rest...))
ZEROULP_ARITHMETIC(negate, a)
ZEROULP_ARITHMETIC(square_root, a)
#undef ZEROULP_ARITHMETIC

template <class A, class N>
auto fma(site s, N a, N b, N c) {
  return on(s.mutant) ? A::add(A::multiply(a, b), c) : A::fma(a, b, c);
}
template <class A, class N>
std::uint16_t bf16_code(site s, N a) {
  const auto x = on(s.mutant) ? a : A::round_to_bf16(a);
  return static_cast<std::uint16_t>(A::bits(x) >> 16);
}

inline double fma(site s, double a, double b, double c) {
  return on(s.mutant) ? a * b + c : __builtin_fma(a, b, c);
}
// Of the core: found beside its formats.
template <class F, class... Args>
auto add(site s, F f, Args... args) {
  return on(s.mutant) ? subtract(f, args...) : add(f, args...);
}
template <class F, class... Args>
auto subtract(site s, F f, Args... args) {
  return on(s.mutant) ? add(f, args...) : subtract(f, args...);
}
template <class F, class... Args>
auto multiply(site s, F f, Args... args) {
  return on(s.mutant) ? divide(f, args...) : multiply(f, args...);
}
template <class F, class... Args>
auto divide(site s, F f, Args... args) {
  return on(s.mutant) ? multiply(f, args...) : divide(f, args...);
}
template <class F, class T>
T square_root(site s, F f, T a) {
  return on(s.mutant) ? a : square_root(f, a);
}
template <class F, class T>
T fma(site s, F f, T a, T b, T c) {
  return on(s.mutant) ? add(f, multiply(f, a, b), c) : fma(f, a, b, c);
}

}  // namespace zm

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_ENGINE_SCHEMATA_HPP_
