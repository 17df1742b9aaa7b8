// decode and recode on the device against the host: SPEC clauses F and C.

#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/names.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Case i: every field of decode(f, i).
struct decode_case {
  format f;

  ZEROULP_HD std::uint64_t operator()(std::uint64_t i) const {
    const unpacked x = decode(f, i);
    return x.significand ^ static_cast<std::uint64_t>(x.exponent + 4096) << 40 ^
           static_cast<std::uint64_t>(x.kind) << 60 ^
           static_cast<std::uint64_t>(x.negative) << 63;
  }

  std::string describe(std::uint64_t i) const {
    return name_of(f) + in_hex("code", i);
  }
};

constexpr std::uint32_t policies = std::size(named_policies);

/// The policies in a form that device code can index.
struct policy_table {
  policy value[policies];
};

policy_table all_policies() {
  policy_table table{};
  for (std::uint32_t i = 0; i < policies; ++i) {
    table.value[i] = named_policies[i].value;
  }
  return table;
}

/// An FP32 input and how it is recoded.
struct recoding {
  std::uint32_t x;
  rounder r;
  std::uint32_t how;  ///< index into named_policies

  ZEROULP_HD std::uint16_t to(format f, const policy_table& table) const {
    return static_cast<std::uint16_t>(recode(fp32, x, f, r, table.value[how]));
  }
  std::string describe(format f) const {
    return "to " + name_of(f) + ", " + named_policies[how].name + ", " +
           std::string(name_of(r.mode)) + in_hex("random bits", r.random) +
           in_hex("x", x);
  }
};

/// Case i: an input near i * 2^shift, under a random policy.
struct strided_case {
  format to;
  rounding mode;
  policy_table table;
  std::uint64_t seed;
  int shift;

  ZEROULP_HD std::uint16_t operator()(std::uint64_t i) const {
    return input(i).to(to, table);
  }
  std::string describe(std::uint64_t i) const { return input(i).describe(to); }

 private:
  ZEROULP_HD recoding input(std::uint64_t i) const {
    counter_rng rng(seed, i);
    const auto x =
        static_cast<std::uint32_t>(i << shift | (rng.next() & low_bits(shift)));
    const rounder r{mode, rng.next32()};
    return {x, r, rng.below(policies)};
  }
};

/// The FP32 numbers at and beside each code and each midpoint of `to`, both
/// signs, under every policy.
struct boundary_case {
  static constexpr std::uint64_t anchors = 3;
  static constexpr std::uint64_t neighbours = 5;
  static constexpr std::uint64_t a_code = anchors * neighbours * 2 * policies;

  format to;
  rounding mode;
  policy_table table;
  std::uint64_t seed;

  ZEROULP_HD std::uint16_t operator()(std::uint64_t i) const {
    return input(i).to(to, table);
  }
  std::string describe(std::uint64_t i) const { return input(i).describe(to); }

 private:
  ZEROULP_HD recoding input(std::uint64_t i) const {
    const std::uint64_t code = i / a_code;
    auto rest = static_cast<std::uint32_t>(i % a_code);
    const auto take = [&rest](std::uint32_t n) {
      const std::uint32_t digit = rest % n;
      rest /= n;
      return digit;
    };
    const std::uint32_t how = take(policies);
    const std::uint32_t sign = take(2) << 31;
    const auto here =
        static_cast<std::uint32_t>(recode(to, code, fp32)) & 0x7fffffff;
    const auto next =
        static_cast<std::uint32_t>(recode(to, code + 1, fp32)) & 0x7fffffff;
    const std::uint32_t anchor = take(anchors);
    // Half of `next` is the midpoint above zero.
    const std::uint32_t at = anchor == 0   ? here
                             : anchor == 1 ? here + (next - here) / 2
                                           : next - 0x00800000;
    const std::uint32_t x = sign ^ (at + take(neighbours) - 2);
    return {x, {mode, counter_rng(seed, i).next32()}, how};
  }
};

verdict check_decode(const effort&) {
  verdict total;
  for (const auto& f : named_formats) {
    if (f.value.bits() > 16) continue;
    auto part =
        same_bits(decode_case{f.value}, std::uint64_t{1} << f.value.bits());
    part.exhaustive = true;
    total += part;
  }
  return total;
}

verdict check_recode(format to, const effort& e) {
  verdict total;
  const policy_table table = all_policies();
  const std::uint64_t all_codes = low_bits(to.magnitude_bits());
  const std::uint64_t codes = cases(e, 32, all_codes, all_codes);
  const std::uint64_t inputs = cases(e, 1 << 12, 1 << 26);
  const int shift = 32 - msb(inputs);
  for (const auto& r : named_roundings) {
    total += same_bits(strided_case{to, r.value, table, e.seed, shift}, inputs);
    total += same_bits(boundary_case{to, r.value, table, e.seed},
                       codes * boundary_case::a_code);
  }
  return total;
}

}  // namespace

check_list core_conversion_checks() {
  check_list all{
      device_check("core.decode", "F1 F2 F3 F4 F5", "host", check_decode)};
  for (const auto& f : named_formats) {
    const format to = f.value;
    if (to == e4m3 || to == e5m2 || to == e5m6 || to == bf16 || to == fp16 ||
        to == ue8m0) {
      all.push_back(
          device_check(std::string("core.recode.") + f.name,
                       "R1 R2 R3 R4 R5 R6 R7 R8 C1 C2 C3 C4 C5 C7 C8", "host",
                       [to](const effort& e) { return check_recode(to, e); }));
    }
  }
  return all;
}

}  // namespace zeroulp::conformance::device
