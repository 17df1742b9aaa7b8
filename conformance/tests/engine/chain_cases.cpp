// Chains of one instruction by the kernels: every path, and accumulators and
// formats that nobody named.

#include "conformance/tests/engine/chain_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// Pairs of equal formats of fewer than 16 bits are left out: the others have
/// both formats.
std::vector<path> paths_of(const path_family& row) {
  std::vector<path> all;
  for (const auto& [a, b] : operand_pairs(row.takes)) {
    if (a == b && a.bits() < 16) continue;
    all.push_back({a, b, row.acc, row.lowering});
  }
  return all;
}

void add_paths(engine_case_list& all) {
  for (const auto& row : path_families) {
    for (const auto& p : paths_of(row)) {
      chain_problems few;
      for (int kind = 0; kind < 5; ++kind) {
        few.push_back(any_problem(p, kind, {5, 3, 37}));
        few.push_back(any_problem(p, kind, {17, 20, 2}));
      }
      few.push_back(any_problem(p, 4, {30, 30, 32}));
      few.push_back(any_problem(p, 3, {2, 2, 0}));
      few.push_back(any_problem(p, 3, {17, 33, 64}));
      few.push_back(solved(p, {2, 2, 40}, any_codes(p.a, 3, 8, 80),
                           any_codes(p.b, 3, 9, 80), {}));
      all.push_back(
          case_of(fmt::format("chain {} {} {} {}", row.name, name_of(p.a),
                              name_of(p.b), name_of(p.acc.stored)),
                  std::move(few)));
    }
  }
}

/// Several blocks and tiles on both sides, whole and ragged.
void add_shapes(engine_case_list& all) {
  const path half{fp16, fp16, hopper_half_f16};
  const path lowered{e4m3, e5m2, hopper_half_f32, lowering::hmma_zero};
  const path chained{e4m3, e5m2, hopper_half_f16, lowering::hmma_chained};
  const path paths[] = {hopper_wgmma_e4m3,
                        {e5m2, e5m2, hopper_fp8_f16},
                        half,
                        lowered,
                        chained,
                        {e4m3, e4m3, exact_f32},
                        {bf16, bf16, fp32_sequential},
                        {fp32, fp32, fp32_sequential}};
  for (const path& p : paths) {
    for (const shape s : {shape{66, 130, 33}, {129, 64, 32}, {64, 191, 40}}) {
      all.push_back(case_of(
          fmt::format("chain of {} over {} x {}", name_of(p.a), s.m, s.n),
          chain_problems{any_problem(p, 3, s, 5)}));
    }
  }
}

void add_accumulators(engine_case_list& all) {
  for (const int length : {1, 3, 4, 16, 31, 32, 64}) {
    for (const int floor : {int{no_floor}, -133, -126, -125, -21, -8, 3}) {
      chain_problems few;
      for (const int fraction : {0, 7, 13, 15, 16, 23, 30, 43, 44, 45}) {
        accumulator acc = what_if_fraction(std::max(fraction, 8));
        acc.length = static_cast<std::int16_t>(length);
        acc.fraction_bits = static_cast<std::int16_t>(fraction);
        acc.exponent_floor = static_cast<std::int16_t>(floor);
        for (const int kind : {1, 2, 3}) {
          few.push_back(any_problem({e4m3, e5m2, acc}, kind, {3, 3, 70}));
          few.push_back(any_problem({e4m3, e5m2, acc}, kind, {6, 6, 3}));
          few.push_back(any_problem({bf16, bf16, acc}, kind, {3, 3, 70}));
        }
      }
      all.push_back(
          case_of(fmt::format("chain of {} products, floor {}", length, floor),
                  std::move(few)));
    }
  }
}

/// Formats at the edges of what the kernels hold.
void add_formats(engine_case_list& all) {
  for (const int bias : {-100, -60, -17, -16, -1, 0, 1, 15, 29, 30, 31, 32, 33,
                         60, 130, 140, 147, 148, 149}) {
    chain_problems few;
    for (const int bits : {4, 5}) {
      for (const int man : {1, 2, 3, 4, 9, 22}) {
        const format f{static_cast<std::uint8_t>(bits),
                       static_cast<std::uint8_t>(man),
                       static_cast<std::int16_t>(bias), specials::ieee};
        for (const auto& acc : {hopper_fp8_f32, hopper_fp8_f16, exact_f32,
                                fp32_sequential, hopper_half_f32}) {
          few.push_back(any_problem({f, f, acc}, 0, {2, 2, 40}));
          few.push_back(any_problem({f, e4m3, acc}, 3, {2, 2, 40}));
          few.push_back(any_problem({e5m2, f, acc}, 2, {2, 2, 40}));
        }
        few.push_back(any_problem(
            {f, f, hopper_half_f32, lowering::hmma_chained}, 3, {2, 2, 64}));
      }
    }
    all.push_back(case_of(fmt::format("chain of formats of bias {}", bias),
                          std::move(few)));
  }
}

/// Accumulators that are one property off those that the kernels take.
void add_neighbours(engine_case_list& all) {
  chain_problems few;
  const auto add = [&](const accumulator& acc) {
    for (const path& p :
         {path{e4m3, e5m2, acc}, path{bf16, bf16, acc}, path{fp16, fp16, acc},
          path{e4m3, e5m2, acc, lowering::hmma_chained},
          path{e4m3, e5m2, acc, lowering::hmma_zero}}) {
      for (const int kind : {2, 3}) {
        few.push_back(any_problem(p, kind, {3, 4, 70}));
      }
    }
  };
  for (const auto& base :
       {hopper_fp8_f32, hopper_fp8_f16, hopper_half_f32, hopper_half_f16}) {
    const auto with = [&](auto change) {
      accumulator acc = base;
      change(acc);
      add(acc);
    };
    with([](accumulator& x) { x.cut = rounding::down; });
    with([](accumulator& x) { x.cut = rounding::nearest_even; });
    with([](accumulator& x) { x.c = addend::last; });
    with([](accumulator& x) { x.renormalized = !x.renormalized; });
    with([](accumulator& x) { x.conversion = rounding::nearest_even; });
    with([](accumulator& x) { x.conversion = rounding::toward_zero; });
    with([](accumulator& x) { x.conversion = rounding::up; });
    with([](accumulator& x) { x.output = bf16; });
    with([](accumulator& x) { x.output = tf32; });
    with([](accumulator& x) { x.output = fp32; });
    with([](accumulator& x) { x.output.man_bits -= 1; });
    with([](accumulator& x) { x.length = 8; });
    with([](accumulator& x) { x.length = 16; });
  }
  all.push_back(
      case_of("chain of accumulators next to the kernels'", std::move(few)));
}

}  // namespace

engine_case_list chain_cases() {
  engine_case_list all;
  add_paths(all);
  add_neighbours(all);
  add_accumulators(all);
  add_formats(all);
  add_shapes(all);
  return all;
}

}  // namespace zeroulp::conformance
