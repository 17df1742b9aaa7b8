// Defines `strange_steps`: what no mechanism of the probe does with products of
// FP8 and c, so that it has to say so. By the core's arithmetic alone.

#ifndef ZEROULP_CONFORMANCE_TESTS_FUZZ_STRANGE_STEPS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_FUZZ_STRANGE_STEPS_HPP_

#include <algorithm>
#include <bit>
#include <vector>

#include "conformance/mutants/step_parts.hpp"
#include "fuzz/probe/black_box.hpp"
#include "fuzz/probe/mechanism.hpp"
#include "zeroulp/core/arith.hpp"

namespace zeroulp::test {

using fuzz::step_case;
using products = std::vector<std::uint64_t>;  ///< FP32, exact

struct strange_step {
  const char* name;
  std::uint64_t (*run)(const path&, const step_case&);  ///< of finite operands
};

inline std::uint64_t step_of(const path& p, const step_case& s) {
  const conformance::changed<conformance::same> a{s.a.data(), p.a};
  const conformance::changed<conformance::same> b{s.b.data(), p.b};
  return step(p, a, b, s.count, s.c);
}

inline products products_of(const path& p, const step_case& s) {
  products all;
  for (std::size_t k = 0; k < static_cast<std::size_t>(s.count); ++k) {
    all.push_back(
        multiply(fp32, recode(p.a, s.a[k], fp32), recode(p.b, s.b[k], fp32)));
  }
  return all;
}

inline std::uint64_t magnitude(std::uint64_t x) {
  return x & fp32.magnitude_mask();
}

/// One after the other, to nearest.
inline std::uint64_t sum_of(const products& all, std::uint64_t from) {
  for (const auto x : all) from = add(fp32, from, x);
  return from;
}

/// The products k with use(k); others are +0.
template <class Use>
step_case only(step_case s, Use use) {
  for (int k = 0; k < s.count; ++k) {
    if (!use(k)) s.a[static_cast<std::size_t>(k)] = 0;
  }
  return s;
}

inline step_case with_c(step_case s, std::uint64_t c) {
  s.c = c;
  return s;
}

template <class Less>
std::uint64_t sum_sorted(const path& p, const step_case& s, Less less) {
  auto all = products_of(p, s);
  std::stable_sort(all.begin(), all.end(), less);
  return sum_of(all, s.c);
}

template <class Change>
std::uint64_t sum_changed(const path& p, const step_case& s, Change change) {
  auto all = products_of(p, s);
  for (auto& x : all) x = change(x);
  return sum_of(all, s.c);
}

/// Numbers of FP32 as multiples of 2^-18, of which a sum has 24 bits.
inline std::uint64_t wrapped_sum(const path& p, const step_case& s) {
  std::int64_t sum = 0;
  for (const auto x : products_of(p, s)) {
    const unpacked u = decode(fp32, x);
    if (u.is_zero()) continue;
    const int shift = u.exponent + 18;
    const auto n = static_cast<std::int64_t>(
        shift >= 0 ? u.significand << shift : u.significand >> -shift);
    sum += u.negative ? -n : n;
  }
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) << 40) >> 40;
  const auto size = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  const unpacked u{size, -18, kind::finite, sum < 0};
  return add(fp32, encode(fp32, size == 0 ? unpacked{} : u, {}, cuda_nosat),
             s.c);
}

inline std::uint64_t compensated(const path& p, const step_case& s) {
  std::uint64_t sum = s.c;
  std::uint64_t lost = 0;
  for (const auto x : products_of(p, s)) {
    const auto y = subtract(fp32, x, lost);
    const auto t = add(fp32, sum, y);
    lost = subtract(fp32, subtract(fp32, t, sum), y);
    sum = t;
  }
  return sum;
}

inline std::uint64_t as_a_tree(const path& p, const step_case& s) {
  auto all = products_of(p, s);
  for (; all.size() > 1; all.resize((all.size() + 1) / 2)) {
    for (std::size_t i = 0; i < all.size() / 2; ++i) {
      all[i] = add(fp32, all[2 * i], all[2 * i + 1]);
    }
    if (all.size() % 2 == 1) all[all.size() / 2] = all.back();
  }
  return add(fp32, all[0], s.c);
}

