#include "conformance/checks/conversion/conversion.hpp"

#include <fmt/format.h>

namespace zeroulp::conformance {

std::string describe(format f) {
  for (const named_format& known : named_formats) {
    if (known.value == f) return known.name;
  }
  return fmt::format("{{{}-{}, bias {}, specials {}}}", f.exp_bits, f.man_bits,
                     f.bias, static_cast<int>(f.kind));
}

std::string describe(rounder r) {
  for (const named_rounding& known : named_roundings) {
    if (known.value != r.mode) continue;
    if (r.mode != rounding::stochastic) return known.name;
    return fmt::format("{}({:08x})", known.name, r.random);
  }
  return "?";
}

std::string describe(policy p) {
  constexpr const char* payloads[] = {"quiet", "all_ones", "lowest", "largest"};
  return fmt::format("{{{}, {}, {}, {}, {}}}", p.saturate_finite,
                     p.saturate_infinite, p.nan_sign ? "keep" : "positive",
                     payloads[static_cast<int>(p.payload)], p.scale_magnitude);
}

std::string describe_conversion(format from, std::uint64_t code, format to,
                                rounder r, policy p, std::uint64_t got,
                                std::uint64_t expected) {
  return fmt::format("{} {:x} -> {}, {}, {}: got {:x}, expected {:x}",
                     describe(from), code, describe(to), describe(r),
                     describe(p), got, expected);
}

namespace {

std::vector<policy> every_policy() {
  std::vector<policy> all;
  for (unsigned bits = 0; bits < 64; ++bits) {
    all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                   static_cast<nan_payload>(bits >> 4), (bits & 8) != 0});
  }
  return all;
}

std::vector<policy> every_named_policy() {
  std::vector<policy> all;
  for (const named_policy& p : named_policies) all.push_back(p.value);
  return all;
}

/// Whether a policy can change what becomes of the value.
bool policy_matters(format to, const oracle::placed& at) {
  return at.what != oracle::value_class::number || at.zero || at.below_all ||
         at.below >= oracle::layout_of(to).largest ||
         (to.kind == specials::scale && at.negative);
}

}  // namespace

void hold_conversion(verdict& v, const implementation& i, format from,
                     std::uint64_t code, format to, policies which) {
  static const std::vector<policy> all = every_policy();
  static const std::vector<policy> named = every_named_policy();
  const auto at = oracle::place(to, oracle::value_of(from, code));
  const auto hold = [&](rounder r, policy p) {
    const std::uint64_t expected = oracle::finish(to, at, r, p);
    const std::uint64_t got = i.recode(from, code, to, r, p);
    v.compare(got, expected, [&] {
      return describe_conversion(from, code, to, r, p, got, expected);
    });
  };
  const auto hold_all = [&](policy p) {
    for (const named_rounding& mode : named_roundings) {
      if (mode.value != rounding::stochastic) hold({mode.value}, p);
    }
    // The smallest random number that rounds outward is 2^32 - fraction.
    const std::uint32_t threshold = 0u - at.fraction;
    for (const std::uint32_t random :
         {threshold, threshold - 1, 0u, 0xffffffffu, 0x80000000u}) {
      hold({rounding::stochastic, random}, p);
    }
  };
  if (which == policies::every) {
    for (const policy& p : all) hold_all(p);
  } else if (policy_matters(to, at)) {
    for (const policy& p : named) hold_all(p);
  } else {
    hold_all(named[(code ^ (code >> 7)) % named.size()]);
  }
}

}  // namespace zeroulp::conformance
