// The parts of step_mutants(): the core's step on changed operands or a changed
// accumulator.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_STEP_PARTS_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_STEP_PARTS_HPP_

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {

using codes = const std::uint64_t*;

/// Operand k, decoded, then changed by `Change`.
template <auto Change>
struct changed {
  codes code;
  format f;
  unpacked operator[](std::ptrdiff_t k) const {
    return Change(f, decode(f, code[k]));
  }
};

inline unpacked same(format, unpacked x) { return x; }

inline bool is_subnormal(format f, const unpacked& x) {
  return x.kind == kind::finite && x.significand >> f.man_bits == 0;
}

template <auto Change>
std::uint64_t step_of(const path& p, codes a, codes b, int count,
                      std::uint64_t c) {
  return step(p, changed<Change>{a, p.a}, changed<Change>{b, p.b}, count, c);
}

/// The core's step with one field of the accumulator changed.
template <auto Change>
std::uint64_t with(const path& p, codes a, codes b, int count,
                   std::uint64_t c) {
  path q = p;
  Change(q);
  return step_of<same>(q, a, b, count, c);
}

inline bool is_finite_step(const path& p, codes a, codes b, int count,
                           std::uint64_t c) {
  bool finite = decode(p.acc.stored, c).is_finite();
  for (int k = 0; k < count; ++k) {
    finite = finite && decode(p.a, a[k]).is_finite() &&
             decode(p.b, b[k]).is_finite();
  }
  return finite;
}

inline bool is_aligned(const path& p) {
  return p.lowering == lowering::direct && p.acc.fraction_bits != uncut &&
         p.acc.c == addend::aligned;
}

inline mutant steps(const char* name, const char* what,
                    decltype(implementation::step) f) {
  return core_but(name, what, &implementation::step, f);
}

/// Steps that are more than a changed field: what step_mutants() adds.
mutant_list own_step_mutants();

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_STEP_PARTS_HPP_
