// Defines the target `arith`: one operation on codes of a format, rounded once,
// or PTX div.full. Random operands of a large format do not show a wrong sticky
// bit. So most operands are made to show one: their exponents are chosen
// together.

#include <algorithm>

#include "conformance/cases/hard_operands.hpp"
#include "fuzz/targets/coverage.hpp"
#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {
namespace {

using numbers = conformance::operands;

enum class profile : std::uint8_t {
  uniform,
  hard,
  cancelling,
  sums,
  ties,
  tiny,
  huge,
  quotients,
  special,
};

/// Makes operands of one operation.
class maker {
 public:
  maker(const settings& s, counter_rng& rng)
      : f_(s.from), op_(s.op), rng_(rng) {}

  numbers make(profile how) {
    switch (how) {
      case profile::uniform:
        return {any_code(f_, rng_), any_code(f_, rng_), any_code(f_, rng_)};
      case profile::hard:
        return conformance::random_operands(f_, rng_);
      case profile::cancelling:
        return cancelling();
      case profile::sums:
        return sums();
      case profile::ties:
        return ties();
      case profile::tiny:
        return around(f_.min_exponent() - rng_.between(-2, precision() + 2));
      case profile::huge:
        return around(max_exponent(f_) + rng_.between(-2, 1));
      case profile::quotients:
        return quotients();
      case profile::special:
        break;
    }
    return {special(), special(), special()};
  }

 private:
  int precision() const { return f_.man_bits + 1; }
  int lowest() const { return f_.min_exponent(); }
  int highest() const { return max_exponent(f_); }

  std::uint64_t special() {
    return code_of_kind(f_, static_cast<code_kind>(rng_.below(code_kinds)),
                        rng_);
  }
  std::uint64_t at(int exponent, std::uint64_t fraction) {
    return with_any_sign(f_, code_at(f_, exponent, fraction), rng_);
  }
  std::uint64_t at(int exponent) {
    // At the lowest exponent, subnormal numbers too.
    if (exponent <= lowest() && rng_.one_in(2)) {
      return code_of_kind(f_, code_kind::subnormal, rng_);
    }
    return at(exponent, some_fraction(f_, rng_));
  }
  std::uint64_t nudged(std::uint64_t code) {
    const std::uint64_t moved = code + rng_.below(5) - 2;
    return (code & f_.sign_mask()) | (moved & f_.magnitude_mask());
  }
  int exponent_of(std::uint64_t code) const {
    const unpacked x = decode(f_, code);
    return x.is_finite() ? x.exponent + f_.man_bits : 0;
  }
  int some_exponent() { return rng_.between(lowest(), highest()); }

  /// Exponents of a and b for which the result has exponent `result`.
  struct exponents {
    int a;
    int b;
  };
  exponents apart(int result) {
    const int low = lowest();
    const int high = highest();
    const auto within = [&](int first, int last) {
      first = std::clamp(first, low, high);
      return rng_.between(first, std::clamp(last, first, high));
    };
    switch (op_) {
      case operation::add:
      case operation::subtract:
        return {within(result, result),
                within(result - precision() - 2, result)};
      case operation::divide: {
        const int a = within(result + low, result + high);
        return {a, a - result};
      }
      case operation::square_root: {
        const int a = within(2 * result, 2 * result + 1);
        return {a, a};
      }
      case operation::multiply:
      case operation::fma:
        break;
    }
    const int a = within(result - high, result - low);
    return {a, result - a};
  }

  /// Operands whose result, or whose product, has about this exponent.
  numbers around(int result) {
    const auto [a, b] = apart(result);
    const int c = result + rng_.between(-precision() - 2, 2);
    return {at(a), at(b), rng_.one_in(4) ? with_any_sign(f_, 0, rng_) : at(c)};
  }

  /// Terms that cancel in all but their last bits.
  numbers cancelling() {
    const std::uint64_t minus = f_.sign_mask();
    numbers x = around(rng_.between(lowest() / 2, highest() / 2));
    if (op_ == operation::fma) {
      x.c = nudged(multiply(f_, x.a, x.b) ^ minus);
    } else {
      x.a = at(some_exponent());
      x.b = nudged(op_ == operation::add ? x.a ^ minus : x.a);
      const auto ulp = std::uint64_t{1} << f_.man_bits;
      if (rng_.one_in(4)) x.b ^= ulp;  // the next exponent
    }
    return x;
  }

  /// Terms at every distance, up to where one is only sticky bits.
  numbers sums() {
    const int reach = precision() + 4;
    numbers x = around(some_exponent());
    if (op_ == operation::fma) {
      const int product = exponent_of(x.a) + exponent_of(x.b);
      x.c =
          at(product + rng_.between(-precision() - reach, precision() + reach));
    } else {
      x.b = at(exponent_of(x.a) + rng_.between(-reach, reach));
    }
    return x;
  }

  /// A code with `bits` significant bits, the last one set.
  std::uint64_t short_code(int exponent, int bits) {
    const int cleared = std::clamp(f_.man_bits + 1 - bits, 0, 52);
    const std::uint64_t fraction = some_fraction(f_, rng_) >> cleared
                                                                  << cleared;
    const std::uint64_t last = std::uint64_t{1} << cleared;
    return at(exponent, (fraction | last) & low_bits(f_.man_bits));
  }

