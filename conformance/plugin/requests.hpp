// Defines what the implementation functions of a plug-in share: access to the
// plug-in and the core, and parts of requests. These pad matrices to the
// multiples that the plug-in needs, and copy results back. Internal.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_REQUESTS_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_REQUESTS_HPP_

#include <algorithm>
#include <string>

#include "conformance/plugin/plugin.hpp"

namespace zeroulp::conformance::plugin {

/// The plug-in last given to implementation_of. It is global, as the functions
/// of an implementation are not closures.
plugin_code& active();

/// Answers the calls that the plug-in does not claim, or refuses.
const model_implementation& core();

/// Puts the training operations into the table.
void take_training(implementation& i);

/// The operators of a model's step, of the plug-in or the core.
model_operators operators_of_plugin();

inline std::ptrdiff_t up(std::ptrdiff_t length, std::ptrdiff_t multiple) {
  return ceil_div(length, multiple) * multiple;
}

/// Groups of `by` elements that cover `length`; `by` 0: one.
inline std::ptrdiff_t groups(std::ptrdiff_t length, std::ptrdiff_t by) {
  return by > 0 ? ceil_div(length, by) : 1;
}

template <class T>
std::string whole(T value) {
  return std::to_string(value);
}

/// The placement that the claim fixes, or else that of the view.
template <class T>
placement place_of(const claim& c, const matrix_view<T>& v) {
  if (c.place) return *c.place;
  if (v.data == nullptr) return placement::dense;
  if (v.col_stride == 1) {
    return v.row_stride == v.cols ? placement::dense : placement::padded;
  }
  return v.row_stride == 1 ? placement::transposed : placement::spread;
}

/// Returns true iff the claim takes these sizes as they are.
inline bool fits(const claim& c, std::ptrdiff_t m, std::ptrdiff_t n,
                 std::ptrdiff_t k) {
  return m > 0 && n > 0 && k > 0 && m % c.multiple[0] == 0 &&
         n % c.multiple[1] == 0 && k % c.multiple[2] == 0;
}

/// An m x n input: `x`, and `fill` beyond it or where it has no data.
inline argument input(const claim& c, codes_in x, std::ptrdiff_t m,
                      std::ptrdiff_t n, int bytes, std::uint32_t fill = 0) {
  argument a{oracle::grid(m, n, fill), bytes, place_of(c, x)};
  if (x.data == nullptr) return a;
  for (std::ptrdiff_t i = 0; i < std::min(m, x.rows); ++i) {
    for (std::ptrdiff_t j = 0; j < std::min(n, x.cols); ++j) {
      a.words(i, j) = x(i, j);
    }
  }
  return a;
}

inline argument output(std::ptrdiff_t m, std::ptrdiff_t n, int bytes,
                       placement how) {
  return {oracle::grid(m, n), bytes, how};
}

/// Copies the part of a result that was asked for.
inline void store(const argument& from, codes_out to) {
  for (std::ptrdiff_t i = 0; i < to.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < to.cols; ++j) to(i, j) = from.words(i, j);
  }
}

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_REQUESTS_HPP_
