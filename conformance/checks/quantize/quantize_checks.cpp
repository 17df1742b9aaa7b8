#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "conformance/checks/quantize/quantize_parts.hpp"

namespace zeroulp::conformance {

std::string hex(std::uint64_t word) { return fmt::format("{:#x}", word); }

std::string difference(const oracle::grid& got, const oracle::grid& want,
                       std::size_t at) {
  const auto cols = static_cast<std::size_t>(want.cols);
  return fmt::format("({}, {}) is {:#x}, not {:#x}", at / cols, at % cols,
                     got.words[at], want.words[at]);
}

std::string quantizer_case::name() const {
  return fmt::format("{} {} -> {} {} {}x{}", how.name, from.name, to.name,
                     scale.name, group.rows, group.cols);
}

matrix_shape any_shape(counter_rng& rng, int most) {
  static constexpr int lengths[] = {0,  1,   2,   3,   5,   7,  31,
                                    33, 127, 128, 129, 130, 257};
  for (;;) {
    const int m = lengths[rng.below(std::size(lengths))];
    const int n = lengths[rng.below(std::size(lengths))];
    if (m * n <= most) return {m, n};
  }
}

placement any_placement(counter_rng& rng) {
  return static_cast<placement>(rng.below(placement_count));
}

named_format format_named(const char* name) {
  for (const named_format& f : named_formats) {
    if (std::strcmp(f.name, name) == 0) return f;
  }
  throw std::logic_error(std::string("no format ") + name);
}

std::vector<named_format> targets(const effort& e, std::size_t count_at_0) {
  std::vector<named_format> all;
  for (const char* name :
       {"e4m3", "e5m6", "e5m2", "e2m1", "ue8m0", "e4m3fnuz", "e5m2fnuz", "e3m2",
        "e2m3", "bf16", "fp16", "tf32", "e8m13", "fp32"}) {
    if (e.level == 0 && all.size() == count_at_0) break;
    all.push_back(format_named(name));
  }
  return all;
}

void check_quantized(const implementation& i, const quantizer_case& q,
                     const oracle::grid& x, placement in, placement out,
                     verdict& v) {
  const auto want = oracle::quantize(q.value(), x);
  // What lies around the input would show in any amax that it enters.
  placed<std::uint32_t> input(in, x.rows, x.cols, 0x7f7f7f7f);
  placed<std::uint32_t> codes(out, x.rows, x.cols, 0xc0dec0de);
  placed<std::uint32_t> scales(out, want.scales.rows, want.scales.cols,
                               0x5ca1e5ca);
  input.load(x);
  i.quantize(q.value(), input.input(), codes.view(), scales.view());
  const auto describe = [&] {
    return fmt::format("quantize {} of {} x {}, x(0, 0) = {:#x}", q.name(),
                       x.rows, x.cols, x.words.empty() ? 0 : x.words[0]);
  };
  compare(v, scales.read(), want.scales, "scale ", describe);
  const auto got = codes.read();
  for (std::size_t at = 0; at < got.words.size(); ++at) {
    v.compare(got.words[at], want.codes.words[at], [&] {
      return fmt::format("{}: code {}, x = {:#x}", describe(),
                         difference(got, want.codes, at), x.words[at]);
    });
  }
  const bool held = codes.guards_hold() && scales.guards_hold();
  v.count(held, [&] { return describe() + ": wrote outside its matrices"; });
}

check_list quantize_checks() {
  return {
      {"ScalesAtBoundaries", "Q3 Q4 Q5 Q12 Q13", "IEEE FP32", 0,
       scales_at_boundaries},
      {"ScalesOfBf16", "Q3 Q4 Q5 Q12 Q13", "IEEE FP32", 0, scales_of_bf16},
      {"ScalesOfAnyConvention", "Q3 Q4 Q5 Q12", "IEEE FP32", 0,
       scales_of_any_convention},
      {"DelayedAmaxes", "Q9", "IEEE FP32", 0, delayed_amaxes},
      {"LaidOutScales", "Q11", "definition", 0, laid_out_scales},
      {"PackedBits", "P1 P2", "definition", 0, packed_bits},
      {"PackedCodes", "P1 P2", "definition", 0, packed_codes},
      {"DequantizedCodes", "Q10", "exact FP64", 0, dequantized_codes},
      {"SpecialElements", "Q2 Q3 Q6 Q12 C3 C4 C5 C11", "comparison", 0,
       special_elements},
      {"ElementsAtMidpoints", "Q6 R1", "comparison", 0, elements_at_midpoints},
      {"ElementsOfBf16", "Q1 Q6 Q13", "comparison", 0, elements_of_bf16},
      {"QuantizedMatrices", "Q1 Q2", "comparison", 0, quantized_matrices},
      {"MatricesByGivenScales", "Q1 Q14", "comparison", 0,
       matrices_by_given_scales},
      {"DequantizedMatrices", "Q1 Q10", "exact FP64", 0, dequantized_matrices},
      {"QuantizedBlocks", "Q15 Q16 Q17 Q19 Q20", "comparison", 0,
       quantized_blocks},
      {"BlocksAtBoundaries", "Q16 Q17", "comparison", 0, blocks_at_boundaries},
      {"DequantizedBlocks", "Q15", "exact FP64", 0, dequantized_blocks},
      {"InterleavedScales", "Q18", "definition", 0, interleaved_scales},
      {"HadamardTransforms", "Q21", "IEEE FP32, exact integers", 0,
       hadamard_transforms},
  };
}

}  // namespace zeroulp::conformance
