// Properties of conversion and arithmetic over formats that nobody named, and
// tests of the oracle itself: what it says is held against MPFR's own rounding
// and against the definition of a neighbour.

#include <gmpxx.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/conversion.hpp"
#include "conformance/checks/operation_cases.hpp"
#include "conformance/oracles/mpfr_oracle.hpp"
#include "zeroulp/core/arith.hpp"

namespace zeroulp {

// How RapidCheck tells a counterexample.
void showValue(const format& f, std::ostream& out) {
  out << conformance::describe(f);
}
void showValue(const rounder& r, std::ostream& out) {
  out << conformance::describe(r);
}
void showValue(const policy& p, std::ostream& out) {
  out << conformance::describe(p);
}

}  // namespace zeroulp

namespace rc {

/// Any format that the core allows: its numbers are numbers of FP64.
template <>
struct Arbitrary<zeroulp::format> {
  static Gen<zeroulp::format> arbitrary() {
    return gen::exec([] {
      using zeroulp::specials;
      const auto kind =
          *gen::element(specials::ieee, specials::fn, specials::fnuz,
                        specials::finite, specials::scale);
      const bool scale = kind == specials::scale;
      const int exp_bits = *gen::inRange(1, 12);
      // The highest exponent is at most 1023, the quantum at least 2^-1074.
      const bool ieee = kind == specials::ieee;
      const int lowest = (1 << exp_bits) - (ieee ? 2 : 1) - 1023;
      const int most = std::min(52, 1075 - lowest);
      const int man_bits = scale ? 0 : *gen::inRange(ieee ? 1 : 0, most + 1);
      const int highest = 1074 + (scale ? 0 : 1) - man_bits;
      const int bias = *gen::inRange(lowest, highest + 1);
      return zeroulp::format{static_cast<std::uint8_t>(exp_bits),
                             static_cast<std::uint8_t>(man_bits),
                             static_cast<std::int16_t>(bias), kind};
    });
  }
};

template <>
struct Arbitrary<zeroulp::rounder> {
  static Gen<zeroulp::rounder> arbitrary() {
    return gen::exec([] {
      const auto mode = *gen::inRange(0, 7);
      return zeroulp::rounder{static_cast<zeroulp::rounding>(mode),
                              *gen::arbitrary<std::uint32_t>()};
    });
  }
};

template <>
struct Arbitrary<zeroulp::policy> {
  static Gen<zeroulp::policy> arbitrary() {
    return gen::exec([] {
      return zeroulp::policy{*gen::arbitrary<bool>(), *gen::arbitrary<bool>(),
                             *gen::arbitrary<bool>(),
                             *gen::element(zeroulp::nan_payload::quiet,
                                           zeroulp::nan_payload::all_ones,
                                           zeroulp::nan_payload::lowest,
                                           zeroulp::nan_payload::largest),
                             *gen::arbitrary<bool>()};
    });
  }
};

}  // namespace rc

