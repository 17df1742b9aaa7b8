// cvt in every rounding and saturation that sm_90a has (ptx_conversions.hpp)
// against the core's recode: SPEC clauses R1 to R5, C1 to C6 and C10.
//
// All 2^32 FP32, 2^16 BF16 and FP16, 2^8 FP8 inputs, in both halves of a pair.

#include "conformance/device/silicon/ptx_conversions.hpp"
#include "conformance/device/support/observation.hpp"
#include "zeroulp/core/convert.hpp"

namespace zeroulp::conformance::device {
namespace {

struct conversion {
  ptx::content to;
  ptx::content from;
  rounding mode;
  ptx::modifiers with;

  ZEROULP_HD constexpr policy how() const {
    if (with.satfinite) return cuda_satfinite;
    return cuda_nosat;
  }
  /// Two conversions that ptxas compiles to integer instructions keep the bits
  /// of a NaN: bf16 to f32, where PTX promises only some NaN, and tf32.rna.
  ZEROULP_HD constexpr bool keeps_nan_bits() const {
    return mode == rounding::nearest_away ||
           (from.element == bf16 && to.element == fp32);
  }
};

/// The code of a NaN whose bits are kept. A NaN whose bits lie below TF32's
/// fraction becomes Inf. .satfinite subtracts one from Inf and NaN alike, so
/// that some NaN become the largest number or Inf, where PTX promises NaN.
ZEROULP_HD constexpr std::uint32_t kept_nan(const conversion& c,
                                            std::uint32_t code) {
  const int shift = c.to.element.man_bits - c.from.element.man_bits;
  const std::uint32_t moved = shift < 0 ? code >> -shift : code << shift;
  return moved - (c.with.satfinite ? 1 : 0);
}

/// The core's result for one code, at its place in the target's register.
ZEROULP_HD constexpr std::uint32_t core_of(const conversion& c,
                                           std::uint32_t code) {
  const format to = c.to.element;
  const unpacked x = decode(c.from.element, code);
  if (x.is_nan() && c.keeps_nan_bits()) {
    return kept_nan(c, code) << c.to.low_bit;
  }
  auto out = static_cast<std::uint32_t>(encode(to, x, {c.mode}, c.how()));
  const auto sign = static_cast<std::uint32_t>(to.sign_mask());
  if (c.with.relu && (out & sign) != 0) out = 0;
  return out << c.to.low_bit;
}

// Not inlined: one copy serves all instructions, since the formats are data.
__device__ __noinline__ std::uint32_t core_on_device(const conversion& c,
                                                     std::uint32_t code) {
  return core_of(c, code);
}

/// Case i: the code i * step, in the high half of a pair; its complement in the
/// low half.
template <class Instruction, int Registers>
struct conversion_case {
  conversion c;
  std::uint32_t step;

  __device__ observation operator()(std::uint64_t i) const {
    const int bits = c.from.element.bits();
    const auto mask = static_cast<std::uint32_t>(low_bits(bits));
    const std::uint32_t high = static_cast<std::uint32_t>(i) * step & mask;
    const std::uint32_t low = ~high & mask;
    if (c.to.count == 1) {
      return {{high, 0, 0}, Instruction::run(high, 0), core_on_device(c, high)};
    }
    const std::uint32_t silicon = Registers == 2
                                      ? Instruction::run(high, low)
                                      : Instruction::run(high << bits | low, 0);
    return {{high, low, 0},
            silicon,
            core_on_device(c, high) << c.to.element.bits() |
                core_on_device(c, low)};
  }
};

template <class Instruction, int Registers>
check check_of(const std::string& name, const conversion& c) {
  const auto run = [c](const effort& e) {
    const std::uint64_t all = std::uint64_t{1} << c.from.element.bits();
    // The step is odd, so that it visits every input once.
    const conversion_case<Instruction, Registers> f{c, 0x9e3779b1u};
    auto v = compare_instruction(f, cases(e, 1 << 16, all, all));
    v.exhaustive = v.cases == all;
    return v;
  };
  const char* const clauses = c.mode == rounding::nearest_even
                                  ? "R1 C1 C2 C3 C4 C5 C6 C8 C10"
                                  : "R2 R3 R4 R5 C1 C2 C3 C4 C5 C6 C8 C10";
  return device_check("silicon.cvt." + name, clauses, "instruction", run);
}

constexpr int one = 1;
constexpr int two = 2;

}  // namespace

check_list silicon_conversion_checks() {
  check_list all;
#define ZEROULP_ADD(OPERANDS, TO, FROM, ROUND, MODIFIERS)                 \
  all.push_back(                                                          \
      check_of<ptx::cvt_##TO##_##FROM##_##ROUND##_##MODIFIERS, OPERANDS>( \
          #TO "." #FROM ZEROULP_TEXT_##ROUND ZEROULP_TEXT_##MODIFIERS,    \
          {ptx::TO, ptx::FROM, ptx::ROUND, ptx::MODIFIERS}));
  ZEROULP_CONVERSIONS(ZEROULP_ADD)
#undef ZEROULP_ADD
  return all;
}

}  // namespace zeroulp::conformance::device
