// The tensor-core step against the rational oracle (SPEC T1 to T14).

#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/step_cases.hpp"
#include "conformance/cases/step_paths.hpp"
#include "conformance/checks/step/block_scaled_checks.hpp"
#include "conformance/checks/step/step_classes.hpp"
#include "conformance/contract/registry.hpp"
#include "conformance/oracles/rational_step.hpp"

namespace zeroulp::conformance {
namespace {

int hex_digits(format f) { return (f.exp_bits + f.man_bits + 4) / 4; }

std::string hex(format f, std::uint64_t code) {
  return fmt::format("{:0{}x}", code, hex_digits(f));
}

std::string hex_row(format f, const std::vector<std::uint64_t>& codes,
                    int count) {
  std::string text;
  constexpr int shown = 128;
  for (int k = 0; k < std::min(count, shown); ++k) {
    text += hex(f, codes[static_cast<std::size_t>(k)]);
  }
  return count > shown ? text + "..." : text;
}

std::string describe(const named_path& path, const step_case& s,
                     std::uint64_t got, std::uint64_t expected) {
  const auto& p = path.value;
  return fmt::format("{} a={} b={} c={} got {} expected {}", path.name,
                     hex_row(p.a, s.a, s.count), hex_row(p.b, s.b, s.count),
                     hex(p.acc.stored, s.c), hex(p.acc.stored, got),
                     hex(p.acc.stored, expected));
}

/// Counts one case, held against the oracle; returns false to stop.
bool count_step(const implementation& i, const effort& e, const named_path& p,
                const step_case& s, verdict& v) {
  const std::uint64_t got =
      i.step(p.value, s.a.data(), s.b.data(), s.count, s.c);
  const std::uint64_t expected =
      oracle::rational_step(p.value, s.a.data(), s.b.data(), s.count, s.c);
  v.compare(got, expected, [&] { return describe(p, s, got, expected); });
  return !e.stop_early || v.failures == 0;
}

/// One in `stride` of the directed cases.
verdict directed(const implementation& i, const effort& e,
                 const std::vector<named_path>& paths, std::uint64_t stride) {
  verdict v;
  std::uint64_t index = 0;
  for (const auto& p : paths) {
    bool go_on = true;
    directed_step_cases(p.value, e.level, [&](const step_case& s) {
      if (go_on && index++ % stride == 0) go_on = count_step(i, e, p, s, v);
    });
    if (!go_on) break;
  }
  return v;
}

verdict check_directed_rows(const implementation& i, const effort& e) {
  return directed(i, e, specified_paths(), 1);
}

verdict check_directed_what_ifs(const implementation& i, const effort& e) {
  return directed(i, e, what_if_paths(), e.level == 0 ? 3 : 1);
}

verdict check_random(const implementation& i, const effort& e) {
  auto paths = specified_paths();
  const auto more = what_if_paths();
  paths.insert(paths.end(), more.begin(), more.end());
  const std::uint64_t rounds = e.level == 0   ? 8
                               : e.level == 1 ? 120
                               : e.level == 2 ? 2000
                                              : 50000;
  verdict v;
  std::uint64_t index = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const auto& p : paths) {
      for (int family = 0; family < step_families; ++family) {
        const auto s = make_step_case(p.value, static_cast<step_family>(family),
                                      counter_rng(e.seed, index++));
        if (!count_step(i, e, p, s, v)) return v;
      }
    }
  }
  return v;
}

// T9: D is the next c. A step that goes wrong shows in its own line.
verdict check_chains(const implementation& i, const effort& e) {
  const std::uint64_t rounds = e.level == 0 ? 1 : e.level == 1 ? 10 : 300;
  verdict v;
  std::uint64_t index = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (const auto& p : specified_paths()) {
      counter_rng rng(e.seed + 1, index++);
      const int steps = rng.between(2, e.level == 0 ? 8 : 64);
      const auto family =
          rng.one_in(2) ? step_family::normal : step_family::sparse;
      std::uint64_t c = 0;
      for (int n = 0; n < steps; ++n) {
        auto s =
            make_step_case(p.value, family, counter_rng(rng.next(), index));
        s.c = c;
        if (!count_step(i, e, p, s, v)) return v;
        c = i.step(p.value, s.a.data(), s.b.data(), s.count, s.c);
      }
    }
  }
  return v;
}

