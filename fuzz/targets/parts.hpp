// Defines what the targets of single codes (encode, decode, arith, step) share.
// These are the place of an exact value among the codes of a format, codes by
// kind and by exponent, and draws of formats and roundings.
//
// Nothing here is an oracle: generators and coverage may use the core.

#ifndef ZEROULP_FUZZ_TARGETS_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_PARTS_HPP_

#include <string>
#include <vector>

#include "fuzz/targets/matrix_parts.hpp"

namespace zeroulp::fuzz {

/// Returns the values "low" to "high", and `more` for what is above; 0 <= low,
/// high <= 40.
std::vector<const char*> counted_up(int low, int high, const char* more);

/// The part of a gap that lies between a value and the code below it.
enum class gap_part : std::uint8_t { exact, below, tie, above };

/// Where a finite value other than zero lies among the codes of a format (R8).
struct landing {
  std::uint64_t kept;  ///< the next code toward zero; max_code() + 1: beyond
  int shift;           ///< how many of the significand's bits are discarded
  gap_part rest;
  bool below_all;  ///< for scale formats: below the smallest code
};

template <class Significand>
landing land(format f, const number<Significand>& x) {
  const bool is_scale = f.kind == specials::scale;
  const int beyond = msb(x.significand) + x.exponent - f.min_exponent();
  const int step = beyond > 0 ? beyond : 0;
  landing l{f.max_code() + 1, 0, gap_part::exact, is_scale && beyond < 0};
  if (static_cast<std::uint64_t>(step) > f.max_code() >> f.man_bits) return l;
  l.shift = f.quantum_exponent() + step - x.exponent;
  l.kept = (static_cast<std::uint64_t>(step) << f.man_bits) +
           extract(x.significand, l.shift) - (is_scale ? 1 : 0);
  if (l.shift <= 0) return l;
  const bool half = (extract(x.significand, l.shift - 1) & 1) != 0;
  const bool less = any_below(x.significand, l.shift - 1);
  if (half) l.rest = less ? gap_part::above : gap_part::tie;
  if (!half && less) l.rest = gap_part::below;
  return l;
}

inline constexpr int code_kinds = 6;

/// The names of code_kind, as an axis called `name`.
bin_axis kind_axis(const char* name);

/// Returns a code of this kind, of either sign; any code where the format has
/// none.
std::uint64_t code_of_kind(format f, code_kind k, counter_rng& rng);

/// Returns a code of random bits.
std::uint64_t any_code(format f, counter_rng& rng);

/// Returns `code` with a random sign, where the format has one.
std::uint64_t with_any_sign(format f, std::uint64_t code, counter_rng& rng);

/// Returns a positive code with these fraction bits, at most the largest code.
/// Its exponent is as near to `exponent` as normal numbers of the format are.
std::uint64_t code_at(format f, int exponent, std::uint64_t fraction);

/// Returns fraction bits: none, all, one, a few leading ones, a run at the end,
/// any.
std::uint64_t some_fraction(format f, counter_rng& rng);

/// The exponent of the largest number of `f`.
inline int max_exponent(format f) {
  return static_cast<int>(f.max_code() >> f.man_bits) - f.bias;
}

/// Returns a number of elements for a row of codes.
std::ptrdiff_t some_length(counter_rng& rng);

/// Returns a named format, or an eXmY.
format any_format(counter_rng& rng);
/// The index of a format in the table of names; one past the last for any other
/// format. `format_axis` has the names.
int index_of(format f);
bin_axis format_axis(const char* name);

/// Returns a rounding. Its random bits are often a few leading bits, where
/// short fractions meet the threshold.
rounder any_rounder(counter_rng& rng);
bin_axis rounding_axis();
/// The clause that defines a rounding mode: R1 to R7.
std::string clause_of(rounding mode);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_PARTS_HPP_
