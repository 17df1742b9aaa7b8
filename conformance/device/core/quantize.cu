// make_scale and quantize_element on the device against the host, for every
// convention: SPEC clause Q.

#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Returns the bits of an amax: any, ordinary, or an edge case.
ZEROULP_HD constexpr std::uint32_t random_amax(counter_rng& rng) {
  const std::uint32_t any = rng.next32() & 0x7fffffff;
  switch (rng.below(8)) {
    case 0:
      return any;
    case 1: {
      constexpr int rows = 6;
      const std::uint32_t ends[rows] = {0,        1,          0x00800000,
                                        fp32_max, 0x7f800000, 0x7fc00000};
      return ends[rng.below(rows)];
    }
    case 2: {  // a power of two, or 1.75 times one, or the number beside it
      const std::uint32_t exponent = rng.below(254) + 1;
      const std::uint32_t fraction = rng.one_in(2) ? 0x600000 : 0;
      return (exponent << 23 | fraction) + rng.below(2);
    }
    default:
      break;
  }
  return static_cast<std::uint32_t>(rng.between(100, 150)) << 23 |
         (any & 0x7fffff);
}

/// Returns an element of a group with this amax, or any element.
ZEROULP_HD constexpr std::uint32_t random_element(std::uint32_t amax,
                                                  counter_rng& rng) {
  const std::uint32_t r = rng.next32();
  if (rng.one_in(8)) return r;
  const int exponent = static_cast<int>(amax >> 23) - rng.between(0, 20);
  const auto biased = static_cast<std::uint32_t>(exponent < 0 ? 0 : exponent);
  return (r & 0x807fffff) | biased << 23;
}

struct quantize_inputs {
  std::uint32_t amax;
  std::uint32_t x;
};

/// Case i: a random amax gives a scale and an inverse; with these, a random
/// element gives a code.
struct quantize_case {
  quantizer q;
  std::uint64_t seed;

  ZEROULP_HD std::uint64_t operator()(std::uint64_t i) const {
    const quantize_inputs in = inputs(i);
    const group_scale s = make_scale(q, in.amax);
    const std::uint64_t scales = std::uint64_t{s.scale} << 32 | s.inverse;
    return mix64(scales) ^ quantize_element(q, s, in.x);
  }

  std::string describe(std::uint64_t i) const {
    const quantize_inputs in = inputs(i);
    return name_of(q.to) + ", " + std::string(name_of(q.scale)) +
           in_hex("amax", in.amax) + in_hex("x", in.x);
  }

 private:
  ZEROULP_HD quantize_inputs inputs(std::uint64_t i) const {
    counter_rng rng(seed, i);
    const std::uint32_t amax = random_amax(rng);
    return {amax, random_element(amax, rng)};
  }
};

verdict check_convention(const convention& how, const effort& e) {
  verdict total;
  for (const auto& kind : named_scale_kinds) {
    for (const format to : {e4m3, e5m2, e5m6}) {
      const quantizer q{fp32, to, how, kind.value, {1, 128}};
      total += same_bits(quantize_case{q, e.seed}, cases(e, 1 << 10, 1 << 18));
    }
  }
  return total;
}

}  // namespace

check_list core_quantize_checks() {
  return checks_of_each(named_conventions, "core.quantize.",
                        "Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13", "host", check_convention);
}

}  // namespace zeroulp::conformance::device
