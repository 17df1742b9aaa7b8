// The parts that the lists of quantize_checks.cpp and retile_checks.cpp are
// made of: what the files of the subject share.

#ifndef ZEROULP_CONFORMANCE_CHECKS_QUANTIZE_QUANTIZE_PARTS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_QUANTIZE_QUANTIZE_PARTS_HPP_

#include <string>
#include <vector>

#include "conformance/cases/matrix_cases.hpp"
#include "conformance/cases/placement.hpp"
#include "conformance/contract/registry.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

namespace zeroulp::conformance {

/// A quantizer and the names of its parts.
struct quantizer_case {
  named_format from;
  named_format to;
  named_convention how;
  named_scale_kind scale;
  group_shape group;

  quantizer value() const {
    return {from.value, to.value, how.value, scale.value, group};
  }
  std::string name() const;
};

struct matrix_shape {
  int rows;
  int cols;
};

/// A shape of at most `most` elements; tiles of 128 and their edges often.
matrix_shape any_shape(counter_rng& rng, int most);

placement any_placement(counter_rng& rng);

/// Returns the named format; the name must exist.
named_format format_named(const char* name);

/// Formats that elements are quantized to: all but FP64. First those of
/// training; at level 0 only the first `count_at_0`.
std::vector<named_format> targets(const effort& e, std::size_t count_at_0);

/// Compares two matrices element by element: a case each. `describe()` says
/// what was computed. Returns true iff they are equal.
template <class Describe>
bool compare(verdict& v, const oracle::grid& got, const oracle::grid& want,
             const char* what, Describe describe);

/// Quantizes `x` with `i` and counts every code and scale that differs from the
/// oracle's.
void check_quantized(const implementation& i, const quantizer_case& q,
                     const oracle::grid& x, placement in, placement out,
                     verdict& v);

/// Hex of a word.
std::string hex(std::uint64_t word);

/// "(i, j) is 0x.., not 0x..".
std::string difference(const oracle::grid& got, const oracle::grid& want,
                       std::size_t at);

template <class Describe>
bool compare(verdict& v, const oracle::grid& got, const oracle::grid& want,
             const char* what, Describe describe) {
  const std::uint64_t before = v.failures;
  for (std::size_t at = 0; at < want.words.size(); ++at) {
    v.compare(got.words[at], want.words[at], [&] {
      return describe() + ": " + what + difference(got, want, at);
    });
  }
  return v.failures == before;
}

// scale_checks.cpp
verdict scales_at_boundaries(const implementation&, const effort&);
verdict scales_of_bf16(const implementation&, const effort&);
verdict scales_of_any_convention(const implementation&, const effort&);
verdict delayed_amaxes(const implementation&, const effort&);

// element_checks.cpp
verdict special_elements(const implementation&, const effort&);
verdict elements_at_midpoints(const implementation&, const effort&);
verdict elements_of_bf16(const implementation&, const effort&);

// matrix_checks.cpp
verdict quantized_matrices(const implementation&, const effort&);
verdict matrices_by_given_scales(const implementation&, const effort&);
verdict dequantized_codes(const implementation&, const effort&);
verdict dequantized_matrices(const implementation&, const effort&);

// layout_checks.cpp
verdict laid_out_scales(const implementation&, const effort&);
verdict packed_codes(const implementation&, const effort&);
verdict packed_bits(const implementation&, const effort&);

// block_checks.cpp
verdict quantized_blocks(const implementation&, const effort&);
verdict blocks_at_boundaries(const implementation&, const effort&);
verdict dequantized_blocks(const implementation&, const effort&);
verdict interleaved_scales(const implementation&, const effort&);

// hadamard_checks.cpp
verdict hadamard_transforms(const implementation&, const effort&);

// double_rounding_check.cpp
/// How many of the BF16 numbers from 0 to 448 get another E4M3 code through
/// E5M6 than directly, under the scales of a tile whose amax is 448.
std::uint64_t count_double_roundings(const implementation& i);
verdict double_rounding_through_e5m6(const implementation&, const effort&);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_QUANTIZE_QUANTIZE_PARTS_HPP_
