// Every float: all 2^32 inputs at level 3, a stride of them below.

#include "conformance/checks/conversion/float_sweep.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance {
namespace {

/// Nearest-even first; below level 3 the other roundings are for the smallest
/// format only, because the boundaries are checked elsewhere.
verdict sweep_to(format to, const implementation& i, const effort& e) {
  verdict v;
  const bool all = e.level >= 3 || to == e4m3;
  for (const named_rounding& mode : named_roundings) {
    if (!all && mode.value != rounding::nearest_even) continue;
    for (const policy p : {cuda_satfinite, cuda_nosat}) {
      // In range the policies are one; both are swept where it is cheap.
      if (e.level >= 3 && !p.saturate_finite &&
          mode.value != rounding::nearest_even) {
        continue;
      }
      counter_rng rng(e.seed, static_cast<std::uint64_t>(mode.value));
      sweep s{to, {mode.value, rng.next32()}, p, sweep_stride(e.level), 0};
      s.offset = rng.below(static_cast<std::uint32_t>(s.stride));
      const auto table = oracle::make_conversion_table(s.to, s.r, s.p);
      sweep_floats(
          v, e, s,
          [&](std::uint32_t code) {
            return i.recode(fp32, code, s.to, s.r, s.p);
          },
          [&] { return table_reader(table); });
      if (finished(v, e)) return v;
    }
  }
  v.exhaustive = e.level >= 3;
  return v;
}

template <const format& To>
verdict sweep_named(const implementation& i, const effort& e) {
  return sweep_to(To, i, e);
}

}  // namespace

check_list convert_sweep_checks() {
  return {
      {"EveryFloatToE4m3", "R1 R2 R3 R4 R5 R6 R7 C1 C3 C4 C5", "MPFR", 0,
       sweep_named<e4m3>},
      {"EveryFloatToE5m2", "R1 R2 R3 R4 R5 R6 R7 C1 C3 C4 C5", "MPFR", 1,
       sweep_named<e5m2>},
      {"EveryFloatToE5m6", "R1 R2 R3 R4 R5 R6 R7 C1 C3 C4 C5", "MPFR", 1,
       sweep_named<e5m6>},
      {"EveryFloatToBf16", "R1 R2 R3 R4 R5 R6 R7 C1 C3 C4 C5", "MPFR", 1,
       sweep_named<bf16>},
  };
}

}  // namespace zeroulp::conformance
