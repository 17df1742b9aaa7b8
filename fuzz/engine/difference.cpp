// Compares two results of a case, element by element.

#include "fuzz/engine/difference.hpp"

#include <algorithm>

#include "fuzz/engine/opponent.hpp"

namespace zeroulp::fuzz {
namespace {

/// Decoding has integer outputs of its own: kind, sign, exponent, significand.
bool is_decoded(const outputs& made) {
  return made[0].name == std::string_view("kind");
}

mismatch_kind kind_of_decoded(const outputs& left, const outputs& right,
                              std::size_t n, std::size_t i) {
  const auto is = [i](const outputs& made, kind what) {
    return made[0].words[i] == static_cast<std::uint64_t>(what);
  };
  const bool nan = is(left, kind::nan);
  if (nan != is(right, kind::nan)) return mismatch_kind::nan;
  if (nan) return mismatch_kind::nan_bits;
  const bool signs = left[n].name == std::string_view("negative");
  return signs && is(left, kind::zero) && is(right, kind::zero)
             ? mismatch_kind::zero_sign
             : mismatch_kind::values;
}

/// Calls `use(n, i, kind)` for each element that differs, until it returns
/// false.
template <class Use>
void for_each_difference(const outputs& left, const outputs& right, Use use) {
  for (std::size_t n = 0; n < left.size(); ++n) {
    for (std::size_t i = 0; i < left[n].words.size(); ++i) {
      const auto kind = kind_at(left, right, n, i);
      if (kind && !use(n, i, *kind)) return;
    }
  }
}

}  // namespace

bool same(const outputs& x, const outputs& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

std::optional<mismatch_kind> kind_at(const outputs& left, const outputs& right,
                                     std::size_t n, std::size_t i) {
  const matrix& x = left[n];
  const std::uint64_t a = x.words[i];
  const std::uint64_t b = right[n].words[i];
  if (a == b) return {};
  if (is_decoded(left)) return kind_of_decoded(left, right, n, i);
  if (x.type == integer) return mismatch_kind::values;
  const auto kind = difference_of(a, b, order_of(x.type)).kind;
  // No kind: the codes differ only above the format's bits.
  return kind ? static_cast<mismatch_kind>(*kind) : mismatch_kind::values;
}

by_kind<std::uint64_t> count_differences(const outputs& left,
                                         const outputs& right) {
  by_kind<std::uint64_t> count{};
  if (failure_in(right)) {
    at(count, mismatch_kind::failure) = 1;
    return count;
  }
  for_each_difference(left, right, [&](auto, auto, mismatch_kind k) {
    ++at(count, k);
    return true;
  });
  return count;
}

std::optional<difference> first_difference(const outputs& left,
                                           const outputs& right,
                                           const kind_set& of) {
  if (const auto failure = failure_in(right)) {
    if (!contains(of, mismatch_kind::failure)) return {};
    difference d;
    d.failure = failure->what();
    return d;
  }
  std::optional<difference> first;
  for_each_difference(
      left, right, [&](std::size_t n, std::size_t i, mismatch_kind k) {
        if (!contains(of, k)) return true;
        const matrix& x = left[n];
        const auto flat = static_cast<std::ptrdiff_t>(i);
        first = difference{x.name, flat / x.cols, flat % x.cols,
                           x.type, x.words[i],    right[n].words[i]};
        return false;
      });
  return first;
}

bool same_but(const outputs& x, const outputs& y, const kind_set& kinds) {
  if (failure_in(x) || failure_in(y)) return same(x, y);
  return !first_difference(x, y, ~kinds);
}

}  // namespace zeroulp::fuzz
