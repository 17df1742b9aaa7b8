#include "conformance/oracles/rational_step.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <optional>
#include <vector>

namespace zeroulp::oracle {
namespace {

using boost::multiprecision::cpp_int_backend;
using integer = boost::multiprecision::number<cpp_int_backend<>,
                                              boost::multiprecision::et_off>;

enum class sort { number, infinite, nan };

/// (-1)^negative * significand * 2^exponent. `place` is what T1 calls the place
/// of a number's exponent.
struct operand {
  sort is = sort::number;
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
  int place = 0;

  bool is_zero() const { return is == sort::number && significand == 0; }
};

int bit_length(std::uint64_t x) {
  int n = 0;
  for (; x != 0; x >>= 1) ++n;
  return n;
}

int bit_length(const integer& x) {
  return x == 0 ? 0 : static_cast<int>(boost::multiprecision::msb(x)) + 1;
}

// F1, F2.
operand operand_of(format f, std::uint64_t code) {
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  const std::uint64_t highest = (std::uint64_t{1} << f.exp_bits) - 1;
  const std::uint64_t m = code % hidden;
  const std::uint64_t e = (code / hidden) % (highest + 1);
  operand x;
  x.negative = code / hidden / (highest + 1) != 0;
  switch (f.kind) {
    case specials::ieee:
      if (e == highest) x.is = m == 0 ? sort::infinite : sort::nan;
      break;
    case specials::fn:
      if (e == highest && m == hidden - 1) x.is = sort::nan;
      break;
    case specials::fnuz:
      if (x.negative && e == 0 && m == 0) x.is = sort::nan;
      break;
    case specials::finite:
    case specials::scale:
      break;
  }
  if (x.is != sort::number) return x;
  x.significand = e > 0 ? hidden + m : m;
  x.place = static_cast<int>(e > 0 ? e : 1) - f.bias;
  x.exponent = x.place - f.man_bits;
  return x;
}

// T10: the same value as FP16 has it.
operand as_fp16(operand x) {
  constexpr int smallest_normal = -14;
  x.place =
      std::max(x.exponent + bit_length(x.significand) - 1, smallest_normal);
  return x;
}

/// A term of the sum: a product, or c.
struct term {
  bool negative;
  integer magnitude;
  int exponent;
  int place;
};

// R1 to R6: magnitude / 2^drop as an integer.
integer rounded(const integer& magnitude, int drop, bool negative,
                rounding mode) {
  if (drop <= 0) return magnitude << -drop;
  integer kept = magnitude >> drop;
  const integer rest = magnitude - (kept << drop);
  if (rest == 0) return kept;
  const int against_half = (rest << 1).compare(integer(1) << drop);
  const bool odd = (kept & 1) != 0;
  bool away = false;
  switch (mode) {
    case rounding::nearest_even:
      away = against_half > 0 || (against_half == 0 && odd);
      break;
    case rounding::nearest_away:
      away = against_half >= 0;
      break;
    case rounding::up:
      away = !negative;
      break;
    case rounding::down:
      away = negative;
      break;
    case rounding::to_odd:
      away = !odd;
      break;
    case rounding::toward_zero:
    case rounding::stochastic:
      break;
  }
  if (away) ++kept;
  return kept;
}

std::uint64_t sign_of(format f, bool negative) {
  return negative ? std::uint64_t{1} << (f.exp_bits + f.man_bits) : 0;
}

std::uint64_t infinity_of(format f, bool negative) {
  return sign_of(f, negative) | ((std::uint64_t{1} << f.exp_bits) - 1)
                                    << f.man_bits;
}

// T7: every bit below the sign.
std::uint64_t nan_of(format f) {
  return (std::uint64_t{1} << (f.exp_bits + f.man_bits)) - 1;
}

int largest_place(format f) { return (1 << f.exp_bits) - 2 - f.bias; }

/// The code of a number that f has.
std::uint64_t exact_code(format f, bool negative, const integer& magnitude,
                         int exponent) {
  const int place = std::max(exponent + bit_length(magnitude) - 1, 1 - f.bias);
  const auto m = static_cast<std::uint64_t>(rounded(
      magnitude, place - f.man_bits - exponent, false, rounding::toward_zero));
  const std::uint64_t hidden = std::uint64_t{1} << f.man_bits;
  const std::uint64_t e =
      m < hidden ? 0 : static_cast<std::uint64_t>(place + f.bias);
  return sign_of(f, negative) | e << f.man_bits | m % hidden;
}

// T5, T6.
std::uint64_t converted(format output, format stored, rounding mode,
                        const integer& sum, int exponent) {
  const bool negative = sum < 0;
  const integer magnitude = negative ? integer(-sum) : sum;
  const int place =
      std::max(exponent + bit_length(magnitude) - 1, 1 - output.bias);
  const int quantum = place - output.man_bits;
  const integer kept = rounded(magnitude, quantum - exponent, negative, mode);
  if (kept == 0) return 0;
  if (quantum + bit_length(kept) - 1 > largest_place(output)) {
    return infinity_of(stored, negative);  // T8: whatever the conversion
  }
  return exact_code(stored, negative, kept, quantum);
}

/// The sum of terms, each a multiple of 2^unit once cut.
integer sum_of(const std::vector<term>& terms, int unit, rounding cut) {
  integer sum = 0;
  for (const term& t : terms) {
    const integer kept =
        rounded(t.magnitude, unit - t.exponent, t.negative, cut);
    if (t.negative) {
      sum -= kept;
    } else {
      sum += kept;
    }
  }
  return sum;
}

/// T7 over the sorts of terms: the code, if any is not a number.
class special_terms {
 public:
  void take(sort is, bool negative) {
    nan_ = nan_ || is == sort::nan;
    if (is == sort::infinite) (negative ? minus_ : plus_) = true;
  }
  std::optional<std::uint64_t> code(format stored) const {
    if (nan_ || (plus_ && minus_)) return nan_of(stored);
    if (plus_ || minus_) return infinity_of(stored, minus_);
    return std::nullopt;
  }

