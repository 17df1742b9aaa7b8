// Defines `builder`: a step case written as integers times powers of two. A
// case that a path has no numbers or no room for is left out.

#ifndef ZEROULP_CONFORMANCE_CASES_STEP_BUILDER_HPP_
#define ZEROULP_CONFORMANCE_CASES_STEP_BUILDER_HPP_

#include <algorithm>
#include <vector>

#include "conformance/cases/step_cases.hpp"

namespace zeroulp::conformance {

/// (-1)^negative * u * v * 2^exponent: a product, or c with v = 1.
struct scaled {
  bool negative;
  std::uint64_t u;
  std::uint64_t v;
  int exponent;
};

inline scaled operator-(scaled x) {
  x.negative = !x.negative;
  return x;
}

/// Which factor takes the exponent where there is a choice.
enum class split : std::uint8_t { even, small_a, small_b };

class builder {
 public:
  explicit builder(const path& p) : p_(p) {}

  builder& product(int k, scaled x, split how = split::even) {
    const auto at = static_cast<std::size_t>(k);
    if (s_.a.size() <= at) {
      s_.a.resize(at + 1, 0);
      s_.b.resize(at + 1, 0);
    }
    const int reach = 1 << std::max(p_.a.exp_bits, p_.b.exp_bits);
    for (int i = 0; i < 2 * reach; ++i) {
      const int shift = i % 2 == 0 ? i / 2 : -(i / 2) - 1;
      int ea = x.exponent / 2 + shift;
      if (how == split::small_a) ea = 1 - p_.a.bias - p_.a.man_bits + i;
      if (how == split::small_b) {
        ea = x.exponent - (1 - p_.b.bias - p_.b.man_bits + i);
      }
      const auto a = code_for(p_.a, x.negative, x.u, ea);
      const auto b = code_for(p_.b, false, x.v, x.exponent - ea);
      if (!a || !b) continue;
      s_.a[at] = *a;
      s_.b[at] = *b;
      return *this;
    }
    representable_ = false;
    return *this;
  }

  builder& codes(int k, std::uint64_t a, std::uint64_t b) {
    const auto at = static_cast<std::size_t>(k);
    s_.a.resize(std::max(s_.a.size(), at + 1), 0);
    s_.b.resize(std::max(s_.b.size(), at + 1), 0);
    s_.a[at] = a;
    s_.b[at] = b;
    return *this;
  }

  builder& c(scaled x) {
    const auto code =
        code_for(p_.acc.stored, x.negative, x.u * x.v, x.exponent);
    representable_ = representable_ && code;
    s_.c = code.value_or(0);
    return *this;
  }

  builder& c_code(std::uint64_t code) {
    s_.c = code;
    return *this;
  }

  /// Calls `visit` where the path has these numbers and room for them.
  void give(const step_visitor& visit) const {
    int length = p_.acc.length;
    if (p_.lowering != lowering::direct) length *= 2;
    const auto count = static_cast<int>(s_.a.size());
    if (!representable_ || (length > 0 && count > length)) return;
    step_case s = s_;
    s.count = count;
    // NaN, or for formats with Inf that.
    s.a.push_back(largest_code(p_.a) + 1);
    s.b.push_back(largest_code(p_.b) + 1);
    visit(s);
  }

 private:
  const path& p_;
  step_case s_;
  bool representable_ = true;
};

/// Where three terms stand so that they meet in one sum.
struct positions {
  int first;
  int second;
  int third;
};

inline std::vector<positions> meeting(const path& p) {
  if (p.lowering == lowering::direct) return {{0, 1, 2}};
  return {{0, 1, 4}, {2, 3, 7}, {0, 5, 2}};
}

/// F; without a cut the finest that another accumulator may have.
inline int fraction_bits(const path& p) {
  return p.acc.fraction_bits == uncut ? max_fraction_bits : p.acc.fraction_bits;
}

/// A place that products and c have, with as much room below it as the operands
/// allow.
inline int high_place(const path& p) {
  const auto top = [](format f) { return (1 << f.exp_bits) - 2 - f.bias; };
  return std::min(top(p.a) + top(p.b), 14);
}

inline std::uint64_t all_ones(format f) {
  return (std::uint64_t{1} << (f.man_bits + 1)) - 1;
}

/// The part of directed_step_cases that is about the ends of the output's
/// range.
void edge_step_cases(const path& p, const step_visitor& visit);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CASES_STEP_BUILDER_HPP_
