// Properties of conversion that need no oracle to tell the result: order,
// mirror images, and what round-to-odd is for.

#include <fmt/format.h>

#include "conformance/cases/boundaries.hpp"
#include "conformance/checks/conversion/conversion.hpp"

namespace zeroulp::conformance {
namespace {

verdict encode_is_monotone(const implementation& i, const effort& e) {
  verdict v;
  for (const auto& to : named_formats_up_to(e.level == 0 ? 12 : 16)) {
    const auto l = oracle::layout_of(to.value);
    const auto codes = boundary_codes(fp32, to.value, 1);
    for (const auto& mode : named_roundings) {
      const rounder r{mode.value, 0x9d2c5680u};
      std::uint64_t last = 0;
      for (const std::uint64_t code : codes) {
        if ((code & 0x7fffffff) >= 0x7f800000) continue;
        if (code == 0x80000000) last = 0;  // the negative ones begin
        const auto got = i.recode(fp32, code, to.value, r, cuda_satfinite) &
                         l.magnitude_mask;
        v.count(got >= last, [&] {
          return fmt::format("fp32 {:x} -> {}, {}: got {:x} after {:x}", code,
                             to.name, describe(r), got, last);
        });
        last = got;
        if (finished(v, e)) return v;
      }
    }
  }
  return v;
}

rounder mirrored(rounder r) {
  if (r.mode == rounding::up) return {rounding::down};
  if (r.mode == rounding::down) return {rounding::up};
  return r;
}

verdict negation_mirrors_the_result(const implementation& i, const effort& e) {
  verdict v;
  for (const auto& to : named_formats_up_to(e.level == 0 ? 12 : 32)) {
    const auto l = oracle::layout_of(to.value);
    if (to.value.kind == specials::scale) continue;
    const std::uint64_t stride = l.bits <= 12 ? 1 : (l.codes >> 14) | 1;
    for (const std::uint64_t code : boundary_codes(fp64, to.value, stride)) {
      if ((code >> 52) >= 0x7ff) continue;  // negative ones and specials
      for (const auto& mode : named_roundings) {
        const rounder r{mode.value, static_cast<std::uint32_t>(code * 77)};
        const policy p = named_policies[code % 5].value;
        const auto plus = i.recode(fp64, code, to.value, r, p);
        const auto minus = i.recode(fp64, code | std::uint64_t{1} << 63,
                                    to.value, mirrored(r), p);
        // fnuz has one zero and one NaN.
        const bool held = minus == (plus ^ l.sign_mask) ||
                          (to.value.kind == specials::fnuz && minus == plus &&
                           (plus & l.magnitude_mask) == 0);
        v.count(held, [&] {
          return fmt::format("fp64 {:x} -> {}, {}: {:x}, of its negative {:x}",
                             code, to.name, describe(r), plus, minus);
        });
      }
      if (finished(v, e)) return v;
    }
  }
  return v;
}

/// Boldo and Melquiond: two more bits and the same range suffice.
verdict odd_then_narrower_rounds_once(const implementation& i,
                                      const effort& e) {
  verdict v;
  for (const auto& to : named_formats_up_to(e.level == 0 ? 12 : 16)) {
    const auto l = oracle::layout_of(to.value);
    const std::uint64_t stride = l.bits <= 12 ? 1 : 13;
    for (const std::uint64_t code : boundary_codes(fp64, to.value, stride)) {
      const auto middle =
          i.recode(fp64, code, fp32, {rounding::to_odd}, ocp_nonsaturate);
      for (const auto& mode : named_roundings) {
        if (mode.value == rounding::stochastic) continue;  // needs 32 bits more
        const rounder r{mode.value};
        const policy p = named_policies[code % 5].value;
        const auto direct = i.recode(fp64, code, to.value, r, p);
        const auto twice = i.recode(fp32, middle, to.value, r, p);
        v.compare(direct, twice, [&] {
          return fmt::format("fp64 {:x} -> {}, {}: {:x}, through fp32 {:x}",
                             code, to.name, describe(r), direct, twice);
        });
      }
      if (finished(v, e)) return v;
    }
  }
  return v;
}

}  // namespace

check_list convert_property_checks() {
  return {
      {"EncodeIsMonotone", "R1 R2 R3 R4 R5 R6 R7 C1", "property", 0,
       encode_is_monotone},
      {"NegationMirrorsTheRounding", "R1 R2 R3 R4 R5 R6 R7 C1 C3", "property",
       0, negation_mirrors_the_result},
      {"RoundToOddThenNarrowerRoundsOnce", "R6 C8", "property", 0,
       odd_then_narrower_rounds_once},
  };
}

}  // namespace zeroulp::conformance
