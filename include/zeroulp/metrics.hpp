// Defines how far a result is from the exact one: `error_accumulator` ->
// `error_metrics` for values, `difference_of` -> `ulp_histogram` for codes.
//
// With x the exact values, e = computed - x and norms over all elements:
//   frobenius        = ||e|| / ||x||
//   max_over_max     = max|e| / max|x|;  _mean: / mean|x|;  _rms: / rms x
//   bias             = sum(e x) / sum(x x): slope through the origin - 1
//   sqnr_db          = 10 log10(sum(x x) / sum(e e))
//   one_minus_cosine = 1 - sum((x+e) x) / (||x+e|| ||x||), without cancelling
//   mean_relative    = mean of |e| / max(|x|, 1e-3 rms x)
//   quantile p       = the ceil(p n)-th smallest |e| / max(|x|, 1e-3 rms x)
// Values are fractions, not percent. Source: SPEC, error measures.
// Left out: NaN payloads, except that `ulp_histogram` counts them.

#ifndef ZEROULP_METRICS_HPP_
#define ZEROULP_METRICS_HPP_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zeroulp/core/format.hpp"

#pragma GCC visibility push(default)
namespace zeroulp {

/// The probabilities of error_metrics::quantiles.
inline constexpr std::array<double, 5> error_quantiles = {0.5, 0.9, 0.99, 0.999,
                                                          1.0};

/// The measures above. Where a formula divides by zero:
///   no error (e = 0, also n = 0)  every measure 0, sqnr_db +inf
///   x = 0, e not                  ratios and quantiles of e / 0 are +inf,
///                                 sqnr_db -inf, bias NaN, one_minus_cosine 1
///   computed = 0, x not           one_minus_cosine 1
/// Pairs with a NaN or an infinity match or mismatch. Two NaNs, or the same
/// infinity twice, match: no measure counts them. Other such pairs are
/// mismatches, and one mismatch makes every measure NaN.
struct error_metrics {
  double frobenius = 0;
  double max_over_max = 0;
  double max_over_mean = 0;
  double max_over_rms = 0;
  double bias = 0;
  double sqnr_db = 0;
  double one_minus_cosine = 0;
  double mean_relative = 0;
  std::array<double, error_quantiles.size()> quantiles = {};
  std::size_t count = 0;  ///< all elements, of every kind
  std::size_t nonfinite_matches = 0;
  std::size_t nonfinite_mismatches = 0;
};

/// Collects elements in the order given; holds 16 bytes for each. The result
/// depends only on that sequence, not on how it is divided among calls.
class error_accumulator {
 public:
  /// `errors` is computed - exact, which the caller may know more exactly than
  /// by a subtraction of doubles. Throws std::invalid_argument on unequal
  /// lengths.
  void add(std::span<const double> computed, std::span<const double> exact,
           std::span<const double> errors);
  error_metrics result() const;

 private:
  std::vector<double> exact_, errors_;
  std::size_t matches_ = 0, mismatches_ = 0;
};

/// How the codes of a format are ordered: sign-magnitude, at most 64 bits.
struct code_order {
  std::uint64_t sign_mask = 0;       ///< 0: the format has no sign
  std::uint64_t magnitude_mask = 0;  ///< other bits are ignored
  std::uint64_t largest = 0;         ///< magnitudes above it are NaN
  bool negative_zero_is_nan = false;
};

code_order order_of(format f);

/// How two codes may differ, the gravest first.
enum class difference_class : std::uint8_t {
  values,     ///< different numbers
  nan,        ///< one of them is NaN
  nan_bits,   ///< NaNs of different bits
  zero_sign,  ///< +0 and -0
};
inline constexpr std::size_t difference_classes = 4;
/// Their names in reports and options.
inline constexpr std::array<const char*, difference_classes> difference_names =
    {"values", "nan", "nan-bits", "zero-sign"};
using difference_set = std::bitset<difference_classes>;

/// How two codes differ, and by how many units in the last place. The distance
/// is the number of codes from one to the other, sorted by value; +0 and -0
/// count as one code.
struct code_difference {
  std::optional<difference_class> kind;   ///< empty: the same bits
  std::optional<std::uint64_t> distance;  ///< empty: one of them is NaN
};
code_difference difference_of(std::uint64_t a, std::uint64_t b,
                              const code_order& order);

/// Distances of many codes.
struct ulp_histogram {
  /// Elements by distance: 0, 1, 2, 3-4, 5-8, 9-16, ... NaNs are not counted.
  std::vector<std::uint64_t> buckets;
  std::uint64_t count = 0;           ///< all elements
  std::uint64_t different = 0;       ///< elements whose bits differ
  std::uint64_t zero_sign = 0;       ///< +0 against -0: in bucket 0 too
  std::uint64_t nan_payload = 0;     ///< both NaN, different bits
  std::uint64_t nan_mismatches = 0;  ///< one is NaN
  std::uint64_t max_distance = 0;
  std::optional<std::uint64_t> first_difference;  ///< index, bits differ

  void add(std::uint64_t a, std::uint64_t b, const code_order& order);
  /// Throws std::invalid_argument on unequal lengths.
  void add(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
           const code_order& order);

  /// Returns the first and the last distance of bucket `i`, 0 <= i <= 65.
  static std::uint64_t first_of(std::size_t i);
  static std::uint64_t last_of(std::size_t i);
};

}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_METRICS_HPP_
