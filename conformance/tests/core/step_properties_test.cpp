// Properties of the tensor-core step, and what the step checks rest on.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "conformance/cases/step_cases.hpp"
#include "conformance/cases/step_paths.hpp"
#include "conformance/contract/implementation.hpp"
#include "conformance/oracles/rational_step.hpp"

namespace zeroulp::conformance {
namespace {

using codes = std::vector<std::uint64_t>;

std::uint64_t core_step(const path& p, const codes& a, const codes& b,
                        std::uint64_t c) {
  return core_implementation().step(p, a.data(), b.data(),
                                    static_cast<int>(a.size()), c);
}

std::uint64_t rational(const path& p, const codes& a, const codes& b,
                       std::uint64_t c) {
  return oracle::rational_step(p, a.data(), b.data(),
                               static_cast<std::ptrdiff_t>(a.size()), c);
}

/// By hand, so that the oracle itself has something to stand on.
struct known_step {
  const char* what;
  path p;
  codes a;
  codes b;
  std::uint64_t c;
  std::uint64_t d;
};

const path fp8 = hopper_wgmma_e4m3;
const path fp8_f16{e4m3, e4m3, hopper_fp8_f16};
const path e5m2_f16{e5m2, e5m2, hopper_fp8_f16};
const path half{bf16, bf16, hopper_half_f32};

const known_step known_steps[] = {
    {"T3: 1 - 2^-14 keeps 13 bits: the small term is cut to 0",
     fp8,
     {0x38},
     {0x38},
     0xb8800000,
     0x3f800000},
    {"T3: 1 - 2^-13", fp8, {0x38}, {0x38}, 0xb9000000, 0x3f7ff800},
    {"T1: 2.25 has place 0: 2^-13 stays",
     fp8,
     {0x3c, 0xbc},
     {0x3c, 0x3c},
     0x39000000,
     0x39000000},
    {"T1: 2.25 as c has place 1: 2^-13 goes",
     fp8,
     {0x3c, 0x04},
     {0x3c, 0x0c},
     0xc0100000,
     0},
    {"T2: 0 * 448 does not align",
     fp8,
     {0x00, 0x01},
     {0x7e, 0x01},
     0,
     0x36800000},
    {"T5: truncated to 13 bits",
     fp8,
     {0x38, 0x38, 0x38},
     {0x38, 0x38, 0x38},
     0x39000000,
     0x40400000},
    {"T5: nearest-even, a tie", fp8_f16, {0x38}, {0x38}, 0x1000, 0x3c00},
    {"T6: -2^-32 rounds to zero", e5m2_f16, {0x81}, {0x01}, 0, 0},
    {"T6: every term is -0", fp8, {0x80, 0x80}, {0x38, 0x00}, 0x80000000, 0},
    {"T7: 0 * Inf", half, {0x0000}, {0x7f80}, 0, 0x7fffffff},
    {"T7: Inf beside a finite c",
     half,
     {0xff80},
     {0x3f80},
     0x3f800000,
     0xff800000},
    {"T8: 2^64 * 2^64, truncated", half, {0x5f80}, {0x5f80}, 0, 0x7f800000},
    {"T9: no product", fp8, {}, {}, 0x3fc00000, 0x3fc00000},
};

TEST(Step, EqualsWhatIsKnownByHand) {
  for (const auto& s : known_steps) {
    EXPECT_EQ(core_step(s.p, s.a, s.b, s.c), s.d) << s.what;
    EXPECT_EQ(rational(s.p, s.a, s.b, s.c), s.d) << s.what << " (oracle)";
  }
}

/// Accumulators that differ from `acc` in one parameter, by the smallest step.
struct neighbour {
  std::string what;
  path p;
};

std::vector<neighbour> neighbours(const path& p) {
  std::vector<neighbour> list;
  const auto add = [&](const std::string& what, auto change) {
    path other = p;
    change(other);
    list.push_back({what, other});
  };
  const bool is_cut = p.acc.fraction_bits != uncut;
  const bool one = p.acc.length == 1;
  if (is_cut) {
    add("F + 1", [](path& q) { ++q.acc.fraction_bits; });
    add("F - 1", [](path& q) { --q.acc.fraction_bits; });
    add("renormalized", [](path& q) { q.acc.renormalized ^= true; });
    // The sums of hmma_zero have no c.
    if (p.lowering != lowering::hmma_zero) {
      add("another role of c", [](path& q) {
        q.acc.c = q.acc.c == addend::last ? addend::aligned : addend::last;
      });
    }
    for (const auto mode :
         {rounding::nearest_even, rounding::nearest_away, rounding::toward_zero,
          rounding::up, rounding::down, rounding::to_odd}) {
      if (mode == p.acc.cut) continue;
      add("cut " + std::to_string(static_cast<int>(mode)),
          [mode](path& q) { q.acc.cut = mode; });
    }
  } else if (!one) {
    add("cut at 44", [](path& q) { q.acc.fraction_bits = 44; });
  }
  // FP8 products never reach a floor of FP32.
  if (is_cut && p.acc.exponent_floor != no_floor && p.a.exp_bits == 8) {
    add("floor + 1", [](path& q) { ++q.acc.exponent_floor; });
    add("floor - 1", [](path& q) { --q.acc.exponent_floor; });
    add("no floor", [](path& q) { q.acc.exponent_floor = no_floor; });
  }
  // FP16 products reach the floors of FP16, narrower ones do not.
  const bool to_fp16 = p.acc.stored.bits() == 16 && p.a.bits() == 16;
  if (to_fp16 && p.acc.exponent_floor != no_floor) {
    add("floor + 1", [](path& q) { ++q.acc.exponent_floor; });
    add("floor - 1", [](path& q) { --q.acc.exponent_floor; });
  }
  if (is_cut && p.acc.exponent_floor == no_floor && p.a.exp_bits == 8) {
    add("a floor", [](path& q) { q.acc.exponent_floor = -133; });
  }
  for (const auto mode :
       {rounding::nearest_even, rounding::nearest_away, rounding::toward_zero,
        rounding::up, rounding::down, rounding::to_odd}) {
    if (mode == p.acc.conversion) continue;
    add("conversion " + std::to_string(static_cast<int>(mode)),
        [mode](path& q) { q.acc.conversion = mode; });
  }
  add("a bit less of output", [](path& q) { --q.acc.output.man_bits; });
  if (p.acc.output.man_bits < p.acc.stored.man_bits) {
    add("a bit more of output", [](path& q) { ++q.acc.output.man_bits; });
  }
  if (p.lowering != lowering::direct) {
    add("the other lowering", [](path& q) {
      q.lowering = q.lowering == lowering::hmma_zero ? lowering::hmma_chained
                                                     : lowering::hmma_zero;
    });
  }
  return list;
}

TEST(StepCases, TellEveryParameterFromItsNeighbours) {
  for (const auto& p : specified_paths()) {
    // Fewer bits show less of the accumulator that FP8 operands have, too.
    if (std::min(p.value.a.bits(), p.value.b.bits()) < 8) continue;
    for (const auto& other : neighbours(p.value)) {
      int told = 0;
      directed_step_cases(p.value, 0, [&](const step_case& s) {
        if (told >= 1) return;
        const auto d = [&](const path& q) {
          return oracle::rational_step(q, s.a.data(), s.b.data(), s.count, s.c);
        };
        if (d(p.value) != d(other.p)) ++told;
      });
      EXPECT_GE(told, 1) << p.name << " against " << other.what;
    }
  }
}

/// A path and a case for RapidCheck: it shrinks the seed and the path.
struct drawn {
  named_path path;
  step_case s;
};

drawn draw(bool only_direct) {
  auto paths = specified_paths();
  if (only_direct) {
    paths.erase(std::remove_if(paths.begin(), paths.end(),
                               [](const auto& p) {
                                 return p.value.lowering != lowering::direct;
                               }),
                paths.end());
  }
  const auto at = *rc::gen::inRange<std::size_t>(0, paths.size());
  const auto family = *rc::gen::inRange(0, step_families);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  drawn d{paths[at],
          make_step_case(paths[at].value, static_cast<step_family>(family),
                         counter_rng(seed, 0))};
  d.s.a.resize(static_cast<std::size_t>(d.s.count));
  d.s.b.resize(static_cast<std::size_t>(d.s.count));
  return d;
}

std::uint64_t minus(format f) {
  return std::uint64_t{1} << (f.exp_bits + f.man_bits);
}

std::uint64_t core_step(const drawn& x) {
  return core_step(x.path.value, x.s.a, x.s.b, x.s.c);
}

// T4: the sum is exact, so the order of its terms is nothing.
RC_GTEST_PROP(Step, DoesNotDependOnTheOrderOfItsProducts, ()) {
  drawn x = draw(true);
  const auto d = core_step(x);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  counter_rng rng(seed, 1);
  for (std::size_t k = x.s.a.size(); k > 1; --k) {
    const std::size_t other = rng.below(static_cast<std::uint32_t>(k));
    std::swap(x.s.a[k - 1], x.s.a[other]);
    std::swap(x.s.b[k - 1], x.s.b[other]);
  }
  RC_ASSERT(core_step(x) == d);
}

// T1: the product commutes.
RC_GTEST_PROP(Step, IsTheSameForAAndBSwapped, ()) {
  drawn x = draw(false);
  const auto d = core_step(x);
  std::swap(x.path.value.a, x.path.value.b);
  std::swap(x.s.a, x.s.b);
  RC_ASSERT(core_step(x) == d);
}

// T3, T5: cuts and conversions of sign and magnitude, unless they have a
// direction.
RC_GTEST_PROP(Step, ChangesSignWithItsTerms, ()) {
  drawn x = draw(false);
  const auto& p = x.path.value;
  RC_PRE(p.acc.cut == rounding::toward_zero);
  const auto d = core_step(x);
  for (auto& code : x.s.a) code ^= minus(p.a);
  x.s.c ^= minus(p.acc.stored);
  const auto negated = core_step(x);
  const bool unsigned_result = d == 0 || d == minus(p.acc.stored) - 1;
  RC_ASSERT(negated == (unsigned_result ? d : d ^ minus(p.acc.stored)));
}

// T2: zeros take no part, whatever they are multiplied with.
RC_GTEST_PROP(Step, IgnoresZeroProducts, ()) {
  drawn x = draw(true);
  const auto& p = x.path.value;
  RC_PRE(p.length() != 1 && !x.s.a.empty());
  x.s.a.back() = x.s.b.back() = 0;
  const auto d = core_step(x);
  x.s.a.back() = *rc::gen::inRange<std::uint64_t>(0, largest_code(p.a) + 1);
  if (*rc::gen::arbitrary<bool>()) x.s.b.back() = minus(p.b);
  RC_ASSERT(core_step(x) == d);
  x.s.a.pop_back();
  x.s.b.pop_back();
  RC_ASSERT(core_step(x) == d);
}

// T1 to T5 know differences of exponents only, far from every end.
RC_GTEST_PROP(Step, MovesWithPowersOfTwo, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto shift = *rc::gen::inRange<std::uint64_t>(1, 40);
  const path p{bf16, bf16,
               *rc::gen::element(hopper_half_f32, ampere_half_f32,
                                 hopper_fp8_f32, what_if_sign_fill)};
  step_case s = make_step_case(p, step_family::normal, counter_rng(seed, 0));
  // Normal operands and c near 1 only: subnormals have one exponent.
  for (int k = 0; k < s.count; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const std::uint64_t one = 64 << 7;
    s.a[at] = (s.a[at] & 0x87ff) | one << 1;
  }
  const auto d =
      core_implementation().step(p, s.a.data(), s.b.data(), s.count, s.c);
  for (int k = 0; k < s.count; ++k)
    s.a[static_cast<std::size_t>(k)] += shift << 7;
  RC_PRE(s.c % minus(fp32) == 0 || (s.c >> 23 & 255) > 0);
  if (s.c % minus(fp32) != 0) s.c += shift << 23;
  const auto moved =
      core_implementation().step(p, s.a.data(), s.b.data(), s.count, s.c);
  RC_ASSERT(moved == (d == 0 ? 0 : d + (shift << 23)));
}

RC_GTEST_PROP(Step, EqualsTheRationalOracle, ()) {
  const drawn x = draw(false);
  RC_ASSERT(core_step(x) == rational(x.path.value, x.s.a, x.s.b, x.s.c));
}

}  // namespace
}  // namespace zeroulp::conformance
