// Properties of arithmetic that need no oracle to tell the result.

#include <fmt/format.h>

#include "conformance/checks/operation_cases.hpp"

namespace zeroulp::conformance {
namespace {

constexpr format formats[] = {fp32, bf16, fp16, e4m3, e5m2, e5m6, fp64};

std::uint64_t cases_of(const effort& e) {
  return e.level == 0 ? 20000 : e.level == 1 ? 500000 : 10000000;
}

rounder any_rounder(counter_rng& rng) {
  return {static_cast<rounding>(rng.below(7)), rng.next32()};
}

bool is_number(format f, std::uint64_t code) {
  return (code & oracle::layout_of(f).magnitude_mask) <=
         oracle::layout_of(f).largest;
}

/// Calls `hold(f, operands, rounder, failures' sink)` with random operands.
template <class Hold>
verdict on_random_operands(const effort& e, std::uint64_t salt, Hold hold) {
  verdict v;
  for (std::uint64_t n = 0; n < cases_of(e) && !finished(v, e); ++n) {
    counter_rng rng(e.seed ^ salt, n);
    const format f = formats[n % std::size(formats)];
    const operands x = random_operands(f, rng);
    hold(v, f, x, any_rounder(rng));
  }
  return v;
}

verdict operands_commute(const implementation& i, const effort& e) {
  return on_random_operands(
      e, 1, [&](verdict& v, format f, const operands& x, rounder r) {
        for (const operation op :
             {operation::add, operation::multiply, operation::fma}) {
          const auto ab = i.arithmetic(op, f, x.a, x.b, x.c, r);
          const auto ba = i.arithmetic(op, f, x.b, x.a, x.c, r);
          v.compare(ab, ba,
                    [&] { return describe_operation(op, f, x, r, ba, ab); });
        }
      });
}

/// -x under the mirrored rounding gives -result, but for exact zero sums (A4)
/// under the roundings that are their own mirror, and NaN.
verdict negation_mirrors(const implementation& i, const effort& e) {
  return on_random_operands(
      e, 2, [&](verdict& v, format f, const operands& x, rounder r) {
        const auto l = oracle::layout_of(f);
        rounder mirrored = r;
        if (r.mode == rounding::up) mirrored.mode = rounding::down;
        if (r.mode == rounding::down) mirrored.mode = rounding::up;
        for (const operation op :
             {operation::add, operation::subtract, operation::multiply,
              operation::divide, operation::fma}) {
          const bool sum = op == operation::add || op == operation::subtract;
          const auto plus = i.arithmetic(op, f, x.a, x.b, x.c, r);
          const auto b = sum ? x.b ^ l.sign_mask : x.b;
          const auto c = op == operation::fma ? x.c ^ l.sign_mask : x.c;
          const auto minus =
              i.arithmetic(op, f, x.a ^ l.sign_mask, b, c, mirrored);
          const bool magnitudes_only =
              (plus & l.magnitude_mask) == 0 || !is_number(f, plus);
          const auto mask = magnitudes_only ? l.magnitude_mask
                                            : l.magnitude_mask | l.sign_mask;
          const auto expected = plus ^ l.sign_mask;
          v.compare(minus & mask, expected & mask, [&] {
            return describe_operation(op, f, {x.a ^ l.sign_mask, b, c},
                                      mirrored, minus, expected);
          });
        }
      });
}

/// a - b is a + -b; a * 1 + b is a + b; a * b + -0 is a * b where not zero.
verdict operations_agree(const implementation& i, const effort& e) {
  return on_random_operands(
      e, 3, [&](verdict& v, format f, const operands& x, rounder r) {
        const auto l = oracle::layout_of(f);
        const auto hold = [&](operation op, const operands& y,
                              std::uint64_t expected) {
          const auto got = i.arithmetic(op, f, y.a, y.b, y.c, r);
          v.compare(got, expected, [&] {
            return describe_operation(op, f, y, r, got, expected);
          });
        };
        const auto one = static_cast<std::uint64_t>(f.bias) << f.man_bits;
        const auto sum = i.arithmetic(operation::add, f, x.a, x.b, 0, r);
        hold(operation::subtract, {x.a, x.b ^ l.sign_mask, 0}, sum);
        hold(operation::fma, {x.a, one, x.b}, sum);
        hold(operation::fma, {one, x.b, x.a}, sum);
        const auto product =
            i.arithmetic(operation::multiply, f, x.a, x.b, 0, r);
        const auto sign = (x.a ^ x.b) & l.sign_mask;
        hold(operation::fma, {x.a, x.b, sign}, product);
        if (is_number(f, x.a)) hold(operation::divide, {x.a, one, 0}, x.a);
      });
}

/// Round-to-odd in FP64, then once more to a narrower format, is one rounding.
verdict odd_then_narrower(const implementation& i, const effort& e) {
  constexpr format narrow[] = {e4m3, e5m2, e5m6, bf16, fp16, tf32, e2m3};
  verdict v;
  for (std::uint64_t n = 0; n < cases_of(e) && !finished(v, e); ++n) {
    counter_rng rng(e.seed ^ 4, n);
    const format f = narrow[n % std::size(narrow)];
    const operands x = random_operands(f, rng);
    const auto op = static_cast<operation>(rng.below(6));
    const rounder r{static_cast<rounding>(rng.below(6))};
    const auto wide = [&](std::uint64_t code) {
      return i.recode(f, code, fp64, {}, cuda_nosat);
    };
    // A zero sum takes its sign from the mode, which is not that of the odd
    // one.
    const auto odd = i.arithmetic(op, fp64, wide(x.a), wide(x.b), wide(x.c),
                                  {rounding::to_odd});
    if ((odd & ~(std::uint64_t{1} << 63)) == 0) continue;
    const auto expected = i.recode(fp64, odd, f, r, cuda_nosat);
    const auto got = i.arithmetic(op, f, x.a, x.b, x.c, r);
    v.compare(got, expected,
              [&] { return describe_operation(op, f, x, r, got, expected); });
  }
  return v;
}

}  // namespace

check_list arithmetic_property_checks() {
  return {
      {"OperandsCommute", "A1", "property", 0, operands_commute},
      {"NegationMirrorsArithmetic", "A1 R4 R5", "property", 0,
       negation_mirrors},
      {"OperationsAgreeWithOneAnother", "A1 A4", "property", 0,
       operations_agree},
      {"RoundToOddThenNarrowerIsOneOperation", "A1 R6", "property", 0,
       odd_then_narrower},
  };
}

}  // namespace zeroulp::conformance
