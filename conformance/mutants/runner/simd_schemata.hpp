// Defines what generate_engine.py writes into vector code: calls that do
// something else under their mutant. For one set of instructions, which the
// compiler's options allow everywhere.
//
//   zm::Add(zm::site{17}, a, b)     is hn::Add(a, b), or hn::Sub(a, b)
//   zm::ShiftLeft<8>(18, 19, x)     by 8, or by 9, or by 7

#ifndef ZEROULP_CONFORMANCE_MUTANTS_RUNNER_SIMD_SCHEMATA_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_RUNNER_SIMD_SCHEMATA_HPP_

#include <hwy/highway.h>

#include "conformance/mutants/runner/engine_schemata.hpp"

HWY_BEFORE_NAMESPACE();
namespace zm {

namespace hn = hwy::HWY_NAMESPACE;

#define ZEROULP_CALL(NAME, OTHER)                                       \
  template <class... Args>                                              \
  HWY_INLINE auto NAME(site s, Args... args) {                          \
    const auto other = [&](auto first, auto... rest) { return OTHER; }; \
    if (HWY_UNLIKELY(on(s.mutant))) return other(args...);              \
    return hn::NAME(args...);                                           \
  }
#define ZEROULP_SWAP(NAME, OTHER) ZEROULP_CALL(NAME, hn::OTHER(first, rest...))

ZEROULP_SWAP(Add, Sub)
ZEROULP_SWAP(Sub, Add)
ZEROULP_SWAP(SaturatedAdd, Add)
ZEROULP_SWAP(Min, Max)
ZEROULP_SWAP(Max, Min)
ZEROULP_SWAP(Ge, Gt)
ZEROULP_SWAP(Eq, Ne)
ZEROULP_SWAP(Ne, Eq)
ZEROULP_SWAP(And, Or)
ZEROULP_SWAP(Or, And)
ZEROULP_SWAP(Xor, Or)
ZEROULP_SWAP(AndNot, And)
ZEROULP_SWAP(IfThenElseZero, IfThenZeroElse)
ZEROULP_SWAP(IfThenZeroElse, IfThenElseZero)
ZEROULP_SWAP(Mul, Div)
ZEROULP_SWAP(Div, Mul)
ZEROULP_SWAP(MulAdd, NegMulAdd)
ZEROULP_SWAP(NegMulAdd, MulAdd)
ZEROULP_SWAP(Shl, Shr)
ZEROULP_SWAP(Shr, Shl)
ZEROULP_SWAP(ShiftLeftSame, ShiftRightSame)
ZEROULP_SWAP(ShiftRightSame, ShiftLeftSame)
ZEROULP_CALL(Gt, hn::Or(hn::Gt(first, rest...), hn::Eq(first, rest...)))
ZEROULP_CALL(Lt, hn::Or(hn::Lt(first, rest...), hn::Eq(first, rest...)))
ZEROULP_CALL(Abs, first)
ZEROULP_CALL(Neg, first)
ZEROULP_CALL(Not, first)
ZEROULP_CALL(CopySign, first)
ZEROULP_CALL(BroadcastSignBit, first)

#undef ZEROULP_SWAP
#undef ZEROULP_CALL

template <class Mask, class V>
HWY_INLINE V IfThenElse(site s, Mask mask, V yes, V no) {
  return on(s.mutant) ? hn::IfThenElse(mask, no, yes)
                      : hn::IfThenElse(mask, yes, no);
}
template <class D, class V>
HWY_INLINE V MaxOfLanes(site s, D d, V v) {
  return on(s.mutant) ? v : hn::MaxOfLanes(d, v);
}
template <class D, class Mask>
HWY_INLINE bool AllFalse(site s, D d, Mask mask) {
  return on(s.mutant) || hn::AllFalse(d, mask);
}
template <int By, class V>
HWY_INLINE V ShiftLeft(int up, int down, V v) {
  return on(up)     ? hn::ShiftLeft<By + 1>(v)
         : on(down) ? hn::ShiftLeft<By - 1>(v)
                    : hn::ShiftLeft<By>(v);
}
template <int By, class V>
HWY_INLINE V ShiftRight(int up, int down, V v) {
  return on(up)     ? hn::ShiftRight<By + 1>(v)
         : on(down) ? hn::ShiftRight<By - 1>(v)
                    : hn::ShiftRight<By>(v);
}

}  // namespace zm
HWY_AFTER_NAMESPACE();

#endif  // ZEROULP_CONFORMANCE_MUTANTS_RUNNER_SIMD_SCHEMATA_HPP_
