// Defines `buffer`: a matrix between guards that an implementation reads or
// writes.

#ifndef ZEROULP_FUZZ_CASES_RUN_BUFFER_HPP_
#define ZEROULP_FUZZ_CASES_RUN_BUFFER_HPP_

#include <type_traits>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

using conformance::placed;

/// The initial value of outputs: an element that was not written keeps it.
inline constexpr std::uint32_t nobody = 0xdeadbeef;

/// A matrix of words that an implementation reads or writes.
template <class T = std::uint32_t>
class buffer {
 public:
  /// An output.
  buffer(placement how, std::ptrdiff_t m, std::ptrdiff_t n)
      : at_(how, m, n, static_cast<T>(nobody)) {
    for_each(at_.view(), [](T& x, auto, auto) { x = static_cast<T>(nobody); });
  }
  /// An input. Codes that nobody may read surround it: Inf or NaN.
  buffer(placement how, const matrix& x)
      : at_(how, x.rows, x.cols,
            static_cast<T>((x.type.max_code() + 1) & low_bits(x.type.bits()))) {
    for_each(at_.view(), [&x](T& word, std::ptrdiff_t i, std::ptrdiff_t j) {
      word = static_cast<T>(x(i, j));
    });
  }

  matrix_view<const T> input() const { return at_.input(); }
  matrix_view<T> view() { return at_.view(); }
  bool holds() const { return at_.guards_hold(); }
  matrix read(const char* name, format type) {
    const auto v = at_.view();
    matrix x(name, type, v.rows, v.cols);
    for_each(v, [&x](T& word, std::ptrdiff_t i, std::ptrdiff_t j) {
      x(i, j) = static_cast<std::make_unsigned_t<T>>(word);
    });
    return x;
  }

 private:
  template <class Use>
  static void for_each(matrix_view<T> v, Use use) {
    for (std::ptrdiff_t i = 0; i < v.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < v.cols; ++j) use(v(i, j), i, j);
    }
  }

  placed<T> at_;
};

inline matrix one(const char* name, format type, std::uint64_t word) {
  return {name, type, 1, 1, word};
}

inline matrix guards(bool hold) { return one("guards", integer, hold ? 1 : 0); }

/// An output of the shape of `x`.
inline matrix like(const matrix& x, const char* name, format type) {
  return {name, type, x.rows, x.cols};
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CASES_RUN_BUFFER_HPP_
