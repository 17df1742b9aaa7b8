// Faults of the tensor-core step that need a small step of their own: other
// groups, other orders, other terms.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "conformance/mutants/step_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// The products are aligned by themselves; c joins their sum uncut.
std::uint64_t c_outside(const path& p, codes a, codes b, int count,
                        std::uint64_t c) {
  if (!is_aligned(p) || !is_finite_step(p, a, b, count, c)) {
    return step_of<same>(p, a, b, count, c);
  }
  const auto products = detail::aligned_sum(p, changed<same>{a, p.a},
                                            changed<same>{b, p.b}, count, {});
  return detail::convert_sum(
      p.acc, sum(products, decode(p.acc.stored, c), p.acc.conversion));
}

/// A zero operand has the smallest exponent, and counts.
std::uint64_t zeros_align(const path& p, codes a, codes b, int count,
                          std::uint64_t c) {
  const auto place = [](format f, std::uint64_t code) {
    const unpacked x = decode(f, code);
    return x.is_zero() ? f.min_exponent() : x.exponent + f.man_bits;
  };
  if (!is_aligned(p) || !is_finite_step(p, a, b, count, c)) {
    return step_of<same>(p, a, b, count, c);
  }
  path q = p;
  int largest = std::max<int>(p.acc.exponent_floor, place(p.acc.stored, c));
  for (int k = 0; k < count; ++k) {
    largest = std::max(largest, place(p.a, a[k]) + place(p.b, b[k]));
  }
  q.acc.exponent_floor = static_cast<std::int16_t>(largest);
  return step_of<same>(q, a, b, count, c);
}

/// A negative sum that truncates or rounds to zero, or is cut away, is -0.
std::uint64_t negative_zero(const path& p, codes a, codes b, int count,
                            std::uint64_t c) {
  const auto result = step_of<same>(p, a, b, count, c);
  if (result != 0 || !is_finite_step(p, a, b, count, c) || !is_aligned(p)) {
    return result;
  }
  const auto total =
      detail::aligned_sum(p, changed<same>{a, p.a}, changed<same>{b, p.b},
                          count, decode(p.acc.stored, c));
  return total.negative ? p.acc.stored.sign_mask() : 0;
}

/// Steps of a part of the length, chained.
template <int Parts>
std::uint64_t shorter(const path& p, codes a, codes b, int count,
                      std::uint64_t c) {
  const int length = p.acc.length / Parts;
  if (!is_aligned(p) || length == 0) return step_of<same>(p, a, b, count, c);
  for (int k = 0; k < count || k == 0; k += length) {
    c = step_of<same>(p, a + k, b + k, std::min(length, count - k), c);
  }
  return c;
}

/// Each product is rounded to FP16, and multiplied by one.
std::uint64_t fp16_products(const path& p, codes a, codes b, int count,
                            std::uint64_t c) {
  if (!is_aligned(p) || p.a.bits() != 8) {
    return step_of<same>(p, a, b, count, c);
  }
  std::vector<std::uint64_t> products;
  for (int k = 0; k < count; ++k) {
    products.push_back(encode(
        fp16, product(decode(p.a, a[k]), decode(p.b, b[k])), {}, cuda_nosat));
  }
  const std::vector<std::uint64_t> ones(products.size(), 0x3c00);
  return step_of<same>({fp16, fp16, p.acc}, products.data(), ones.data(), count,
                       c);
}

/// The two instructions of a lowered step: which k each takes, in what order.
template <auto FirstTakes>
std::uint64_t lowered(const path& p, codes a, codes b, int count,
                      std::uint64_t c) {
  if (p.lowering != lowering::hmma_chained) {
    return step_of<same>(p, a, b, count, c);
  }
  const path half{p.a, p.b, p.acc};
  std::vector<std::uint64_t> x[2];
  std::vector<std::uint64_t> y[2];
  for (int k = 0; k < count; ++k) {
    const int which = FirstTakes(k) ? 0 : 1;
    x[which].push_back(a[k]);
    y[which].push_back(b[k]);
  }
  std::uint64_t result = 0;
  for (int i = 0; i < 2; ++i) {
    result = step_of<same>(half, x[i].data(), y[i].data(),
                           static_cast<int>(x[i].size()), result);
  }
  return add(p.acc.stored, c, result);
}

bool high_pair(int k) { return k % 4 >= 2; }
bool first_half(int k) { return k < 16; }
bool even(int k) { return k % 2 == 0; }

/// A lowered step whose c enters the first instruction.
std::uint64_t lowered_c_first(const path& p, codes a, codes b, int count,
                              std::uint64_t c) {
  if (p.lowering != lowering::hmma_chained) {
    return step_of<same>(p, a, b, count, c);
  }
  std::vector<std::uint64_t> x[2];
  std::vector<std::uint64_t> y[2];
  for (int k = 0; k < count; ++k) {
    x[high_pair(k) ? 1 : 0].push_back(a[k]);
    y[high_pair(k) ? 1 : 0].push_back(b[k]);
  }
  const path half{p.a, p.b, p.acc};
  for (int i = 0; i < 2; ++i) {
    c = step_of<same>(half, x[i].data(), y[i].data(),
                      static_cast<int>(x[i].size()), c);
  }
  return c;
}

}  // namespace

mutant_list own_step_mutants() {
  return {
      steps("c_outside", "as if c were outside the alignment", c_outside),
      steps("zeros_align", "as if zeros took part in the alignment",
            zeros_align),
      steps("negative_zero", "as if a negative sum became -0", negative_zero),
      steps("half_length", "as if a step took half the products", shorter<2>),
      steps("groups_of_four", "as if products were summed in fours",
            shorter<8>),
      steps("fp16_products", "as if products were rounded to FP16",
            fp16_products),
      steps("lowered_high_first", "as if k mod 4 in {2, 3} came first",
            lowered<high_pair>),
      steps("lowered_halves", "as if k below 16 came first",
            lowered<first_half>),
      steps("lowered_even_odd", "as if even k came first", lowered<even>),
      steps("lowered_c_first", "as if c entered the first instruction",
            lowered_c_first),
  };
}

}  // namespace zeroulp::conformance