/// The longest and finest sum that the core promises to hold.
verdict check_widest(const implementation& i, const effort& e) {
  verdict v;
  accumulator acc = specified_fraction(34);
  acc.fraction_bits = max_fraction_bits;
  acc.length = 0;
  const named_path p{"whatif.widest", {tf32, tf32, acc}};
  for (const bool negative : {false, true}) {
    step_case s;
    s.count = max_length;
    s.a.assign(max_length, negative ? 0x5ffff : 0x1ffff);  // 2 - 2^-10
    s.b.assign(max_length, 0x1ffff);
    if (!count_step(i, e, p, s, v)) break;
  }
  return v;
}

verdict check_rows(const implementation&, const effort&) {
  verdict v;
  const auto rows = specified_rows();
  const auto same = [](const specified_row& row, const path_family& family) {
    return row.name == std::string(family.name) && row.takes == family.takes &&
           row.acc == family.acc && row.lowering == family.lowering;
  };
  for (const auto& row : rows) {
    const bool found =
        std::any_of(std::begin(path_families), std::end(path_families),
                    [&](const auto& family) { return same(row, family); });
    v.count(found, [&] { return std::string(row.name) + " is not a row"; });
  }
  for (const auto& family : path_families) {
    const bool found =
        std::any_of(rows.begin(), rows.end(),
                    [&](const auto& row) { return same(row, family); });
    v.count(found, [&] { return std::string(family.name) + " has no clause"; });
  }
  for (int f = 8; f <= 34; ++f) {
    v.count(what_if_fraction(f) == specified_fraction(f),
            [&] { return fmt::format("whatif.f{} is not T13's", f); });
  }
  for (const auto& p : specified_paths()) {
    const int length =
        p.value.acc.length * (p.value.lowering == lowering::direct ? 1 : 2);
    v.compare(p.value.length(), length,
              [&] { return p.name + " has another length"; });
  }
  v.count(hopper_wgmma_e4m3 == specified_paths().front().value,
          [] { return std::string("hopper_wgmma_e4m3 is another path"); });
  return v;
}

/// Exact sums of 2^64 - 1 units, and with a carry through a whole word.
verdict check_words(const implementation& i, const effort& e) {
  verdict v;
  const format f{8, 23, 127, specials::ieee};
  const accumulator exact{0, uncut, no_floor, f, rounding::nearest_even, f};
  const named_path p{"exact.fp32.fp32.f32", path{f, f, exact}};
  const step_case cases[] = {
      {{0x2a800000}, {0x2a000000}, 1, 0x80000001},
      {{0x20ffffff, 0x2cffffff, 0x38ffffff, 0x44ffffff, 0x4b7ff800},
       {0x1f800000, 0x1f800000, 0x1f800000, 0x1f800000, 0x1f800000},
       5,
       0x00000001},
  };
  for (const auto& s : cases) {
    if (!count_step(i, e, p, s, v)) break;
  }
  return v;
}

}  // namespace

check_list step_checks() {
  check_list list = {
      {"PathsAreTheSpecifiedRows", "T10 T11 T12 T13 T14 T16", "definition", 0,
       check_rows},
      {"StepEqualsTheRationalOnDirectedCases",
       "T1 T2 T3 T4 T5 T6 T7 T8 T10 T11", "rational", 0, check_directed_rows},
      {"WhatIfStepEqualsTheRationalOnDirectedCases", "T1 T2 T3 T4 T5 T13",
       "rational", 0, check_directed_what_ifs},
      {"StepEqualsTheRationalOnRandomCases", "T1 T2 T3 T4 T5 T6 T7 T8 T9 T14",
       "rational", 0, check_random},
      {"ExactSumsCarryAcrossWords", "T14", "rational", 0, check_words},
      {"ChainedStepsEqualTheRational", "T9", "rational", 0, check_chains},
      {"TheWidestSumDoesNotOverflow", "T4 T13", "rational", 0, check_widest},
  };
  for (const auto& more : {step_class_checks(), block_scaled_checks()}) {
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

}  // namespace zeroulp::conformance