inline std::uint64_t of_the_largest(const path& p, const step_case& s) {
  const auto all = products_of(p, s);
  auto sizes = all;
  for (auto& x : sizes) x = magnitude(x);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  const auto least = sizes[std::min<std::size_t>(7, sizes.size() - 1)];
  return step_of(p, only(s, [&](int k) {
                   return magnitude(all[static_cast<std::size_t>(k)]) >= least;
                 }));
}

inline std::uint64_t cut_by_parity(const path& p, const step_case& s) {
  path other = p;
  int bits = std::popcount(s.c);
  for (const auto a : s.a) bits += std::popcount(a);
  other.acc.cut = bits % 2 == 0 ? rounding::toward_zero : rounding::to_odd;
  return step_of(other, s);
}

inline std::uint64_t by_signs(const path& p, const step_case& s) {
  const auto all = products_of(p, s);
  const auto of = [&](bool negative) {
    return step_of(p, with_c(only(s,
                                  [&](int k) {
                                    const auto x =
                                        all[static_cast<std::size_t>(k)];
                                    return (x >> 31 != 0) == negative;
                                  }),
                             0));
  };
  return add(fp32, add(fp32, of(false), of(true)), s.c);
}

inline constexpr strange_step strange_steps[] = {
    {"a tree of FP32 sums", as_a_tree},
    {"a compensated sum", compensated},
    {"sums that wrap", wrapped_sum},
    {"the eight largest products", of_the_largest},
    {"a cut by the parity of the operands", cut_by_parity},
    {"positive and negative products apart", by_signs},
    {"the largest first",
     [](const path& p, const step_case& s) {
       return sum_sorted(
           p, s, [](auto x, auto y) { return magnitude(x) > magnitude(y); });
     }},
    {"the smallest first",
     [](const path& p, const step_case& s) {
       return sum_sorted(
           p, s, [](auto x, auto y) { return magnitude(x) < magnitude(y); });
     }},
    {"products in FP16",
     [](const path& p, const step_case& s) {
       return sum_changed(p, s, [](auto x) {
         return recode(fp16, recode(fp32, x, fp16), fp32);
       });
     }},
    {"products of at most 1024",
     [](const path& p, const step_case& s) {
       return sum_changed(p, s, [](auto x) {
         return std::min<std::uint64_t>(magnitude(x), 0x44800000) |
                (x & fp32.sign_mask());
       });
     }},
    {"c twice",
     [](const path& p, const step_case& s) {
       return add(fp32, step_of(p, s), s.c);
     }},
    {"c in BF16",
     [](const path& p, const step_case& s) {
       return step_of(p,
                      with_c(s, recode(bf16, recode(fp32, s.c, bf16), fp32)));
     }},
    {"c with the even products alone",
     [](const path& p, const step_case& s) {
       const auto even = only(s, [](int k) { return k % 2 == 0; });
       const auto odd = only(s, [](int k) { return k % 2 != 0; });
       return add(fp32, step_of(p, even), step_of(p, with_c(odd, 0)));
     }},
    {"F by the sign of c",
     [](const path& p, const step_case& s) {
       path other = p;
       if ((s.c & fp32.sign_mask()) != 0) other.acc.fraction_bits -= 2;
       return step_of(other, s);
     }},
    {"F by the number of products",
     [](const path& p, const step_case& s) {
       path other = p;
       if (fuzz::used_products(s).size() > 2) other.acc.fraction_bits -= 1;
       return step_of(other, s);
     }},
    {"without the last product beside 1",
     [](const path& p, const step_case& s) {
       const bool one = s.a[0] == 0x38;
       return step_of(p,
                      only(s, [&](int k) { return !one || k != s.count - 1; }));
     }},
    {"the last bit clear from 1 to 2",
     [](const path& p, const step_case& s) {
       const auto d = step_of(p, s);
       return d >> 23 == 127 ? d & ~std::uint64_t{0x400} : d;
     }},
    {"to e8m10, and that to e8m6",
     [](const path& p, const step_case& s) {
       constexpr format e8m10{8, 10, 127, specials::ieee};
       constexpr format e8m6{8, 6, 127, specials::ieee};
       const auto d = recode(fp32, step_of(p, s), e8m10);
       return recode(e8m6, recode(e8m10, d, e8m6), fp32);
     }},
};

}  // namespace zeroulp::test

#endif  // ZEROULP_CONFORMANCE_TESTS_FUZZ_STRANGE_STEPS_HPP_
