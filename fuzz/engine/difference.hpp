// Defines how two results of a case differ: where, and of what kind.

#ifndef ZEROULP_FUZZ_ENGINE_DIFFERENCE_HPP_
#define ZEROULP_FUZZ_ENGINE_DIFFERENCE_HPP_

#include <array>
#include <optional>
#include <string>

#include "fuzz/cases/problem.hpp"
#include "zeroulp/metrics.hpp"

namespace zeroulp::fuzz {

/// The kind of a mismatch: one of difference_class, or a call that failed.
/// Reports keep this order.
enum class mismatch_kind : std::uint8_t {
  values,
  nan,
  nan_bits,
  zero_sign,
  failure,
};
inline constexpr std::size_t mismatch_kinds = 5;
static_assert(static_cast<std::size_t>(mismatch_kind::failure) ==
              difference_classes);

inline constexpr std::array<mismatch_kind, mismatch_kinds> all_mismatch_kinds =
    {mismatch_kind::values, mismatch_kind::nan, mismatch_kind::nan_bits,
     mismatch_kind::zero_sign, mismatch_kind::failure};

/// One of difference_names, or failure.
constexpr const char* name_of(mismatch_kind k) {
  return k == mismatch_kind::failure
             ? "failure"
             : difference_names[static_cast<std::size_t>(k)];
}

/// Indexed by mismatch_kind.
template <class T>
using by_kind = std::array<T, mismatch_kinds>;
using kind_set = std::bitset<mismatch_kinds>;

template <class List>
auto& at(List& list, mismatch_kind k) {
  return list[static_cast<std::size_t>(k)];
}
inline bool contains(const kind_set& set, mismatch_kind k) {
  return set[static_cast<std::size_t>(k)];
}

inline kind_set only(mismatch_kind k) {
  return kind_set().set(static_cast<std::size_t>(k));
}
/// Returns the kinds of these classes.
inline kind_set kinds_of(const difference_set& set) {
  return kind_set(set.to_ulong());
}

/// An element in which two results differ, or how `right` failed.
struct difference {
  std::string output;
  std::ptrdiff_t row = 0;
  std::ptrdiff_t col = 0;
  format type = integer;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::string failure{};  ///< if not empty, the other fields mean nothing
};

/// Returns true iff two results have the same bits.
bool same(const outputs& x, const outputs& y);

/// Returns how element `i` of output number `n` differs, if it does. In results
/// of `decode`, all outputs of a code together classify its element.
std::optional<mismatch_kind> kind_at(const outputs& left, const outputs& right,
                                     std::size_t n, std::size_t i);

/// Counts the elements that differ; a failure counts as one.
by_kind<std::uint64_t> count_differences(const outputs& left,
                                         const outputs& right);

/// Returns the first difference of the kinds asked for.
std::optional<difference> first_difference(
    const outputs& left, const outputs& right,
    const kind_set& of = kind_set().set());

/// Returns true iff two results differ in nothing but these kinds.
bool same_but(const outputs& x, const outputs& y, const kind_set& kinds);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_DIFFERENCE_HPP_
