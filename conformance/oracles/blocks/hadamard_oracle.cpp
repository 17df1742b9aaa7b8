#include "conformance/oracles/blocks/hadamard_oracle.hpp"

#include <cmath>
#include <vector>

#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/rational_step.hpp"

#ifdef __FAST_MATH__
#error "The oracles need IEEE 754 arithmetic of the host."
#endif

namespace zeroulp::oracle {
namespace {

constexpr policy ieee{false, false, false, nan_payload::all_ones, true};

std::uint32_t rounded(format f, double x) {
  return static_cast<std::uint32_t>(nearest_code(f, x, 1, ieee));
}

std::vector<float> transformed(const std::vector<float>& x) {
  if (x.size() == 1) return x;
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  const auto left = transformed({x.begin(), middle});
  const auto right = transformed({middle, x.end()});
  std::vector<float> sums;
  for (std::size_t i = 0; i < left.size(); ++i) {
    sums.push_back(left[i] + right[i]);
  }
  for (std::size_t i = 0; i < left.size(); ++i) {
    sums.push_back(left[i] - right[i]);
  }
  return sums;
}

/// H of size 1, 2, 4, ...: a row, built from the halves of the smaller one.
std::vector<int> hadamard_row(int j, int size) {
  if (size == 1) return {1};
  auto row = hadamard_row(j % (size / 2), size / 2);
  const auto half = row.size();
  for (std::size_t i = 0; i < half; ++i) {
    row.push_back(j < size / 2 ? row[i] : -row[i]);
  }
  return row;
}

}  // namespace

grid hadamard(const hadamard_transform& t, const path* by,
              const std::int8_t* signs, const grid& x) {
  grid y(x.rows, x.cols);
  const float scale =
      t.scale == 0
          ? static_cast<float>(1 / std::sqrt(static_cast<double>(t.size)))
          : to_float(t.scale);
  const auto sign = [&](int e) {
    return signs != nullptr && signs[e] < 0 ? -1 : 1;
  };
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < x.cols; k += t.size) {
      if (by == nullptr) {
        std::vector<float> block;
        for (int e = 0; e < t.size; ++e) {
          block.push_back(
              static_cast<float>(sign(e) * code_value(t.from, x(i, k + e))));
        }
        const auto sums = transformed(block);
        for (int j = 0; j < t.size; ++j) {
          const float scaled = sums[static_cast<std::size_t>(j)] * scale;
          y(i, k + j) = rounded(t.to, static_cast<double>(scaled));
        }
        continue;
      }
      std::vector<std::uint64_t> a;
      for (int e = 0; e < t.size; ++e) a.push_back(x(i, k + e));
      for (int j = 0; j < t.size; ++j) {
        const auto row = hadamard_row(j, t.size);
        std::vector<std::uint64_t> b;
        for (int e = 0; e < t.size; ++e) {
          b.push_back(rounded(by->b, row[static_cast<std::size_t>(e)] *
                                         sign(e) * static_cast<double>(scale)));
        }
        const auto d = rational_chain(*by, a.data(), b.data(), t.size, 0);
        y(i, k + j) = rounded(t.to, code_value(by->acc.stored, d));
      }
    }
  }
  return y;
}

}  // namespace zeroulp::oracle
