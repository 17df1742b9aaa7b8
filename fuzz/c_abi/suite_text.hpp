// Defines where functions of the suite's C ABI leave their results. Internal.

#ifndef ZEROULP_FUZZ_C_ABI_SUITE_TEXT_HPP_
#define ZEROULP_FUZZ_C_ABI_SUITE_TEXT_HPP_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/zeroulp_suite.h"

namespace zeroulp::fuzz {

/// What zeroulp_suite_text() returns to the calling thread.
std::string& suite_text();

/// NULL says nothing.
inline std::string_view or_empty(const char* text) {
  return text == nullptr ? std::string_view{} : text;
}

/// Throws input_error if a matrix has none of the `known` names.
void check_names(const zeroulp_named_matrix* all, std::int64_t count,
                 const char* what, const std::vector<std::string>& known);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_C_ABI_SUITE_TEXT_HPP_