  /// Results with one bit more than the format has.
  numbers ties() {
    const int p = precision();
    const int middle = rng_.between(lowest() / 2, highest() / 2);
    const int low = lowest() - rng_.between(0, p);
    const auto [ea, eb] = apart(rng_.one_in(2) ? low : middle);
    const int bits = rng_.between(1, p);
    // Products have the bits of both factors, or one fewer.
    numbers x{short_code(ea, bits), short_code(eb, p + 2 - bits), 0};
    if (rng_.one_in(2)) x.b = short_code(eb, p + 1 - bits);
    const auto small = [&](int exponent) {
      return at(exponent, rng_.one_in(2) ? 0 : some_fraction(f_, rng_));
    };
    if (op_ == operation::add || op_ == operation::subtract) {
      x.a = at(ea);
      x.b = small(ea - p);
      if (rng_.one_in(2)) std::swap(x.a, x.b);
    } else if (op_ == operation::divide) {
      x.b = at(eb, 0);
    } else if (op_ == operation::fma && !rng_.one_in(4)) {
      const int by = rng_.between(p - 1, p + 1);
      const int product = exponent_of(x.a) + exponent_of(x.b);
      x.c = small(product + (rng_.one_in(2) ? by : -by));
    }
    return x;
  }

  /// Products, quotients and roots next to a midpoint, or to a code; often next
  /// to the largest code.
  numbers quotients() {
    numbers x{0, at(rng_.between(-4, 4)), 0};
    if (rng_.one_in(2)) x.c = any_code(f_, rng_);
    const std::uint64_t to = rng_.one_in(3)
                                 ? with_any_sign(f_, f_.max_code(), rng_)
                                 : at(some_exponent());
    unpacked near = decode(f_, to);
    if (rng_.one_in(2)) {
      near.significand = 2 * near.significand + 1;
      --near.exponent;
    }
    const unpacked b = decode(f_, x.b);
    const auto round = rounder{rng_.one_in(2) ? rounding::nearest_even
                                              : rounding::toward_zero};
    const auto made = [&](const auto& value) {
      return encode(f_, value, round, cuda_satfinite);
    };
    x.a = op_ == operation::square_root ? made(product(near, near))
          : op_ == operation::divide    ? made(product(near, b))
                                        : made(quotient(near, b));
    if (rng_.one_in(2)) x.a = nudged(x.a);
    return x;
  }

  format f_;
  operation op_;
  counter_rng& rng_;
};

void draw(settings& s, counter_rng& rng) {
  constexpr format common[] = {fp32, fp32, fp64, fp16, bf16, e5m2, e4m3, e4m3};
  s.from = rng.one_in(2) ? one_of(common, rng) : any_format(rng);
  s.op = static_cast<operation>(rng.below(6));
  s.round = any_rounder(rng);
  s.approximate = s.op == operation::divide && rng.one_in(3);
  if (!s.approximate) return;
  s.from = fp32;
  s.round.mode = rounding::nearest_even;
}

std::string refuse(const settings& s) {
  const bool allowed = s.op == operation::divide && s.from == fp32 &&
                       s.round.mode == rounding::nearest_even;
  return s.approximate && !allowed
             ? "approximate is a division of fp32 with nearest_even only"
             : "";
}

std::vector<operand_spec> operands_of(const settings& s) {
  const axis one{0, 1};
  const axis n{'n', 1};
  return {{"a", s.from, one, n}, {"b", s.from, one, n}, {"c", s.from, one, n}};
}

void fill(problem& p, int by, counter_rng& rng) {
  const settings& s = p.with;
  const std::ptrdiff_t n = some_length(rng);
  matrix a("a", s.from, 1, n);
  matrix b("b", s.from, 1, n);
  matrix c("c", s.from, 1, n);
  maker m(s, rng);
  for (std::size_t i = 0; i < a.words.size(); ++i) {
    const numbers x = m.make(static_cast<profile>(by));
    a.words[i] = x.a;
    // Operands that the operation does not have are 0.
    if (s.op != operation::square_root) b.words[i] = x.b;
    if (s.op == operation::fma) c.words[i] = x.c;
    const bool root_of_minus = s.op == operation::square_root &&
                               by != static_cast<int>(profile::special);
    if (root_of_minus && !rng.one_in(8)) a.words[i] &= ~s.from.sign_mask();
  }
  p.in.clear();
  p.in.push_back(std::move(a));
  p.in.push_back(std::move(b));
  p.in.push_back(std::move(c));
}

std::string clauses(const problem& p, std::string_view) {
  const settings& s = p.with;
  if (s.approximate) return "Q8";
  std::string text = "A1 A2";
  const bool sums = s.op == operation::add || s.op == operation::subtract;
  if (sums || s.op == operation::fma) text += " A4";
  if (s.op == operation::divide) text += " A3";
  if (s.op == operation::square_root) text += " A5";
  if (s.round.mode == rounding::stochastic) text += " A6";
  return text + " " + clause_of(s.round.mode) + " R8 C3 C5";
}

}  // namespace

target_info arith_info() {
  return {target::arith,
          "arith",
          "add to square root of codes, rounded once; PTX div.full",
          {"from", "op", "approximate", "round", "random"},
          {"uniform", "hard", "cancelling", "sums", "ties", "tiny", "huge",
           "quotients", "special"},
          draw,
          refuse,
          operands_of,
          fill,
          run_arith,
          clauses,
          arith_bins,
          cover_arith};
}

}  // namespace zeroulp::fuzz