namespace zeroulp::conformance {
namespace {

/// FP64 codes near those that matter to `f`; shrinks like a number.
std::uint64_t double_near(format f) {
  counter_rng rng(*rc::gen::arbitrary<std::uint32_t>(), 0);
  const auto near = oracle::convert(f, random_code(f, rng), fp64,
                                    {rounding::toward_zero}, cuda_nosat);
  return (near ^ (rng.next() >> rng.between(11, 63))) ^
         (rng.next() & std::uint64_t{1} << 63);
}

std::uint64_t any_code(format f) {
  counter_rng rng(*rc::gen::arbitrary<std::uint32_t>(), 1);
  return random_code(f, rng);
}

bool is_number(format f, std::uint64_t code) {
  return decode(f, code).is_finite();
}

/// |x| as a rational; x not a root.
mpq_class rational(const oracle::exact& x) {
  mpq_class value(x.numerator, x.denominator);
  value.canonicalize();
  if (x.exponent >= 0) {
    mpq_mul_2exp(value.get_mpq_t(), value.get_mpq_t(),
                 static_cast<unsigned long>(x.exponent));
  } else {
    mpq_div_2exp(value.get_mpq_t(), value.get_mpq_t(),
                 static_cast<unsigned long>(-x.exponent));
  }
  return value;
}

// R1 to R8, C1 to C8.
RC_GTEST_PROP(AnyFormat, EncodeEqualsTheOracle,
              (const format& f, const rounder& r, const policy& p)) {
  const auto code = double_near(f);
  RC_ASSERT(recode(fp64, code, f, r, p) ==
            oracle::convert(fp64, code, f, r, p));
}

// C1, C2.
RC_GTEST_PROP(AnyFormat, EncodeKeepsEveryNumber,
              (const format& f, const rounder& r, const policy& p)) {
  const auto code = any_code(f);
  RC_PRE(is_number(f, code));
  RC_ASSERT(recode(f, code, f, r, p) == code);
}

// F1, F5: every number is a number of FP64.
RC_GTEST_PROP(AnyFormat, DecodingIsExactInFp64, (const format& f)) {
  const auto code = any_code(f);
  RC_PRE(is_number(f, code));
  const auto x = oracle::value_of(f, code);
  const double expected =
      std::ldexp(x.numerator.get_d(), static_cast<int>(x.exponent));
  RC_ASSERT(to_double(decode(f, code)) == (x.negative ? -expected : expected));
}

// R1 to R7.
RC_GTEST_PROP(AnyFormat, EncodeIsMonotone,
              (const format& f, const rounder& r)) {
  auto a = double_near(f) & ~(std::uint64_t{1} << 63);
  auto b = double_near(f) & ~(std::uint64_t{1} << 63);
  RC_PRE(is_number(fp64, a) && is_number(fp64, b));
  if (a > b) std::swap(a, b);
  RC_ASSERT(recode(fp64, a, f, r, cuda_satfinite) <=
            recode(fp64, b, f, r, cuda_satfinite));
}

// R1: nothing is nearer than what nearest_even gives.
RC_GTEST_PROP(AnyFormat, NearestIsNearest, (const format& f)) {
  const auto code = double_near(f) & ~(std::uint64_t{1} << 63);
  RC_PRE(is_number(fp64, code));
  const auto x = rational(oracle::value_of(fp64, code));
  const auto near = recode(fp64, code, f, {}, cuda_satfinite);
  const mpq_class error = abs(x - rational(oracle::value_of(f, near)));
  for (const std::uint64_t other : {near - 1, near + 1}) {
    if (other > f.max_code()) continue;
    const bool nearest = error <= abs(x - rational(oracle::value_of(f, other)));
    RC_ASSERT(nearest);
  }
}

// R4, R5.
RC_GTEST_PROP(AnyFormat, DownAndUpEncloseTheValue, (const format& f)) {
  const auto code = double_near(f);
  const double x = bit_cast<double>(code);
  RC_PRE(is_number(fp64, code) && f.has_sign());
  RC_PRE(std::fabs(x) <= to_double(decode(f, f.max_code())));
  const auto to = [&](rounding mode) {
    return to_double(decode(f, recode(fp64, code, f, {mode}, cuda_satfinite)));
  };
  RC_ASSERT(to(rounding::down) <= x && x <= to(rounding::up));
  const bool exact = to(rounding::down) == to(rounding::up);
  RC_ASSERT(exact == (to(rounding::toward_zero) == x));
}

// A1 to A6.
RC_GTEST_PROP(AnyFormat, ArithmeticEqualsTheOracle,
              (const format& f, const rounder& r)) {
  counter_rng rng(*rc::gen::arbitrary<std::uint32_t>(), 2);
  const auto x = random_operands(f, rng);
  const auto core = core_implementation();
  for (int n = 0; n < 6; ++n) {
    const auto op = static_cast<operation>(n);
    const auto expected = oracle::compute(function_of(op), f, x.a, x.b, x.c, r);
    const auto got = core.arithmetic(op, f, x.a, x.b, x.c, r);
    if (got != expected) {
      RC_FAIL(describe_operation(op, f, x, r, got, expected));
    }
  }
}

// The oracle's neighbours are neighbours by definition.
RC_GTEST_PROP(Oracle, NeighboursEncloseTheValue, (const format& f)) {
  const auto x = oracle::value_of(fp64, double_near(f));
  const auto at = oracle::place(f, x);
  RC_PRE(at.what == oracle::value_class::number && !at.zero && !at.below_all);
  RC_PRE(at.below <= oracle::layout_of(f).largest);
  const mpq_class low = rational(oracle::continued(f, at.below));
  const mpq_class high = rational(oracle::continued(f, at.below + 1));
  const mpq_class value = rational(x);
  // GMP's numbers cannot be printed without another library: bools.
  const bool enclosed = low <= value && value < high;
  RC_ASSERT(enclosed);
  const mpq_class units = (value - low) / (high - low) * 4294967296.0;
  const mpz_class whole = units.get_num() / units.get_den();
  RC_ASSERT(whole.get_ui() == at.fraction);
  const bool rest = units != mpq_class(whole);
  RC_ASSERT(rest == at.rest);
  const mpq_class middle = rational(oracle::midpoint(f, at.below));
  const bool halfway = middle + middle == low + high;
  RC_ASSERT(halfway);
}

TEST(Oracle, AgreesWithMpfrsOwnRounding) {
  constexpr format ieee[] = {fp16, bf16, fp32, fp64, e5m2, e5m6, tf32, e8m13};
  for (std::uint64_t n = 0; n < 200000; ++n) {
    counter_rng rng(1, n);
    const format f = ieee[n % std::size(ieee)];
    const operands x = random_operands(f, rng);
    const auto op = static_cast<oracle::function>(rng.below(6));
    const auto mode = static_cast<rounding>(rng.below(7));
    if (!oracle::mpfr_rounds(f, mode)) continue;
    ASSERT_EQ(oracle::compute(op, f, x.a, x.b, x.c, {mode}),
              oracle::mpfr_compute(op, f, x.a, x.b, x.c, mode))
        << describe(f) << " operation " << static_cast<int>(op) << std::hex
        << ' ' << x.a << ' ' << x.b << ' ' << x.c << ' '
        << describe(rounder{mode});
  }
}

// R7: the mean over all random numbers is the value itself.
TEST(Stochastic, RoundsOutwardForThatShareOfRandomNumbers) {
  for (const std::uint32_t code : {0x3f880000u, 0x3f812345u, 0x3a012345u,
                                   0x3f8fffffu, 0x39000001u, 0x3f900000u}) {
    const auto at = oracle::place(e4m3, oracle::value_of(fp32, code));
    const auto outward = [&](std::uint64_t random) {
      const rounder r{rounding::stochastic, static_cast<std::uint32_t>(random)};
      return recode(fp32, code, e4m3, r) != at.below;
    };
    std::uint64_t first = 0;
    std::uint64_t last = std::uint64_t{1} << 32;
    while (first < last) {
      const auto middle = (first + last) / 2;
      (outward(middle) ? last : first) = outward(middle) ? middle : middle + 1;
    }
    EXPECT_EQ((std::uint64_t{1} << 32) - first, at.fraction);
  }
}

// Recorded: cases must be the same on every machine, for ever.
TEST(CounterRng, IsAFunctionOfSeedAndIndex) {
  counter_rng rng(1, 2);
  EXPECT_EQ(rng.next(), 0xbff7533526b190bau);
  counter_rng other(7, 0);
  for (int n = 0; n < 1000; ++n) {
    EXPECT_LT(other.below(10), 10u);
    const int x = other.between(-3, 4);
    EXPECT_TRUE(-3 <= x && x <= 4);
  }
}

}  // namespace
}  // namespace zeroulp::conformance
