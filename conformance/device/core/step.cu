// The step of every path on the device against the host: SPEC clause T.

#include "conformance/device/support/operands.hpp"
#include "conformance/device/support/same_bits.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int longest = 32;

struct step_inputs {
  std::uint32_t a[longest];
  std::uint32_t b[longest];
  std::uint64_t c;
  int given;  ///< number of operands used, from the first
};

/// Case i: a random step of family i mod `families`.
struct step_case {
  path p;
  int count;
  std::uint64_t seed;

  ZEROULP_HD std::uint32_t operator()(std::uint64_t i) const {
    const step_inputs in = inputs(i);
    return static_cast<std::uint32_t>(
        step(p, row_of(in.a, p.a), row_of(in.b, p.b), in.given, in.c));
  }

  std::string describe(std::uint64_t i) const {
    const step_inputs in = inputs(i);
    return std::string(family_names[i % families]) + ", " + name_of(p.a) + " " +
           name_of(p.b) + ", " + std::to_string(in.given) + " operands" +
           in_hex("a", in.a, in.given) + in_hex("b", in.b, in.given) +
           in_hex("c", in.c);
  }

 private:
  using row = decoded_row<std::uint32_t>;
  static ZEROULP_HD row row_of(const std::uint32_t* codes, format f) {
    return {codes, 1, f};
  }

  ZEROULP_HD step_inputs inputs(std::uint64_t i) const {
    counter_rng rng(seed, i);
    const auto how = static_cast<family>(i % families);
    step_inputs in{};
    for (int k = 0; k < count; k += 2) {
      const code_pair x = operand_codes(how, side::a, p.a, k / 2, rng);
      const code_pair y = operand_codes(how, side::b, p.b, k / 2, rng);
      in.a[k] = x.first;
      in.b[k] = y.first;
      if (k + 1 == count) break;
      in.a[k + 1] = x.second;
      in.b[k + 1] = y.second;
    }
    in.c = addend_code(p, row_of(in.a, p.a), row_of(in.b, p.b), count, rng);
    // In one case of eight the last products are missing.
    in.given =
        rng.one_in(8)
            ? static_cast<int>(rng.below(static_cast<std::uint32_t>(count + 1)))
            : count;
    return in;
  }
};

verdict check_family(const path_family& row, const effort& e) {
  verdict total;
  for (const auto& f : operand_pairs(row.takes)) {
    const path p{f.a, f.b, row.acc, row.lowering};
    const int count = p.length() > 0 ? p.length() : longest;
    total += same_bits(step_case{p, count, e.seed}, cases(e, 1 << 9, 1 << 18));
  }
  return total;
}

}  // namespace

check_list core_step_checks() {
  check_list all;
  for (const auto& row : path_families) {
    const bool half_result = row.acc.stored == fp16;
    const char* const takes = row.takes == operands::fp8         ? ".fp8"
                              : row.takes == operands::f8f6f4    ? ".f8f6f4"
                              : row.takes == operands::half      ? ".half"
                              : row.takes == operands::tf32_only ? ".tf32"
                              : row.takes == operands::any       ? ".any"
                                                                 : ".fp16";
    all.push_back(
        device_check(std::string("core.step.") + row.name + takes +
                         (half_result ? ".f16" : ".f32"),
                     "T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14", "host",
                     [&row](const effort& e) { return check_family(row, e); }));
  }
  return all;
}

}  // namespace zeroulp::conformance::device
