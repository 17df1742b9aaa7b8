// Experiments from terms.

#include "fuzz/probe/terms.hpp"

#include <algorithm>

#include "conformance/cases/step_builder.hpp"

namespace zeroulp::fuzz {

std::optional<step_case> make_case(const black_box& box,
                                   const std::vector<probe_term>& terms) {
  const path formats{box.a,
                     box.b,
                     {.length = 0,
                      .fraction_bits = uncut,
                      .exponent_floor = no_floor,
                      .output = box.stored,
                      .conversion = rounding::nearest_even,
                      .stored = box.stored}};
  conformance::builder made(formats);
  for (const probe_term& t : terms) {
    if (t.k == is_c && !box.takes_c) return {};
    if (t.k == is_c) {
      made.c({t.negative, t.u, t.v, t.exponent});
    } else {
      made.product(t.k, {t.negative, t.u, t.v, t.exponent});
    }
  }
  std::optional<step_case> found;
  made.give([&found](const step_case& s) { found = s; });
  if (!found || found->count > box.length) return {};
  // Without the guards behind the operands.
  found->a.resize(static_cast<std::size_t>(found->count));
  found->b.resize(static_cast<std::size_t>(found->count));
  found->a.resize(static_cast<std::size_t>(box.length));
  found->b.resize(static_cast<std::size_t>(box.length));
  found->count = box.length;
  return found;
}

reach reach_of(format a, format b, format stored) {
  const auto top = [](format f) {
    return static_cast<int>(f.max_code() >> f.man_bits) - f.bias;
  };
  const int low = a.quantum_exponent() + b.quantum_exponent();
  return {std::min(top(a) + top(b), top(stored) - 1),
          std::max(low, stored.quantum_exponent())};
}

}  // namespace zeroulp::fuzz
