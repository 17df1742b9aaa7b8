// Counts what cases of `encode` reach: where values lie between codes, their
// results, the discarded bits, policies, pairs of formats.

#include <algorithm>
#include <iterator>

#include "fuzz/targets/coverage.hpp"
#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum family : std::uint8_t {
  rounded,
  whole,
  of_scale,
  by_mode,
  stochastic_sum,
  highest_bit,
  lowest_bit,
  by_policy,
  pair,
};

/// The case of a source code that does not lie between two codes.
enum whole_case : std::uint8_t { zero, exact, beyond, infinite, nan };
enum scale_case : std::uint8_t {
  scale_zero,
  scale_below,
  scale_exact,
  scale_rounded,
  scale_beyond,
  scale_infinite,
  scale_nan,
  scale_negative,
};
/// The code that is kept when bits are discarded.
enum kept_code : std::uint8_t { kept_zero, kept_even, kept_odd, kept_largest };

constexpr int bit_positions = 24;

bin_table make_bins() {
  const bin_axis parts{"at", {"below", "tie", "above"}};
  const bin_axis to = kind_axis("to");
  bin_axis policies{"overflow", {}};
  for (const auto& p : named_policies) policies.values.push_back(p.name);
  const auto kind_at = [](int i) { return static_cast<code_kind>(i); };
  bin_table t;
  t.add({parts, {"kept", {"zero", "even", "odd", "largest"}}, sign_axis(), to},
        [=](const bin_table::combination& at) {
          const code_kind k = kind_at(at[3]);
          if (at[1] == kept_zero) return k <= code_kind::subnormal;
          if (at[1] == kept_largest) return k >= code_kind::largest;
          return k >= code_kind::subnormal && k <= code_kind::largest;
        });
  t.add({{"kind", {"zero", "exact", "beyond", "inf", "nan"}}, sign_axis(), to},
        [=](const bin_table::combination& at) {
          const code_kind k = kind_at(at[2]);
          if (at[0] == zero) return k == code_kind::zero;
          if (at[0] == exact) {
            return k >= code_kind::subnormal && k <= code_kind::largest;
          }
          if (at[0] < nan) return k >= code_kind::largest;
          // A format without NaN gives its largest number, positive.
          return k == code_kind::nan || k == code_kind::largest;
        });
  t.add({{"scale",
          {"zero", "below", "exact", "rounded", "beyond", "inf", "nan",
           "negative"}},
         {"gives", {"number", "largest", "nan"}}},
        [](const bin_table::combination& at) {
          if (at[0] <= scale_below) return at[1] == 0;
          if (at[0] == scale_exact) return at[1] <= 1;
          if (at[0] == scale_beyond || at[0] == scale_infinite) {
            return at[1] >= 1;
          }
          return at[0] != scale_nan || at[1] == 2;
        });
  t.add({rounding_axis(), parts, {"kept", {"even", "odd"}}, sign_axis()});
  t.add({{"part+random-2^32", {"below", "-1", "0", "1", "above"}}});
  t.add({{"highest_discarded", counted_up(1, bit_positions - 1, "24+")}});
  t.add({{"lowest_discarded", counted_up(1, bit_positions - 1, "24+")}});
  t.add({policies,
         {"kind", {"beyond", "inf", "nan"}},
         {"specials", {"ieee", "fn", "fnuz", "finite", "scale"}}});
  t.add({format_axis("from"), format_axis("to")});
  return t;
}

const bin_table& bins_of() {
  static const bin_table table = make_bins();
  return table;
}

/// A source code and its result, to be counted in the bins.
struct observation {
  const settings& with;
  unpacked x;
  code_kind result;
  bin_counts bins;

  template <class... Values>
  void hit(family f, Values... at) const {
    bins_of().hit(bins, f, at...);
  }
};

void cover_scale(const observation& o, const landing& l) {
  scale_case c = scale_negative;
  if (o.x.is_nan()) {
    c = scale_nan;
  } else if (o.x.is_zero()) {
    c = scale_zero;
  } else if (!o.x.negative && o.x.is_infinite()) {
    c = scale_infinite;
  } else if (!o.x.negative) {
    c = l.below_all                     ? scale_below
        : l.kept > o.with.to.max_code() ? scale_beyond
        : l.rest == gap_part::exact     ? scale_exact
                                        : scale_rounded;
  }
  const int gives = o.result == code_kind::nan       ? 2
                    : o.result == code_kind::largest ? 1
                                                     : 0;
  o.hit(of_scale, c, gives);
}

/// Counts a value between two codes, or between the largest and the next that
/// there would be.
void cover_rounded(const observation& o, const landing& l) {
  const rounder r = o.with.round;
  const int at = static_cast<int>(l.rest) - 1;
  const int odd = static_cast<int>(l.kept & 1);
  const kept_code kept = l.kept == 0                      ? kept_zero
                         : l.kept == o.with.to.max_code() ? kept_largest
                         : odd != 0                       ? kept_odd
                                                          : kept_even;
  o.hit(rounded, at, kept, o.x.negative, o.result);
  o.hit(by_mode, r.mode, at, odd, o.x.negative);
  const std::uint64_t discarded = o.x.significand & low_bits(l.shift);
  const auto position = [&](int bit) {
    return std::min(l.shift - bit, bit_positions) - 1;
  };
  o.hit(highest_bit, position(msb(discarded)));
  o.hit(lowest_bit, position(msb(discarded & (~discarded + 1))));
  if (r.mode != rounding::stochastic) return;
  const std::uint64_t part = extract(o.x.significand, l.shift - 32);
  const auto sum = static_cast<std::int64_t>((part & low_bits(32)) + r.random) -
                   (std::int64_t{1} << 32);
  o.hit(stochastic_sum,
        static_cast<int>(std::clamp<std::int64_t>(sum, -2, 2)) + 2);
}

void cover_one(const observation& o) {
  const format to = o.with.to;
  landing l{};
  if (o.x.kind == kind::finite) l = land(to, o.x);
  const bool is_beyond = o.x.kind == kind::finite && l.kept > to.max_code();
  if (is_beyond || !o.x.is_finite()) {
    const auto row = std::find_if(
        std::begin(named_policies), std::end(named_policies),
        [&](const named_policy& p) { return p.value == o.with.overflow; });
    const int what = is_beyond ? 0 : o.x.is_infinite() ? 1 : 2;
    if (row != std::end(named_policies)) {
      o.hit(by_policy, row - std::begin(named_policies), what, to.kind);
    }
  }
  if (to.kind == specials::scale) return cover_scale(o, l);
  const bool between =
      o.x.kind == kind::finite && !is_beyond && l.rest != gap_part::exact;
  if (between) return cover_rounded(o, l);
  const whole_case c = o.x.is_nan()        ? nan
                       : o.x.is_infinite() ? infinite
                       : o.x.is_zero()     ? zero
                       : is_beyond         ? beyond
                                           : exact;
  o.hit(whole, c, o.x.negative, o.result);
}

}  // namespace

std::vector<std::string> encode_bins() { return bins_of().names(); }

void cover_encode(const problem& p, const outputs& right, bin_counts bins) {
  const settings& s = p.with;
  bins_of().hit(bins, pair, index_of(s.from), index_of(s.to));
  const auto& words = p.in[0].words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    cover_one({s, decode(s.from, words[i]),
               code_kind_of(s.to, right[0].words[i]), bins});
  }
}

}  // namespace zeroulp::fuzz
