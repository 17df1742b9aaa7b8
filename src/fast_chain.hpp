// Defines the fast chain of Hopper FP8 steps: the bits of core/gemm.hpp's
// chain() for 13 fraction bits, where its integers fit in 32 bits.
//
// Internal. Equality with the core is tested, never assumed.

#ifndef ZEROULP_SRC_FAST_CHAIN_HPP_
#define ZEROULP_SRC_FAST_CHAIN_HPP_

#include <cstdint>

#include "zeroulp/engine.hpp"

namespace zeroulp {

/// Products a step takes, and a row's padding.
inline constexpr int fast_length = 32;

/// The exponent of a zero.
inline constexpr std::int16_t zero_exponent = -2000;

/// Returns true iff `fast_chain` covers the path.
bool has_fast_chain(const path& p);

/// Returns D of ceil(count / 32) steps from c = +0, FP32 bits. `point` is the
/// sum of the operands' fraction bits.
std::uint32_t fast_chain(const prepared_operand::small* a,
                         const prepared_operand::small* b, std::ptrdiff_t count,
                         int point);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_FAST_CHAIN_HPP_
