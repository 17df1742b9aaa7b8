// Defines the target `quantize`: a matrix quantized by a convention,
// dequantized again, and the amax of delayed scaling. Source: SPEC clauses Q1
// to Q10. The numbers: quantize_fill.cpp and quantize_edges.cpp; the coverage:
// quantize_cover.cpp.

#include "fuzz/targets/quantize_parts.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

void draw(settings& s, counter_rng& rng) {
  constexpr format sources[] = {fp32, fp32, bf16, fp16};
  constexpr group_shape groups[] = {{1, 128},   {1, 128}, {128, 1}, {128, 1},
                                    {128, 128}, {0, 0},   {1, 32},  {7, 5},
                                    {1, 16},    {3, 1},   {1, 1},   {64, 256}};
  s.from = one_of(sources, rng);
  s.to = draw_code_format(rng);
  // Only our own convention keeps Inf and NaN and rounds an exact quotient.
  s.how = rng.one_in(6) ? row_named(named_conventions, "zeroulp")
                        : one_of(named_conventions, rng);
  s.scale = rng.one_in(3) ? scale_kind::float32
                          : one_of(named_scale_kinds, rng).value;
  s.group = one_of(groups, rng);
  s.history =
      rng.one_in(2) ? history_rule::maximum : history_rule::moving_average;
  constexpr std::uint32_t decays[] = {0x3f666666, 0, fp32_one, 0x3f000000};
  s.decay = rng.one_in(3) ? rng.below(fp32_one) : one_of(decays, rng);
  s.place = draw_placement(rng);
}

std::string refuse(const settings& s) {
  const auto why = refuse_number("from", s.from);
  return why.empty() ? refuse_codes("to", s.to) : why;
}

std::string clauses(const problem& p, std::string_view output) {
  const settings& s = p.with;
  if (output == "scales") {
    return s.scale == scale_kind::float32 ? "Q2 Q3 Q4 Q12 Q13"
                                          : "Q2 Q3 Q5 Q12 Q13";
  }
  if (output == "codes") {
    const bool device =
        s.how.value.element == element_rule::approximate_quotient;
    return device ? "Q6 Q13 Q8 R1 C3 C4 C5" : "Q6 Q13 R1 C3 C4 C5";
  }
  if (output == "values") return "Q10";
  return output == "amax" ? "Q9" : "Q1";
}

}  // namespace

std::vector<operand_spec> quantize_operands(const settings& s) {
  return {{"x", s.from, {'m', 1}, {'n', 1}},
          {"history", fp32, {0, 1}, {'k', 1}, false, true},
          {"current", fp32, {0, 1}, {0, 1}, false, true}};
}

target_info quantize_info() {
  return {target::quantize,
          "quantize",
          "quantize a matrix by a convention, dequantize it, delayed amax",
          {"from", "to", "convention", "scale", "group", "history", "decay",
           "place"},
          {"normal", "ties", "amax", "outliers", "zeros", "subnormal",
           "specials", "wide", "any_bits"},
          draw,
          refuse,
          quantize_operands,
          fill_quantize,
          run_quantize,
          clauses,
          quantize_bins,
          cover_quantize};
}

}  // namespace zeroulp::fuzz
