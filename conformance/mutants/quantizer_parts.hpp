// The parts of quantizer_mutants(): a quantizer whose amax, scale or element is
// replaced, and the lists that make up the whole.

#ifndef ZEROULP_CONFORMANCE_MUTANTS_QUANTIZER_PARTS_HPP_
#define ZEROULP_CONFORMANCE_MUTANTS_QUANTIZER_PARTS_HPP_

#include "conformance/mutants/mutant.hpp"

namespace zeroulp::conformance {

/// An element to be encoded, and what its code may depend on.
struct element {
  std::uint32_t x;
  group_scale s;
  std::uint32_t amax;
};

inline std::uint32_t right_amax(const quantizer& q, codes_in group) {
  return group_amax(q, group);
}
inline std::uint64_t right_element(const quantizer& q, element e) {
  return quantize_element(q, e.s, e.x);
}

/// The core's quantizer with some of its functions replaced.
template <auto Amax, auto Scale, auto Element>
void quantize_by(const quantizer& q, codes_in x, codes_out codes,
                 codes_out scales) {
  for_each_group(
      q.group, x.rows, x.cols,
      [&](std::ptrdiff_t gi, std::ptrdiff_t gj, std::ptrdiff_t i0,
          std::ptrdiff_t j0, std::ptrdiff_t m, std::ptrdiff_t n) {
        const std::uint32_t amax = Amax(q, x.block(i0, j0, m, n));
        const group_scale s = Scale(q, amax);
        scales(gi, gj) = s.scale;
        for (std::ptrdiff_t i = i0; i < i0 + m; ++i) {
          for (std::ptrdiff_t j = j0; j < j0 + n; ++j) {
            const std::uint32_t v = as_fp32(q.from, x(i, j));
            codes(i, j) = static_cast<std::uint32_t>(Element(q, {v, s, amax}));
          }
        }
      });
}

template <auto Amax>
mutant amax_mutant(const char* name, const char* what) {
  return core_but(name, what, &implementation::quantize,
                  quantize_by<Amax, make_scale, right_element>);
}

template <auto Element>
mutant element_mutant(const char* name, const char* what) {
  return core_but(name, what, &implementation::quantize,
                  quantize_by<right_amax, make_scale, Element>);
}

/// A wrong scale shows in `make_scale` and in every quantized matrix.
template <auto Scale>
mutant scale_mutant(const char* name, const char* what) {
  mutant m = core_but(name, what, &implementation::quantize,
                      quantize_by<right_amax, Scale, right_element>);
  m.table.make_scale = Scale;
  return m;
}

mutant_list scale_mutants();    // scale_mutants.cpp
mutant_list element_mutants();  // quantizer_mutants.cpp
mutant_list layout_mutants();   // layout_mutants.cpp
mutant_list retile_mutants();   // retile_mutants.cpp

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_MUTANTS_QUANTIZER_PARTS_HPP_
