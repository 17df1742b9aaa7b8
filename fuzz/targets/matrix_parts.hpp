// Defines what all targets share: tables of bins, and the kinds of codes.
//
// Also here, for quantize, pack, retile and gemm: draws of formats, placements,
// codes and scales; classes of scales; where a value lies between two codes.

#ifndef ZEROULP_FUZZ_TARGETS_MATRIX_PARTS_HPP_
#define ZEROULP_FUZZ_TARGETS_MATRIX_PARTS_HPP_

#include <functional>
#include <initializer_list>

#include "fuzz/cases/problem.hpp"

namespace zeroulp::fuzz {

template <class T, std::size_t N>
const T& one_of(const T (&list)[N], counter_rng& rng) {
  return list[rng.below(static_cast<std::uint32_t>(N))];
}

/// Returns a format that elements are quantized to, mostly one of training.
format draw_code_format(counter_rng& rng);

placement draw_placement(counter_rng& rng);

/// Returns a finite code of either sign, all equally likely, from 32 random
/// bits.
inline std::uint64_t finite_code(format f, std::uint32_t bits) {
  const std::uint64_t magnitude = (bits >> 1) * (f.max_code() + 1) >> 31;
  // Formats with one zero have no code for the other.
  const bool minus =
      (bits & 1) != 0 && (f.kind != specials::fnuz || magnitude != 0);
  return minus ? magnitude | f.sign_mask() : magnitude;
}

/// Returns a code of Inf or NaN of either sign; 0 if `f` has neither. Half of
/// the codes are Inf, where there is one.
std::uint64_t draw_special_code(format f, counter_rng& rng);

/// Puts such codes in the place of about one in `rarity` elements.
void strew_specials(matrix& x, std::uint32_t rarity, counter_rng& rng);

/// The kind of a code.
enum class code_kind { zero, subnormal, normal, largest, infinite, nan };
code_kind code_kind_of(format f, std::uint64_t code);

/// The class of an FP32 scale. `smallest`: 2^-127, the least that UE8M0 has;
/// `subnormal`: any other subnormal; `other`: normal, but no power of two.
enum class scale_class {
  pow2,
  other,
  smallest,
  subnormal,
  zero,
  infinite,
  nan,
  negative,
};
inline constexpr int scale_classes = 8;
scale_class scale_class_of(std::uint64_t bits);

/// Returns an FP32 scale of any class, all equally likely.
std::uint32_t draw_scale(counter_rng& rng);

/// Where a value lies: on a code, between two, or above the largest finite one.
enum class position {
  exact,
  below_half,
  tie,
  above_half,
  beyond,
  infinite,
  nan,
};

/// Returns a format whose codes continue those of `f` (R8), with more fraction
/// bits. A value is rounded to it (under keep_specials) to find its position.
format refined(format f);

/// Returns the position of the value whose code in refined(f) is `fine`.
/// `nonzero`: the value is not zero, though its code may be.
position position_of(format f, std::uint64_t fine, bool nonzero);

/// Returns the output called `name`, which must be there.
const matrix& output_of(const outputs& all, std::string_view name);

/// Calls `use(at)` for at most `most` of `size` indices, evenly spread.
template <class Use>
void for_each_sampled(std::ptrdiff_t size, std::ptrdiff_t most, Use use) {
  const std::ptrdiff_t count = size < most ? size : most;
  for (std::ptrdiff_t i = 0; i < count; ++i) use(i * size / count);
}

/// A property of a case, and its values.
struct bin_axis {
  const char* name;
  std::vector<const char*> values;
};

/// Axes that several targets use.
bin_axis code_axis();
/// The first `count` positions.
bin_axis position_axis(int count);
bin_axis scale_class_axis(const char* name);
bin_axis scale_kind_axis();
bin_axis sign_axis();

/// Formats that numbers have, in the order of the bins.
struct named_number_format {
  const char* name;
  format value;
};
inline constexpr named_number_format number_formats[] = {
    {"fp32", fp32}, {"bf16", bf16}, {"fp16", fp16}};

/// The index of a format in such a table; -1: it is not there.
template <std::size_t N>
int index_in(const named_number_format (&table)[N], format f) {
  for (std::size_t i = 0; i < N; ++i) {
    if (table[i].value == f) return static_cast<int>(i);
  }
  return -1;
}
template <std::size_t N>
bin_axis axis_of(const char* name, const named_number_format (&table)[N]) {
  bin_axis axis{name, {}};
  for (const auto& row : table) axis.values.push_back(row.name);
  return axis;
}
inline int number_index(format f) { return index_in(number_formats, f); }
inline bin_axis number_axis(const char* name) {
  return axis_of(name, number_formats);
}

/// Returns why a setting is no format of numbers, or no format of codes with
/// scales; "" if it is one.
std::string refuse_number(const char* setting, format f);
std::string refuse_codes(const char* setting, format f);

bin_axis convention_axis();
int convention_index(const settings& s);

/// How a group fills one of its dimensions: whole, cut short, or all there is.
bin_axis group_axis(const char* name);

/// Families of bins. A family has one bin for each possible combination of the
/// values of its axes, such as "amax=zero scale=pow2".
class bin_table {
 public:
  using combination = std::vector<int>;
  using filter = std::function<bool(const combination&)>;

  /// Adds a family, without combinations for which `possible` is false.
  void add(const std::vector<bin_axis>& axes, const filter& possible = {});

  const std::vector<std::string>& names() const { return names_; }

  /// Counts a combination of family `which`, numbered in the order of adding.
  template <class... Values>
  void hit(bin_counts counts, int which, Values... values) const {
    const int at = index(which, {static_cast<int>(values)...});
    if (at >= 0) ++counts[static_cast<std::size_t>(at)];
  }

 private:
  struct family {
    std::vector<int> sizes;
    std::vector<int> bins;  ///< by combination; -1: none
  };

  int index(int which, std::initializer_list<int> values) const;

  std::vector<family> families_;
  std::vector<std::string> names_;
};

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_TARGETS_MATRIX_PARTS_HPP_
