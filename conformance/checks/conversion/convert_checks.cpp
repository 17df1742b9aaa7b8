// Checks of formats, rounding and conversion against the MPFR oracle.

#include <fmt/format.h>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/conversion.hpp"

namespace zeroulp::conformance {
namespace {

/// Holds the value of one code, and the place of its bits (F5).
void hold_decoding(verdict& v, const implementation& i, format f,
                   std::uint64_t code) {
  const auto expected = oracle::value_of(f, code);
  const unpacked got = i.decode(f, code);
  const bool is_number = expected.what == oracle::value_class::number;
  const kind right = expected.what == oracle::value_class::nan ? kind::nan
                     : !is_number                              ? kind::infinite
                     : expected.is_zero()                      ? kind::zero
                                                               : kind::finite;
  // Sign, kind, and of numbers the significand; of all but 0 the exponent.
  std::vector<std::int64_t> of_got{got.negative, static_cast<int>(got.kind)};
  std::vector<std::int64_t> of_right{expected.negative,
                                     static_cast<int>(right)};
  if (is_number) {
    of_got.push_back(static_cast<std::int64_t>(got.significand));
    of_right.push_back(expected.numerator.get_si());
  }
  if (right == kind::finite) {
    of_got.push_back(got.exponent);
    of_right.push_back(expected.exponent);
  }
  v.compare(of_got, of_right, [&] {
    return fmt::format(
        "{} {:x}: got {}{:x} * 2^{} kind {}, expected {}{:x} * 2^{} class {}",
        describe(f), code, got.negative ? '-' : '+', got.significand,
        got.exponent, static_cast<int>(got.kind), expected.negative ? '-' : '+',
        expected.numerator.get_ui(), expected.exponent,
        static_cast<int>(expected.what));
  });
}

verdict decode_equals_the_definition(const implementation& i, const effort& e) {
  verdict v;
  const auto sweep = [&](format f, std::uint64_t stride) {
    const auto codes = oracle::layout_of(f).codes;
    for (std::uint64_t c = 0; c < codes; c += stride) {
      hold_decoding(v, i, f, c);
      if (finished(v, e)) return;
    }
  };
  for (const auto& f : named_formats_up_to(64)) {
    for (const auto code : special_codes(f.value)) {
      hold_decoding(v, i, f.value, code);
      if (finished(v, e)) return v;
    }
  }
  for (const auto& f : named_formats_up_to(16)) sweep(f.value, 1);
  for (const format f : what_if_formats()) sweep(f, 1);
  for (const format f : {tf32, e8m13}) sweep(f, e.level > 0 ? 1 : 997);
  const std::uint64_t samples = e.level == 0 ? 5000 : 500000;
  for (const format f : {fp32, fp64}) {
    for (std::uint64_t n = 0; n < samples && !finished(v, e); ++n) {
      counter_rng rng(e.seed, n);
      hold_decoding(v, i, f, random_code(f, rng));
    }
  }
  return v;
}

verdict specials_follow_the_policy(const implementation& i, const effort& e) {
  verdict v;
  const auto hold = [&](format from, format to) {
    for (const auto code : special_codes(from)) {
      const auto what = oracle::value_of(from, code);
      const bool special =
          what.what != oracle::value_class::number || what.is_zero();
      hold_conversion(v, i, from, code, to,
                      special ? policies::every : policies::as_needed);
      if (finished(v, e)) return;
    }
  };
  for (const auto& from : named_formats) {
    for (const auto& to : named_formats) hold(from.value, to.value);
  }
  for (const format to : what_if_formats()) {
    hold(fp32, to);
    hold(to, fp32);
  }
  return v;
}

verdict encode_keeps_every_code(const implementation& i, const effort& e) {
  verdict v;
  const auto hold = [&](format f, std::uint64_t code, rounder r, policy p) {
    const auto got = i.recode(f, code, f, r, p);
    v.compare(got, code,
              [&] { return describe_conversion(f, code, f, r, p, got, code); });
  };
  for (const auto& f : named_formats_up_to(e.level > 0 ? 22 : 16)) {
    const auto l = oracle::layout_of(f.value);
    // Below 2^9 codes everything is affordable; above, policies take turns.
    const bool all = l.codes <= 512 || e.level > 1;
    for (std::uint64_t code = 0; code < l.codes; ++code) {
      const auto x = oracle::value_of(f.value, code);
      if (x.what != oracle::value_class::number) continue;
      for (const auto& mode : named_roundings) {
        const rounder r{mode.value, static_cast<std::uint32_t>(~code)};
        if (!all) {
          hold(f.value, code, r, named_policies[code % 5].value);
          continue;
        }
        for (const auto& p : named_policies) hold(f.value, code, r, p.value);
      }
      if (finished(v, e)) return v;
    }
  }
  v.exhaustive = e.level > 1;
  return v;
}

/// Every `stride`-th boundary of `to` for a format of that many bits.
std::uint64_t boundary_stride(int bits, int level) {
  if (bits <= 12) return 1;
  if (bits <= 16) return level == 0 ? 211 : 1;
  if (bits <= 22) return level == 0 ? 9973 : level == 1 ? 61 : 1;
  const std::uint64_t codes = std::uint64_t{1} << (bits - 1);
  return codes / (level == 0 ? 300 : level == 1 ? 30000 : 1000000) | 1;
}

verdict conversion_rounds_once_at_boundaries(const implementation& i,
                                             const effort& e) {
  verdict v;
  const auto hold = [&](format from, format to) {
    const int bits = oracle::layout_of(to).bits;
    const auto stride = boundary_stride(bits, e.level);
    for (const auto code : boundary_codes(from, to, stride)) {
      hold_conversion(v, i, from, code, to);
      if (finished(v, e)) return;
    }
  };
  for (const format from : {fp32, fp64, bf16}) {
    for (const auto& to : named_formats) hold(from, to.value);
    for (const format to : what_if_formats()) hold(from, to);
  }
  return v;
}

verdict conversion_of_random_codes(const implementation& i, const effort& e) {
  verdict v;
  const auto sources = named_formats_up_to(64);
  const std::uint64_t cases = e.level == 0   ? 40000
                              : e.level == 1 ? 500000
                                             : 20000000;
  for (std::uint64_t n = 0; n < cases && !finished(v, e); ++n) {
    counter_rng rng(e.seed, n);
    const auto any = [&] {
      return sources[rng.below(static_cast<std::uint32_t>(sources.size()))]
          .value;
    };
    const format from = rng.one_in(3) ? any() : rng.one_in(2) ? fp32 : fp64;
    const format to = any();
    // Uniform exponents would miss small formats: take a number near one of
    // `to`, and change what lies below.
    std::uint64_t code = random_code(from, rng);
    if (!rng.one_in(4)) {
      const auto near = oracle::convert(to, random_code(to, rng), from,
                                        {rounding::toward_zero}, keep_specials);
      const int below = from.man_bits - to.man_bits;
      const auto change = below > 0 ? rng.next() >> (64 - below) : 0;
      code = near ^ change;
    }
    hold_conversion(v, i, from, code, to);
  }
  return v;
}

verdict recode_of_every_16_bit_code(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t stride = e.level == 0 ? 53 : 1;
  for (const auto& to : named_formats_up_to(12)) {
    for (const auto& from : named_formats_up_to(16)) {
      const auto codes = oracle::layout_of(from.value).codes;
      const auto step = codes <= 4096 ? 1 : stride;
      for (std::uint64_t code = 0; code < codes; code += step) {
        hold_conversion(v, i, from.value, code, to.value);
        if (finished(v, e)) return v;
      }
    }
  }
  v.exhaustive = stride == 1;
  return v;
}

}  // namespace

check_list convert_checks() {
  check_list all = {
      {"SpecialValuesFollowThePolicy", "R8 C1 C2 C3 C4 C5 C6 C7 C8 C11", "MPFR",
       0, specials_follow_the_policy},
      {"DecodeEqualsTheDefinition", "F1 F2 F3 F4 F5", "MPFR", 0,
       decode_equals_the_definition},
      {"EncodeKeepsEveryCode", "C1 C7 R1 R2 R3 R4 R5 R6 R7", "property", 0,
       encode_keeps_every_code},
      {"ConversionRoundsOnceAtEveryBoundary",
       "R1 R2 R3 R4 R5 R6 R7 R8 C1 C3 C7 C8", "MPFR", 0,
       conversion_rounds_once_at_boundaries},
      {"ConversionOfRandomCodesRoundsOnce", "R1 R2 R3 R4 R5 R6 R7 R8 C1 C8",
       "MPFR", 0, conversion_of_random_codes},
      {"RecodeOfEvery16BitCode", "C8 R1 R2 R3 R4 R5 R6 R7", "MPFR", 0,
       recode_of_every_16_bit_code},
  };
  for (const auto& list : {convert_property_checks(), convert_sweep_checks(),
                           convert_header_checks()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace zeroulp::conformance
