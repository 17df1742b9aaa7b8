// Checks of arithmetic on codes: all pairs of small formats, hard operands of
// large ones, against the exact oracle and against MPFR's own rounding.

#include <fmt/format.h>

#include "conformance/cases/boundaries.hpp"
#include "conformance/cases/hard_roots.hpp"
#include "conformance/checks/operation_cases.hpp"

namespace zeroulp::conformance {

oracle::function function_of(operation op) {
  switch (op) {
    case operation::add:
      return oracle::function::add;
    case operation::subtract:
      return oracle::function::subtract;
    case operation::multiply:
      return oracle::function::multiply;
    case operation::fma:
      return oracle::function::fma;
    case operation::divide:
      return oracle::function::divide;
    case operation::square_root:
      break;
  }
  return oracle::function::square_root;
}

const char* name_of(operation op) {
  constexpr const char* names[] = {"add", "subtract", "multiply",
                                   "fma", "divide",   "square_root"};
  return names[static_cast<int>(op)];
}

std::string describe_operation(operation op, format f, const operands& x,
                               rounder r, std::uint64_t got,
                               std::uint64_t expected) {
  return fmt::format("{} {}({:x}, {:x}, {:x}), {}: got {:x}, expected {:x}",
                     describe(f), name_of(op), x.a, x.b, x.c, describe(r), got,
                     expected);
}

void hold_operation(verdict& v, const implementation& i, operation op, format f,
                    const operands& x) {
  const auto function = function_of(op);
  const bool binary = op != operation::square_root;
  const std::uint64_t b = binary ? x.b : 0;
  const std::uint64_t c = op == operation::fma ? x.c : 0;
  const auto a_value = oracle::value_of(f, x.a);
  const auto b_value = oracle::value_of(f, b);
  const auto c_value = oracle::value_of(f, c);
  const auto place = [&](rounding mode) {
    return oracle::place(
        f, oracle::evaluate(function, a_value, b_value, c_value, mode));
  };
  const auto hold = [&](rounder r, std::uint64_t expected) {
    const std::uint64_t got = i.arithmetic(op, f, x.a, b, c, r);
    v.compare(got, expected, [&] {
      return describe_operation(op, f, {x.a, b, c}, r, got, expected);
    });
  };
  // The mode decides the sign of an exact zero (A4), and nothing else.
  const auto at = place(rounding::nearest_even);
  const auto at_down = at.zero ? place(rounding::down) : at;
  for (const named_rounding& mode : named_roundings) {
    if (mode.value == rounding::stochastic) continue;
    const rounder r{mode.value};
    hold(r, oracle::finish(f, mode.value == rounding::down ? at_down : at, r,
                           cuda_nosat));
  }
  const std::uint32_t threshold = 0u - at.fraction;
  for (const std::uint32_t random : {threshold, threshold - 1}) {
    const rounder r{rounding::stochastic, random};
    hold(r, oracle::finish(f, at, r, cuda_nosat));
  }
}

namespace {

constexpr operation binary_operations[] = {operation::add, operation::subtract,
                                           operation::multiply,
                                           operation::divide};
constexpr operation every_operation[] = {
    operation::fma,      operation::add,    operation::subtract,
    operation::multiply, operation::divide, operation::square_root};

/// Every pair of codes, or every `stride`-th.
verdict small_formats(const implementation& i, const effort& e) {
  verdict v;
  const auto hold_pairs = [&](format f, std::uint64_t stride) {
    const auto codes = oracle::layout_of(f).codes;
    for (const operation op : binary_operations) {
      for (std::uint64_t n = 0; n < codes * codes; n += stride) {
        hold_operation(v, i, op, f, {n % codes, n / codes, 0});
        if (finished(v, e)) return;
      }
    }
  };
  for (const auto& f : named_formats_up_to(8)) {
    const bool affordable = oracle::layout_of(f.value).codes <= 64;
    hold_pairs(f.value, e.level > 0 || affordable ? 1 : 11);
    if (finished(v, e)) return v;
  }
  if (e.level > 0) {
    for (const format f : what_if_formats()) {
      if (oracle::layout_of(f).codes <= 256) hold_pairs(f, 1);
      if (finished(v, e)) return v;
    }
  }
  v.exhaustive = e.level > 0;
  return v;
}

/// Every triple of codes, or every `stride`-th.
verdict small_fma(const implementation& i, const effort& e) {
  verdict v;
  for (const auto& f : named_formats_up_to(8)) {
    const auto codes = oracle::layout_of(f.value).codes;
    const auto all = codes * codes * codes;
    const std::uint64_t stride = e.level >= 2 || all <= 4096 ? 1
                                 : e.level == 1              ? (all >> 17) | 1
                                                             : (all >> 12) | 1;
    for (std::uint64_t n = 0; n < all; n += stride) {
      hold_operation(v, i, operation::fma, f.value,
                     {n % codes, n / codes % codes, n / codes / codes});
      if (finished(v, e)) return v;
    }
  }
  v.exhaustive = e.level >= 2;
  return v;
}

constexpr format large_formats[] = {fp32, fp64, fp16,  bf16,
                                    tf32, e5m6, e8m13, e4m3};

/// Of fp16 and smaller formats every code is taken, below.
verdict hard_square_roots(const implementation& i, const effort& e) {
  verdict v;
  for (const format f : {fp32, fp64}) {
    for (const auto code : hard_roots(f, e.level == 0 ? 50 : 2000)) {
      hold_operation(v, i, operation::square_root, f, {code, 0, 0});
    }
    if (finished(v, e)) return v;
  }
  return v;
}

verdict roots(const implementation& i, const effort& e) {
  verdict v;
  for (const auto& f : named_formats_up_to(e.level > 0 ? 19 : 16)) {
    const auto codes = oracle::layout_of(f.value).codes;
    const std::uint64_t stride = e.level > 1 || codes <= 4096 ? 1
                                 : e.level == 1               ? 5
                                                              : 61;
    for (std::uint64_t code = 0; code < codes; code += stride) {
      hold_operation(v, i, operation::square_root, f.value, {code, 0, 0});
      if (finished(v, e)) return v;
    }
  }
  v.exhaustive = e.level > 1;
  return v;
}

/// Zeros, subnormals, ones, largest, Inf, NaN among themselves.
verdict special_operands(const implementation& i, const effort& e) {
  verdict v;
  for (const format f : large_formats) {
    const auto codes = special_codes(f);
    for (const auto a : codes) {
      hold_operation(v, i, operation::square_root, f, {a, 0, 0});
      for (const auto b : codes) {
        for (const operation op : binary_operations) {
          hold_operation(v, i, op, f, {a, b, 0});
        }
        // At level 0 a third of the third operands, another one each time.
        const std::size_t step = e.level == 0 ? 7 : 1;
        for (std::size_t n = (a ^ b) % step; n < codes.size(); n += step) {
          hold_operation(v, i, operation::fma, f, {a, b, codes[n]});
        }
      }
      if (finished(v, e)) return v;
    }
  }
  return v;
}

verdict random_operations(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t cases = e.level == 0   ? 20000
                              : e.level == 1 ? 600000
                                             : 20000000;
  for (std::uint64_t n = 0; n < cases && !finished(v, e); ++n) {
    counter_rng rng(e.seed, n);
    const format f = large_formats[n % std::size(large_formats)];
    const operands x = random_operands(f, rng);
    hold_operation(v, i, every_operation[rng.below(6)], f, x);
  }
  return v;
}

/// MPFR rounds by itself here: nothing of the exact oracle but decoding.
verdict mpfr_operations(const implementation& i, const effort& e) {
  verdict v;
  constexpr format ieee[] = {fp32, fp64, fp16, bf16, e5m6, e5m2, tf32};
  const std::uint64_t cases = e.level == 0   ? 20000
                              : e.level == 1 ? 600000
                                             : 10000000;
  for (std::uint64_t n = 0; n < cases && !finished(v, e); ++n) {
    counter_rng rng(e.seed ^ 0x6d706672, n);
    const format f = ieee[n % std::size(ieee)];
    const operands x = random_operands(f, rng);
    const operation op = every_operation[rng.below(6)];
    for (const auto& mode : named_roundings) {
      if (!oracle::mpfr_rounds(f, mode.value)) continue;
      const auto expected =
          oracle::mpfr_compute(function_of(op), f, x.a, x.b, x.c, mode.value);
      const rounder r{mode.value};
      const auto got = i.arithmetic(op, f, x.a, x.b, x.c, r);
      v.compare(got, expected,
                [&] { return describe_operation(op, f, x, r, got, expected); });
    }
  }
  return v;
}

}  // namespace

check_list arithmetic_checks() {
  check_list all = {
      {"ArithmeticOnSpecialOperands", "A1 A2 A3 A4 A5", "MPFR", 0,
       special_operands},
      {"ArithmeticOnEveryPairOfSmallFormats", "A1 A2 A3 A4 A6", "MPFR", 0,
       small_formats},
      {"FmaOnEveryTripleOfSmallFormats", "A1 A2 A4 A6", "MPFR", 0, small_fma},
      {"SquareRootNearMidpoints", "A1 A6 R1 R7", "MPFR", 0, hard_square_roots},
      {"SquareRootOfEveryCode", "A1 A2 A5 A6", "MPFR", 0, roots},
      {"ArithmeticOnHardOperands", "A1 A2 A3 A4 A6", "MPFR", 0,
       random_operations},
      {"ArithmeticEqualsMpfrsOwnRounding", "A1 A2 A3 A4 A5", "MPFR", 0,
       mpfr_operations},
  };
  for (const auto& list :
       {arithmetic_host_checks(), arithmetic_property_checks()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace zeroulp::conformance
