// Defines replay tokens: a problem as one word of text that a shell leaves as
// it is.
//
//   2/quantize/from=fp32,to=e4m3,.../x=1x3.3f800000.0.80000001/.../end
//
// SPEC version / target / settings / one field for each operand: its shape,
// then its codes in hexadecimal, row by row; 0r128 is 128 zeros. `end` closes
// the token, so that a truncated one is invalid rather than another case.

#ifndef ZEROULP_FUZZ_CASES_TOKEN_HPP_
#define ZEROULP_FUZZ_CASES_TOKEN_HPP_

#include <string>
#include <string_view>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

/// How many elements from `i` on are equal.
std::size_t run_of(const matrix& x, std::size_t i);

std::string to_token(const problem& p);

/// Returns the problem that to_token wrote: every setting, every operand, in
/// their order. Throws input_error that says which part is wrong.
problem parse_token(std::string_view token);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_TOKEN_HPP_
