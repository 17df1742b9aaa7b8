// Defines what files of engine cases share: `case_of` and `error_of`.

#ifndef ZEROULP_CONFORMANCE_TESTS_ENGINE_ENGINE_CASE_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_ENGINE_ENGINE_CASE_PARTS_HPP_

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "conformance/tests/engine/arrays_parts.hpp"
#include "conformance/tests/engine/engine_calls.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance {

inline format ieee(int exp, int man, int bias) {
  return {static_cast<std::uint8_t>(exp), static_cast<std::uint8_t>(man),
          static_cast<std::int16_t>(bias), specials::ieee};
}

inline std::size_t area(std::ptrdiff_t rows, std::ptrdiff_t cols) {
  return static_cast<std::size_t>(rows * cols);
}

/// The case that holds each of `all` by its difference_of(problem, calls).
template <class Problem>
engine_case case_of(std::string name, std::vector<Problem> all) {
  const auto shared =
      std::make_shared<const std::vector<Problem>>(std::move(all));
  return {std::move(name), [shared](const engine_calls& e) {
            for (std::size_t i = 0; i < shared->size(); ++i) {
              const auto what = difference_of((*shared)[i], e);
              if (!what.empty()) return fmt::format("number {}: {}", i, what);
            }
            return std::string();
          }};
}

/// What a call says in its exception.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_TESTS_ENGINE_ENGINE_CASE_PARTS_HPP_
