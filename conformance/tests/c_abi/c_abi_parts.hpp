// Defines what the tests of the C ABI share: matrices of vectors, test data.

#ifndef ZEROULP_CONFORMANCE_TESTS_C_ABI_C_ABI_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_C_ABI_C_ABI_PARTS_HPP_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "zeroulp/random.hpp"
#include "zeroulp/zeroulp.h"
#include "zeroulp/zeroulp.hpp"

namespace zeroulp {

/// A call that must succeed.
#define ZEROULP_CALLS(CALL) ASSERT_EQ(CALL, ZEROULP_OK) << zeroulp_last_error()

/// A row-major matrix with its views in C and in C++.
template <class T>
struct table {
  std::ptrdiff_t rows;
  std::ptrdiff_t cols;
  std::vector<T> data;

  table(std::ptrdiff_t m, std::ptrdiff_t n, T fill = {})
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n), fill) {}

  T& operator()(std::ptrdiff_t i, std::ptrdiff_t j) {
    return data[static_cast<std::size_t>(i * cols + j)];
  }
  zeroulp_matrix out() { return {data.data(), rows, cols, cols, 1, sizeof(T)}; }
  zeroulp_const_matrix in() const {
    return {data.data(), rows, cols, cols, 1, sizeof(T)};
  }
  matrix_view<T> view() { return {data.data(), rows, cols}; }
  matrix_view<const T> view() const { return {data.data(), rows, cols}; }
  friend bool operator==(const table&, const table&) = default;
};

/// Any codes of `f`: every special among them.
template <class T>
table<T> any_codes(format f, std::ptrdiff_t m, std::ptrdiff_t n,
                   std::uint64_t seed) {
  table<T> codes(m, n);
  for (std::size_t i = 0; i < codes.data.size(); ++i) {
    codes.data[i] =
        static_cast<T>(counter_rng{seed, i}.next() & low_bits(f.bits()));
  }
  return codes;
}

/// FP32 bits of numbers between 2^-12 and 2^12, a few of them special.
inline table<std::uint32_t> any_data(std::ptrdiff_t m, std::ptrdiff_t n,
                                     std::uint64_t seed, bool special = true) {
  table<std::uint32_t> x(m, n);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    counter_rng rng{seed, i};
    const auto exponent = static_cast<std::uint32_t>(rng.between(115, 138));
    x.data[i] = (rng.next32() & 0x807fffffu) | exponent << 23;
    if (special && rng.one_in(40)) {
      x.data[i] = rng.one_in(2) ? 0x7f800000u : 0xffc00001u;
    }
    if (rng.one_in(20)) x.data[i] &= 0x80000000u;
  }
  return x;
}

/// Powers of two around 1, or what is near them.
inline table<std::uint32_t> any_scales(std::ptrdiff_t m, std::ptrdiff_t n,
                                       std::uint64_t seed, bool power = false) {
  table<std::uint32_t> s(m, n);
  for (std::size_t i = 0; i < s.data.size(); ++i) {
    counter_rng rng{seed, i};
    s.data[i] = static_cast<std::uint32_t>(rng.between(120, 134)) << 23 |
                (power ? 0 : rng.next32() & 0x7fffff);
  }
  return s;
}

inline zeroulp_format c_format(format f) {
  return {f.exp_bits, f.man_bits, f.bias, static_cast<std::int32_t>(f.kind)};
}

inline std::string last_error() { return zeroulp_last_error(); }

}  // namespace zeroulp

#endif  // ZEROULP_CONFORMANCE_TESTS_C_ABI_C_ABI_PARTS_HPP_
