// Counts what cases of `arith` reach: kinds of operands, where results lie
// between codes, distances of terms, cancellation, the paths of div.full.

#include <algorithm>

#include "fuzz/targets/coverage.hpp"
#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum family : std::uint8_t {
  binary_kinds,
  fma_kinds,
  root_kinds,
  by_mode,
  results,
  zero_sums,
  distance,
  fma_distance,
  lost_bits,
  stochastic_sum,
  approximate,
  by_format,
};

constexpr int op_index(operation op) { return static_cast<int>(op); }
constexpr int add_op = op_index(operation::add);
constexpr int subtract_op = op_index(operation::subtract);
constexpr int divide_op = op_index(operation::divide);
constexpr int root_op = op_index(operation::square_root);

/// The class of the distance d of two terms, for precision p. The classes: 0,
/// 1, 2, up to p - 2, p - 1 to p + 2, more. For a product in an fma, 2p - 1 to
/// 2p + 1 too.
int distance_class(int d, int p) {
  if (d <= 2) return d;
  return d < p - 1 ? 3 : std::min(d - (p - 1), 4) + 4;
}
int fma_distance_class(int d, int p) {
  if (d < 2 * p - 1) return std::min(distance_class(d, p), 7);
  return std::min(d - (2 * p - 1), 3) + 8;
}

/// Returns true iff a rounded result can fall into this bin.
bool has_result(const bin_table::combination& at) {
  const int op = at[0];
  const auto part = static_cast<gap_part>(at[1]);
  const auto k = static_cast<code_kind>(at[2]);
  const bool negative = at[3] != 0;
  const bool beyond = at[1] == 4;
  const bool overflowed = k >= code_kind::infinite;
  if (op == root_op) {
    return !negative && !beyond && part != gap_part::tie &&
           (k == code_kind::subnormal || k == code_kind::normal);
  }
  if (beyond) return k >= code_kind::largest;
  if (part == gap_part::exact) return k != code_kind::zero && !overflowed;
  // Sums have no bits below the smallest number.
  if (op == add_op || op == subtract_op) return k >= code_kind::normal;
  // A quotient that is a midpoint has more bits than a dividend, unless it is
  // subnormal. No quotient lies between 2 - 2^(1 - p) and 2. Some lie beyond
  // E4M3's largest code, but too few of these below the midpoint.
  if (op == divide_op) {
    if (part == gap_part::tie) return k <= code_kind::normal;
    if (part == gap_part::below) return k <= code_kind::largest;
    return k != code_kind::infinite;
  }
  return true;
}

bin_table make_bins() {
  const std::vector<const char*> ops = {"add", "subtract", "multiply",
                                        "fma", "divide",   "square_root"};
  const std::vector<const char*> kinds = {"zero", "subnormal", "normal", "inf",
                                          "nan"};
  const bin_axis all_ops{"op", ops};
  const bin_axis signs_of{"signs", {"same", "opposite"}};
  const bin_axis terms{"op", {"add", "subtract", "fma"}};
  bin_table t;
  t.add({{"op", {"add", "subtract", "multiply", "divide", "div.full"}},
         {"a", kinds},
         {"b", kinds},
         signs_of});
  t.add({{"fma_a", kinds}, {"b", kinds}, {"c", kinds}, signs_of});
  t.add({{"root_of", kinds}, sign_axis()});
  t.add({all_ops, rounding_axis(), {"at", {"exact", "below", "tie", "above"}}},
        [](const bin_table::combination& at) {
          return at[0] != root_op || at[2] != static_cast<int>(gap_part::tie);
        });
  t.add({all_ops,
         {"at", {"exact", "below", "tie", "above", "beyond"}},
         kind_axis("gives"),
         sign_axis()},
        has_result);
  t.add({{"zero", {"add", "subtract", "fma"}}, rounding_axis(), signs_of});
  t.add({{"op", {"add", "subtract"}},
         {"larger", {"a", "b"}},
         {"by", {"0", "1", "2", "to_p-2", "p-1", "p", "p+1", "p+2", "more"}},
         signs_of},
        [](const bin_table::combination& at) {
          return at[1] == 0 || at[2] != 0;
        });
  t.add({{"fma_larger", {"product", "c"}},
         {"by",
          {"0", "1", "2", "to_p-2", "p-1", "p", "p+1", "to_2p-2", "2p-1", "2p",
           "2p+1", "more"}},
         signs_of},
        [](const bin_table::combination& at) {
          return at[0] == 0 || at[1] != 0;
        });
  t.add({terms, {"lost", {"0", "1", "2", "3-7", "8+"}}, sign_axis()});
  t.add({{"part+random-2^32", {"below", "-1", "0", "1", "above"}}});
  t.add({{"div.full", {"as_is", "scaled_up", "scaled_down"}},
         {"gives", kinds},
         sign_axis()},
        [](const bin_table::combination& at) {
          // The NaN is positive; a divisor that small gives no subnormal.
          return at[1] == 4 ? at[2] == 0 : at[0] != 1 || at[1] != 1;
        });
  t.add({format_axis("from"), all_ops});
  return t;
}

const bin_table& bins_of() {
  static const bin_table table = make_bins();
  return table;
}

