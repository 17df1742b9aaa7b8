#ifdef ZEROULP_HAVE_CONFORMANCE
#include "identify_report.hpp"

#include <fmt/format.h>

namespace zeroulp::program {
namespace {

json class_json(bool exact, std::uint64_t tried,
                const fuzz::definition_class& c) {
  json fields = json::object();
  for (const auto& f : c.fields) fields[f.name] = f.values;
  return {{"exact", exact},
          {"tried", tried},
          {"names", c.names},
          {"members", c.members},
          {"any_combination", c.any_combination},
          {"fields", fields}};
}

/// What the data say of each field, and what they do not.
std::string class_text(const fuzz::definition_class& c) {
  table said{{"field", "value"}, {}};
  std::string open;
  for (const auto& f : c.fields) {
    if (f.values.size() == 1) {
      said.rows.push_back({f.name, f.values[0]});
    } else {
      open += fmt::format("  {}: {}\n", f.name, fmt::join(f.values, " | "));
    }
  }
  std::string text = fmt::format(
      "named: {}\n",
      c.names.empty() ? "none" : fmt::format("{}", fmt::join(c.names, ", ")));
  text += to_text(said);
  if (open.empty()) return text;
  text += "the data does not say:\n" + open;
  if (!c.any_combination) {
    text += fmt::format("  (not in every combination: {} definitions)\n",
                        c.members);
  }
  return text;
}

std::string head_text(bool exact, std::uint64_t tried, std::uint64_t members) {
  return exact ? fmt::format("every bit is given by {} of {} definitions\n",
                             members, tried)
               : fmt::format(
                     "none of {} definitions gives every bit; the "
                     "nearest:\n",
                     tried);
}

json word_json(const fuzz::wrong_word& w, int bits) {
  return {{"row", w.i},
          {"col", w.j},
          {"given", to_hex(w.given, bits)},
          {"expected", to_hex(w.expected, bits)}};
}

std::string word_text(const fuzz::wrong_word& w, format f) {
  ulp_histogram h;
  h.add(w.given, w.expected, order_of(f));
  const auto apart = h.nan_mismatches + h.nan_payload > 0
                         ? std::string()
                         : fmt::format(", {} ulps", h.max_distance);
  return fmt::format("given {}, expected {}{}", describe(f, w.given),
                     describe(f, w.expected), apart);
}

}  // namespace

json answer_json(const fuzz::quantizer_evidence& e,
                 const fuzz::quantizer_answer& a) {
  const auto scales = e.scales.words.size();
  const auto codes = e.codes.words.size();
  const format stored = e.exponents ? ue8m0 : fp32;
  auto result = class_json(a.exact, a.tried, a.found);
  result["scales"] = {{"count", scales}, {"differ", a.scales_differ}};
  result["codes"] = {{"count", codes}, {"differ", a.codes_differ}};
  if (a.first_scale) {
    result["first_scale"] = word_json(a.first_scale->at, stored.bits());
    result["first_scale"]["amax"] = to_hex(a.first_scale->amax, 32);
  }
  if (a.first_code) {
    result["first_code"] = word_json(a.first_code->at, a.how.to.bits());
    result["first_code"]["x"] = to_hex(a.first_code->x, 32);
  }
  return result;
}

std::string answer_text(const fuzz::quantizer_evidence& e,
                        const fuzz::quantizer_answer& a) {
  const auto scales = e.scales.words.size();
  const auto codes = e.codes.words.size();
  const format stored = e.exponents ? ue8m0 : fp32;
  std::string text = head_text(a.exact, a.tried, a.found.members);
  text += fmt::format("{} of {} scales and {} of {} codes agree\n",
                      scales - a.scales_differ, scales, codes - a.codes_differ,
                      codes);
  if (a.first_scale) {
    const auto& w = *a.first_scale;
    text +=
        fmt::format("first scale at ({}, {}), amax {}: {}\n", w.at.i, w.at.j,
                    describe(fp32, w.amax), word_text(w.at, stored));
  }
  if (a.first_code) {
    const auto& w = *a.first_code;
    text += fmt::format("first code at ({}, {}), x {}: {}\n", w.at.i, w.at.j,
                        describe(fp32, w.x), word_text(w.at, a.how.to));
  }
  return text + class_text(a.found);
}

json answer_json(const fuzz::gemm_evidence& e, const fuzz::gemm_answer& a) {
  const auto count = e.d.words.size();
  auto result = class_json(a.exact, a.tried, a.found);
  result["outputs"] = {{"count", count}, {"differ", a.outputs_differ}};
  if (a.first) result["first"] = word_json(*a.first, e.output.bits());
  return result;
}

std::string answer_text(const fuzz::gemm_evidence& e,
                        const fuzz::gemm_answer& a) {
  const auto count = e.d.words.size();
  std::string text = head_text(a.exact, a.tried, a.found.members);
  text +=
      fmt::format("{} of {} outputs agree\n", count - a.outputs_differ, count);
  if (a.first) {
    text += fmt::format("first at ({}, {}): {}\n", a.first->i, a.first->j,
                        word_text(*a.first, e.output));
  }
  return text + class_text(a.found);
}

}  // namespace zeroulp::program
#endif
