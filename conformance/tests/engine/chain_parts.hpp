// Defines `chain_problem`: operands of any kind for one instruction's chain,
// and what the core makes of them.

#ifndef ZEROULP_CONFORMANCE_TESTS_ENGINE_CHAIN_PARTS_HPP_
#define ZEROULP_CONFORMANCE_TESTS_ENGINE_CHAIN_PARTS_HPP_

#include "conformance/tests/engine/engine_case_parts.hpp"

namespace zeroulp::conformance {

/// Codes of any kind: 0 all, 1 few but zeros, 2 subnormal and just above, 3
/// finite ones, 4 of small exponents.
inline words any_codes(format f, int kind, std::uint64_t seed,
                       std::size_t count) {
  words codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    counter_rng rng{seed, i};
    auto code = static_cast<std::uint32_t>(rng.next() & low_bits(f.bits()));
    if (kind > 0 && !decode(f, code).is_finite()) code = 0;
    if (kind == 1 && !rng.one_in(4)) {
      code &= static_cast<std::uint32_t>(f.sign_mask());
    }
    if (kind == 2) {
      code &=
          static_cast<std::uint32_t>(f.sign_mask() | low_bits(f.man_bits + 1));
    }
    if (kind == 4) {
      code &=
          static_cast<std::uint32_t>(f.sign_mask() | low_bits(f.man_bits + 3));
    }
    codes[i] = code;
  }
  return codes;
}

/// An addend: of any magnitude, often a zero of either sign or tiny.
inline std::uint32_t any_addend(format f, std::uint64_t seed, std::uint64_t i) {
  counter_rng rng{seed, i};
  const auto code = static_cast<std::uint32_t>(rng.next());
  const auto sign = static_cast<std::uint32_t>(f.sign_mask());
  switch (rng.below(6)) {
    case 0:
      return code & sign;
    case 1:
      return code & (sign | 0xff);
    case 4:  // subnormal, and just above
      return code &
             (sign | static_cast<std::uint32_t>(low_bits(f.man_bits + 1)));
    case 5: {  // any finite number, and beyond what float holds with products
      const int shift = f.man_bits;
      const auto least = static_cast<std::uint32_t>(low_bits(f.exp_bits));
      const auto e = static_cast<std::uint32_t>(rng.below(least));
      return (code & (sign | static_cast<std::uint32_t>(low_bits(shift)))) |
             e << shift;
    }
    case 2:
      return static_cast<std::uint32_t>(
          encode(f, decode(static_cast<float>(rng.below(512)) / 8 - 32)));
    default:
      return code & static_cast<std::uint32_t>(low_bits(f.bits()));
  }
}

struct shape {
  std::ptrdiff_t m, n, k;
};

struct chain_problem {
  path p;
  shape s;
  words a, b, c, expected;
};

/// c without elements: none is given.
inline chain_problem solved(const path& p, shape s, words a, words b, words c) {
  chain_problem x{p, s, std::move(a), std::move(b), std::move(c), {}};
  for (std::ptrdiff_t i = 0; i < s.m; ++i) {
    for (std::ptrdiff_t j = 0; j < s.n; ++j) {
      const decoded_row<std::uint32_t> row{x.a.data() + i * s.k, 1, p.a};
      const decoded_row<std::uint32_t> col{x.b.data() + j * s.k, 1, p.b};
      const auto at = static_cast<std::size_t>(i * s.n + j);
      x.expected.push_back(static_cast<std::uint32_t>(
          chain(p, row, col, 0, s.k, x.c.empty() ? 0 : x.c[at])));
    }
  }
  return x;
}

inline chain_problem any_problem(const path& p, int kind, shape s,
                                 std::uint64_t seed = 1) {
  words c(area(s.m, s.n));
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = any_addend(p.acc.stored, seed + 2, i);
  }
  return solved(p, s, any_codes(p.a, kind, seed, area(s.m, s.k)),
                any_codes(p.b, kind, seed + 1, area(s.n, s.k)), std::move(c));
}

inline std::string difference_of(const chain_problem& x,
                                 const engine_calls& e) {
  const shape s = x.s;
  constexpr std::uint32_t guard = 0xdeadbeef;
  words d(x.expected.size() + area(2, s.n), guard);
  const codes_in a(x.a.data(), s.m, s.k), b(x.b.data(), s.n, s.k);
  const codes_in c = x.c.empty() ? codes_in{} : codes_in(x.c.data(), s.m, s.n);
  e.multiply(x.p, a, b, c, {d.data(), s.m, s.n});
  for (std::size_t i = 0; i < d.size(); ++i) {
    const auto right = i < x.expected.size() ? x.expected[i] : guard;
    if (d[i] == right) continue;
    return fmt::format("{} x {} x {}: output {} is {:#x}, not {:#x}", s.m, s.n,
                       s.k, i, d[i], right);
  }
  return "";
}

using chain_problems = std::vector<chain_problem>;

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_TESTS_ENGINE_CHAIN_PARTS_HPP_