 private:
  bool nan_ = false;
  bool plus_ = false;
  bool minus_ = false;
};

sort product_sort(const operand& x, const operand& y) {
  if (x.is == sort::nan || y.is == sort::nan) return sort::nan;
  if (x.is == sort::number && y.is == sort::number) return sort::number;
  return x.is_zero() || y.is_zero() ? sort::nan : sort::infinite;
}

// A1, and T13's c_last: one sum, rounded once.
std::uint64_t rounded_sum(format output, format stored, rounding mode,
                          std::uint64_t x_code, std::uint64_t y_code) {
  const operand x = operand_of(stored, x_code);
  const operand y = operand_of(stored, y_code);
  special_terms special;
  special.take(x.is, x.negative);
  special.take(y.is, y.negative);
  if (const auto code = special.code(stored)) return *code;
  const int unit = std::min(x.exponent, y.exponent);
  const std::vector<term> terms = {
      {x.negative, x.significand, x.exponent, x.place},
      {y.negative, y.significand, y.exponent, y.place}};
  return converted(output, stored, mode,
                   sum_of(terms, unit, rounding::toward_zero), unit);
}

/// T2 to T8 over the products among the terms and c.
std::uint64_t summed(const accumulator& acc, std::vector<term> terms,
                     special_terms special, int floor, std::uint64_t c_code) {
  const operand c = operand_of(acc.stored, c_code);
  special.take(c.is, c.negative);
  if (const auto code = special.code(acc.stored)) return *code;
  const bool last = acc.c == addend::last;
  if (!c.is_zero() && !last) {
    terms.push_back({c.negative, c.significand, c.exponent, c.place});
  }
  std::uint64_t d = 0;
  if (!terms.empty()) {
    int unit = terms.front().exponent;
    int place = floor;
    for (const term& t : terms) {
      unit = std::min(unit, t.exponent);
      place = std::max(place, t.place);
    }
    if (acc.fraction_bits != uncut) unit = place - acc.fraction_bits;  // T3
    d = converted(acc.output, acc.stored, acc.conversion,
                  sum_of(terms, unit, acc.cut), unit);
  }
  if (!last) return d;
  return rounded_sum(acc.output, acc.stored, acc.conversion, d, c_code);
}

std::uint64_t fused_step(const accumulator& acc, const std::vector<operand>& a,
                         const std::vector<operand>& b, std::uint64_t c_code) {
  special_terms special;
  std::vector<term> terms;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const operand& x = a[k];
    const operand& y = b[k];
    const bool negative = x.negative != y.negative;
    special.take(product_sort(x, y), negative);
    const integer m = integer(x.significand) * y.significand;
    if (m == 0) continue;  // T2
    const int exponent = x.exponent + y.exponent;
    const int place =
        acc.renormalized ? exponent + bit_length(m) - 1 : x.place + y.place;
    terms.push_back({negative, m, exponent, place});
  }
  return summed(acc, terms, special, acc.exponent_floor, c_code);
}

// T17: the scales of a block.
operand scale_of(block_scale s, std::uint64_t code) {
  operand x;
  if (s == block_scale::power_of_two) {
    if (code % 256 == 255) x.is = sort::nan;
    x.significand = 1;
    x.place = static_cast<int>(code % 256) - 127;
    x.exponent = x.place;
    return x;
  }
  const std::uint64_t magnitude = code % 128;
  const std::uint64_t e = magnitude / 8;
  if (magnitude == 127) x.is = sort::nan;
  x.significand = e > 0 ? 8 + magnitude % 8 : magnitude % 8;
  x.place = static_cast<int>(e > 0 ? e : 1) - 7;
  x.exponent = x.place - 3;
  return x;
}

/// Operands and scales of a step with block scales.
struct scaled_operands {
  const block_scaled_path& p;
  const std::uint64_t* a;
  const std::uint64_t* b;
  const std::uint64_t* scales_a;
  const std::uint64_t* scales_b;
  std::ptrdiff_t count;

