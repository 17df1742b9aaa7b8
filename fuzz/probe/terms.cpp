// Experiments from terms.

#include "fuzz/probe/terms.hpp"

#include <algorithm>

#include "conformance/cases/step_builder.hpp"
#include "fuzz/engine/full_step.hpp"

namespace zeroulp::fuzz {

std::optional<step_case> make_case(const black_box& box,
                                   const std::vector<probe_term>& terms) {
  const path p = path_of(box, unknown_accumulator(box.stored));
  conformance::builder made(p);
  for (const probe_term& t : terms) {
    if (t.k == is_c && !box.takes_c) return {};
    if (t.k == is_c) {
      made.c({t.negative, t.u, t.v, t.exponent});
    } else {
      made.product(t.k, {t.negative, t.u, t.v, t.exponent});
    }
  }
  std::optional<step_case> found;
  made.give([&](const step_case& s) {
    found = s;
    fill_up(p, *found);
  });
  return found;
}

accumulator unknown_accumulator(format stored) {
  return {.length = 0,
          .fraction_bits = uncut,
          .exponent_floor = no_floor,
          .output = stored,
          .conversion = rounding::nearest_even,
          .stored = stored};
}

path path_of(const black_box& box, const accumulator& acc) {
  path p{box.a, box.b, acc};
  p.acc.length = static_cast<std::int16_t>(box.length);
  return p;
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
