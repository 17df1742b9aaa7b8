// Defines what the tests of identification share.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_IDENTIFY_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_IDENTIFY_PARTS_HPP_

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/oracles/grid.hpp"
#include "fuzz/identify/class.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp::fuzz {

using oracle::grid;
using views = matrix_view<const std::uint32_t>;

inline views in(const grid& g) { return {g.words.data(), g.rows, g.cols}; }
inline matrix_view<std::uint32_t> out(grid& g) {
  return {g.words.data(), g.rows, g.cols};
}

inline bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

inline const std::vector<std::string>& values(const definition_class& c,
                                              const std::string& field) {
  for (const auto& f : c.fields) {
    if (f.name == field) return f.values;
  }
  throw std::out_of_range("no field " + field);
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_IDENTIFY_PARTS_HPP_
