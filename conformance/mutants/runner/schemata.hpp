// Defines what generate.py writes into the mutated core: one flag a mutant, and
// operators that change when theirs is set.
//
//   a < zm::site{17} < b     is (a < b), or (a <= b) under mutant 17

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_SCHEMATA_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_SCHEMATA_HPP_

namespace zm {

extern bool flags[];
extern bool reached[];

/// True under `mutant`. Also notes that its place was reached.
inline bool on(int mutant) {
  reached[mutant] = true;
  return flags[mutant];
}

/// `value`, one more under mutant `up`, one less under `down`.
template <class T>
T constant(T value, int up, int down) {
  if (on(up)) return value + T{1};
  if (down >= 0 && on(down)) return value - T{1};
  return value;
}

/// Nearest-even, or what the mutants make of it.
template <class Rounder, class Rounding>
Rounder nearest(int away, int zero) {
  if (on(away)) return {Rounding::nearest_away};
  if (on(zero)) return {Rounding::toward_zero};
  return {};
}

struct site {
  int mutant;
};

template <class T>
struct half {
  T left;
  bool on;
};

// By value: reading a word beyond the end must trap, taking its address does
// not.
#define ZEROULP_SCHEMATA(OP, OTHER)             \
  template <class T>                            \
  half<T> operator OP(T x, site s) {            \
    return {x, on(s.mutant)};                   \
  }                                             \
  template <class T, class U>                   \
  auto operator OP(half<T> x, U y) {            \
    return x.on ? x.left OTHER y : x.left OP y; \
  }

ZEROULP_SCHEMATA(<, <=)
ZEROULP_SCHEMATA(<=, <)
ZEROULP_SCHEMATA(>, >=)
ZEROULP_SCHEMATA(>=, >)
ZEROULP_SCHEMATA(==, !=)
ZEROULP_SCHEMATA(!=, ==)
ZEROULP_SCHEMATA(+, -)
ZEROULP_SCHEMATA(-, +)
ZEROULP_SCHEMATA(<<, >>)
ZEROULP_SCHEMATA(>>, <<)
ZEROULP_SCHEMATA(&, |)
ZEROULP_SCHEMATA(|, &)

#undef ZEROULP_SCHEMATA

}  // namespace zm

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_SCHEMATA_HPP_