/// Code kinds, with the largest number as a normal one.
int plain_kind(format f, std::uint64_t code) {
  const code_kind k = code_kind_of(f, code);
  return static_cast<int>(k) - (k >= code_kind::largest ? 1 : 0);
}

/// One operation, to be counted in the bins.
struct observation {
  const settings& with;
  unpacked a;
  unpacked b;
  unpacked c;
  std::uint64_t result;
  bin_counts bins;

  template <class... Values>
  void hit(family f, Values... at) const {
    bins_of().hit(bins, f, at...);
  }
};

template <class Significand>
int exponent_of(const number<Significand>& x) {
  return msb(x.significand) + x.exponent;
}

/// Counts where the exact result lies, if it is a number and not zero.
template <class Significand>
void cover_result(const observation& o, const number<Significand>& exact) {
  const format f = o.with.from;
  if (exact.kind != kind::finite || f.kind == specials::scale) return;
  const landing l = land(f, exact);
  const bool beyond = l.kept > f.max_code();
  o.hit(results, o.with.op, beyond ? 4 : static_cast<int>(l.rest),
        code_kind_of(f, o.result), exact.negative);
  if (beyond) return;
  o.hit(by_mode, o.with.op, o.with.round.mode, l.rest);
  if (o.with.round.mode != rounding::stochastic || l.shift <= 0) return;
  const std::uint64_t part = extract(exact.significand, l.shift - 32);
  const auto sum =
      static_cast<std::int64_t>((part & low_bits(32)) + o.with.round.random) -
      (std::int64_t{1} << 32);
  o.hit(stochastic_sum, std::clamp<std::int64_t>(sum, -2, 2) + 2);
}

/// Counts a sum of two terms: a and b, or a product and c.
template <class A, class B>
void cover_sum(const observation& o, const number<A>& x, const number<B>& y) {
  const operation op = o.with.op;
  const auto exact = sum(x, y, o.with.round.mode);
  cover_result(o, exact);
  if (!x.is_finite() || !y.is_finite()) return;
  const bool opposite = x.negative != y.negative;
  const int term = op == operation::fma ? 2 : static_cast<int>(op);
  if (exact.is_zero()) o.hit(zero_sums, term, o.with.round.mode, opposite);
  if (x.is_zero() || y.is_zero()) return;
  const int ex = exponent_of(x);
  const int ey = exponent_of(y);
  const int p = o.with.from.man_bits + 1;
  const int d = std::abs(ex - ey);
  if (op == operation::fma) {
    o.hit(fma_distance, ey > ex, fma_distance_class(d, p), opposite);
  } else {
    o.hit(distance, term, ey > ex, distance_class(d, p), opposite);
  }
  if (exact.is_zero() || !opposite) return;
  const int lost = std::max(ex, ey) - exponent_of(exact);
  o.hit(lost_bits, term, lost < 3 ? lost : lost < 8 ? 3 : 4, exact.negative);
}

void cover_approximate(const observation& o) {
  const std::uint64_t b = encode(fp32, o.b) & fp32.magnitude_mask();
  const int scaled = b < 0x00800000 ? 1 : b > 0x7e800000 ? 2 : 0;
  o.hit(approximate, scaled, plain_kind(fp32, o.result),
        (o.result & fp32.sign_mask()) != 0);
}

void cover_one(const observation& o) {
  unpacked b = o.b;
  switch (o.with.op) {
    case operation::subtract:
      b.negative = !b.negative;
      return cover_sum(o, o.a, b);
    case operation::add:
      return cover_sum(o, o.a, b);
    case operation::multiply:
      return cover_result(o, product(o.a, b));
    case operation::fma:
      return cover_sum(o, product(o.a, b), o.c);
    case operation::divide:
      if (o.with.approximate) return cover_approximate(o);
      return cover_result(o, quotient(o.a, b));
    case operation::square_root:
      return cover_result(o, root(o.a));
  }
}

/// Counts the kinds of the operands.
void cover_kinds(const observation& o, int a, int b, int c) {
  const bool opposite = o.a.negative != o.b.negative;
  switch (o.with.op) {
    case operation::square_root:
      return o.hit(root_kinds, a, o.a.negative);
    case operation::fma:
      return o.hit(fma_kinds, a, b, c, opposite != o.c.negative);
    case operation::divide:
      return o.hit(binary_kinds, o.with.approximate ? 4 : 3, a, b, opposite);
    case operation::add:
    case operation::subtract:
    case operation::multiply:
      break;
  }
  o.hit(binary_kinds, o.with.op, a, b, opposite);
}

}  // namespace

std::vector<std::string> arith_bins() { return bins_of().names(); }

void cover_arith(const problem& p, const outputs& right, bin_counts bins) {
  const format f = p.with.from;
  bins_of().hit(bins, by_format, index_of(f), p.with.op);
  const auto& a = p.in[0].words;
  const auto& b = p.in[1].words;
  const auto& c = p.in[2].words;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const observation o{p.with,          decode(f, a[i]),   decode(f, b[i]),
                        decode(f, c[i]), right[0].words[i], bins};
    cover_kinds(o, plain_kind(f, a[i]), plain_kind(f, b[i]),
                plain_kind(f, c[i]));
    cover_one(o);
  }
}

}  // namespace zeroulp::fuzz
