// What a probe found, in words.

#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/probe/report.hpp"

#include <fmt/format.h>

namespace zeroulp::program {
namespace {

using fuzz::black_box;
using fuzz::evidence_of;
using fuzz::found_property;
using fuzz::mechanism;
using fuzz::probe_result;

/// Of a list, so many are shown.
constexpr std::size_t most_shown = 4;

std::string listed(const std::vector<std::string>& all) {
  if (all.empty()) return "-";
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), most_shown); ++i) {
    text += (i > 0 ? ", " : "") + all[i];
  }
  if (all.size() > most_shown) {
    text += fmt::format(" and {} more", all.size() - most_shown);
  }
  return text;
}

std::string number(format f, std::uint64_t code) {
  return to_decimal(decode(f, code));
}

/// "a[0]*b[0] = 256*256, a[3]*b[3] = -1*0.5, c = 8".
std::string terms_text(const black_box& box, const fuzz::step_case& s) {
  std::vector<std::string> terms;
  for (std::size_t k = 0; k < s.a.size(); ++k) {
    if (s.a[k] == 0 && s.b[k] == 0) continue;
    terms.push_back(fmt::format("a[{0}]*b[{0}] = {1}*{2}", k,
                                number(box.a, s.a[k]), number(box.b, s.b[k])));
  }
  if (s.c != 0) terms.push_back(fmt::format("c = {}", number(box.stored, s.c)));
  if (terms.empty()) return "zeros";
  return listed(terms);
}

std::string evidence_text(const black_box& box, const evidence_of& e,
                          const std::string& other) {
  return fmt::format("{}: D = {}; {} gives {}\n", terms_text(box, e.inputs),
                     describe(box.stored, e.d), other,
                     describe(box.stored, e.instead));
}

const found_property& property_named(const probe_result& r,
                                     const std::string& name) {
  static const found_property none{};
  for (const auto& p : r.properties) {
    if (p.name == name) return p;
  }
  return none;
}

/// The mechanism in sentences.
std::string sentences(const probe_result& r) {
  const mechanism& m = r.found;
  const accumulator& acc = m.acc;
  std::string text = fmt::format("It takes {}.", describe(m.order, m.length));
  if (acc.fraction_bits == uncut) {
    text += " Nothing of a term is cut before the sum is rounded.";
  } else {
    const bool at_least = !property_named(r, "fraction bits").equal.empty();
    text += fmt::format(
        " Each term keeps {}{} fraction bits below the largest exponent; the "
        "rest is {}.",
        at_least ? "about " : "", acc.fraction_bits,
        acc.cut == rounding::toward_zero
            ? "cut off (toward zero)"
            : fmt::format("rounded ({})", name_of(acc.cut)));
  }
  text += fmt::format(" The sum is rounded once, {}, to {} fraction bits.\n",
                      name_of(acc.conversion), acc.output.man_bits);
  return text;
}

json bits_json(format f, const std::vector<std::uint64_t>& codes) {
  json all = json::array();
  for (const auto code : codes) all.push_back(to_hex(code, f.bits()));
  return all;
}

json evidence_json(const black_box& box, const evidence_of& e) {
  const int bits = box.stored.bits();
  return {{"a", bits_json(box.a, e.inputs.a)},
          {"b", bits_json(box.b, e.inputs.b)},
          {"c", to_hex(e.inputs.c, bits)},
          {"d", to_hex(e.d, bits)},
          {"instead", to_hex(e.instead, bits)}};
}

void print_properties(const black_box& box, const probe_result& r) {
  table t{{"property", "value", "as good on every output"}, {}};
  for (const auto& p : r.properties) {
    t.rows.push_back({p.name, p.value, listed(p.equal)});
  }
  print(t);
  print("\nSteps that show it; products that are not named are 0:\n");
  for (const auto& p : r.properties) {
    if (!p.shown_by) continue;
    print(fmt::format("  {}: {}\n    {}", p.name, p.value,
                      evidence_text(box, *p.shown_by, p.other)));
  }
}

}  // namespace

json probe_json(const black_box& box, const probe_result& r) {
  json all{{"box", box.name},      {"a", name_of(box.a)},
           {"b", name_of(box.b)},  {"stored", name_of(box.stored)},
           {"length", box.length}, {"outputs", r.outputs},
           {"fits", r.fits},       {"paths", r.names}};
  if (!r.fits) {
    all["why"] = r.why;
    all["contradicting"] = r.contradicting;
    all["because"] = json::array();
    for (const auto& e : r.because) {
      all["because"].push_back(evidence_json(box, e));
    }
    return all;
  }
  all["properties"] = json::array();
  for (const auto& p : r.properties) {
    json one{{"property", p.name}, {"value", p.value}, {"equal", p.equal}};
    if (p.shown_by) {
      one["other"] = p.other;
      one["shown_by"] = evidence_json(box, *p.shown_by);
    }
    all["properties"].push_back(std::move(one));
  }
  return all;
}

void print_probe(const black_box& box, const probe_result& r) {
  print(fmt::format("{}: {} products of {} and {}, {} outputs\n", box.name,
                    box.length, name_of(box.a), name_of(box.b), r.outputs));
  if (!r.fits) {
    print(fmt::format("does not fit: {}\n", r.why));
    print(fmt::format("{} outputs contradict what comes closest, such as\n",
                      r.contradicting));
    for (const auto& e : r.because) {
      print("  " + evidence_text(box, e, "that"));
    }
    return;
  }
  print(sentences(r));
  print(fmt::format(
      "{}\n\n", r.names.empty() ? "No path of the SPEC does."
                                : "The same bits as " + listed(r.names) + "."));
  print_properties(box, r);
}

}  // namespace zeroulp::program
#endif