  operand left(std::ptrdiff_t k) const {
    return operand_of(p.unscaled.a, a[k]);
  }
  operand right(std::ptrdiff_t k) const {
    return operand_of(p.unscaled.b, b[k]);
  }
  operand left_scale(std::ptrdiff_t k) const {
    return scale_of(p.scale, scales_a[k / p.block]);
  }
  operand right_scale(std::ptrdiff_t k) const {
    return scale_of(p.scale, scales_b[k / p.block]);
  }
};

// T18: products, their places raised by the scales.
std::uint64_t step_of_products(const scaled_operands& in, std::uint64_t c) {
  special_terms special;
  std::vector<term> terms;
  for (std::ptrdiff_t k = 0; k < in.count; ++k) {
    const operand x = in.left(k);
    const operand y = in.right(k);
    const operand sx = in.left_scale(k);
    const operand sy = in.right_scale(k);
    const bool negative = x.negative != y.negative;
    special.take(product_sort(x, y), negative);
    special.take(product_sort(sx, sy), false);
    const integer m = integer(x.significand) * y.significand;
    if (m == 0) continue;
    const int raised = sx.place + sy.place;
    terms.push_back({negative, m, x.exponent + y.exponent + raised,
                     x.place + y.place + raised});
  }
  const accumulator& acc = in.p.unscaled.acc;
  return summed(acc, terms, special, acc.exponent_floor, c);
}

// T19: exact sums of 16 products, in quarters, times both scales.
std::uint64_t step_of_sums(const scaled_operands& in, std::uint64_t c) {
  const accumulator& acc = in.p.unscaled.acc;
  int floor = acc.exponent_floor;
  special_terms special;
  std::vector<term> terms;
  for (std::ptrdiff_t first = 0; first < in.count; first += 16) {
    const operand sx = in.left_scale(first);
    const operand sy = in.right_scale(first);
    special.take(product_sort(sx, sy), false);
    integer quarters = 0;
    bool any = false;
    for (auto k = first; k < std::min(first + 16, in.count); ++k) {
      const operand x = in.left(k);
      const operand y = in.right(k);
      const integer m = integer(x.significand) * y.significand;
      any = any || m != 0;
      const integer product = m << (x.exponent + y.exponent + 2);
      quarters += x.negative != y.negative ? integer(-product) : product;
    }
    if (!any || sx.significand == 0 || sy.significand == 0) continue;
    // A sum that cancels is a term, too: of magnitude 0.
    floor = std::max(floor, sx.place + sy.place);
    const integer magnitude = quarters < 0 ? integer(-quarters) : quarters;
    terms.push_back({quarters < 0, magnitude * sx.significand * sy.significand,
                     sx.exponent + sy.exponent - 2, sx.place + sy.place});
  }
  return summed(acc, terms, special, floor, c);
}

}  // namespace

std::uint64_t rational_step(const path& p, const std::uint64_t* a,
                            const std::uint64_t* b, std::ptrdiff_t count,
                            std::uint64_t c) {
  // With a lowering, [0] is what T1 takes and [1] what T2 takes.
  std::vector<operand> x[2];
  std::vector<operand> y[2];
  const bool direct = p.lowering == lowering::direct;
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const operand ak = operand_of(p.a, a[k]);
    const operand bk = operand_of(p.b, b[k]);
    const int half = direct || k % 4 < 2 ? 0 : 1;
    x[half].push_back(direct ? ak : as_fp16(ak));
    y[half].push_back(direct ? bk : as_fp16(bk));
  }
  if (direct) return fused_step(p.acc, x[0], y[0], c);
  const format f = p.acc.stored;
  const bool chained = p.lowering == lowering::hmma_chained;
  const auto nearest = rounding::nearest_even;
  const std::uint64_t t1 = fused_step(p.acc, x[0], y[0], 0);
  const std::uint64_t t2 = fused_step(p.acc, x[1], y[1], chained ? t1 : 0);
  return rounded_sum(f, f, nearest, c,
                     chained ? t2 : rounded_sum(f, f, nearest, t1, t2));
}

std::uint64_t rational_chain(const path& p, const std::uint64_t* a,
                             const std::uint64_t* b, std::ptrdiff_t count,
                             std::uint64_t c) {
  std::ptrdiff_t length = p.acc.length;
  if (p.lowering != lowering::direct) length *= 2;
  if (length == 0) length = std::max<std::ptrdiff_t>(count, 1);
  for (std::ptrdiff_t k = 0; k < count; k += length) {
    c = rational_step(p, a + k, b + k, std::min(length, count - k), c);
  }
  return c;
}

std::uint64_t rational_step(const block_scaled_path& p, const std::uint64_t* a,
                            const std::uint64_t* b,
                            const std::uint64_t* scales_a,
                            const std::uint64_t* scales_b, std::ptrdiff_t count,
                            std::uint64_t c) {
  const scaled_operands in{p, a, b, scales_a, scales_b, count};
  return p.terms == block_terms::products ? step_of_products(in, c)
                                          : step_of_sums(in, c);
}

}  // namespace zeroulp::oracle
