#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/identify/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/terminal.hpp"

namespace zeroulp::program {
namespace {

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
  std::string text = to_text(said, terminal_width());
  if (open.empty()) return text;
  text += "the data does not say:\n" + open;
  if (!c.any_combination) {
    text += fmt::format("  (not in every combination: {} definitions)\n",
                        c.members);
  }
  return text;
}

template <class Answer>
std::string head_text(const Answer& a) {
  if (a.exact) {
    return fmt::format("every bit is given by {} of {} definitions\n",
                       a.found.members, a.tried);
  }
  return fmt::format("none of {} definitions gives every bit{}\n", a.tried,
                     a.is_near ? "; the nearest:"
                               : ", and none comes near enough to be named");
}

/// The named rows. What fits where chance does, too, is none.
std::string named_text(const fuzz::definition_class& c, bool by_chance) {
  if (c.names.empty()) return "named: none\n";
  return fmt::format("named: {}{}{}\n",
                     by_chance ? "none (these fit, as chance may: " : "",
                     fmt::join(c.names, ", "), by_chance ? ")" : "");
}

/// What was found, if anything, and what was tried.
template <class Answer>
std::string tail_text(const Answer& a) {
  std::string tried;
  for (const auto& f : a.grid) {
    tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", f.name,
                         f.values.size());
  }
  return fmt::format("{}tried in {:.1f} s, values of each: {}\n",
                     a.is_near ? class_text(a.found) : "", a.seconds, tried);
}

/// 12 of 40 (30 %); 100 % means all.
std::string text_of(const fuzz::agreement& a) {
  const double percent = 100 * a.share();
  return fmt::format("{} of {} ({:.4g} %)", a.agree, a.count,
                     a.differ() > 0 ? std::min(percent, 99.99) : percent);
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

std::string answer_text(const fuzz::quantizer_evidence& e,
                        const fuzz::quantizer_answer& a) {
  std::string text = head_text(a);
  text +=
      fmt::format("{} of {} scales and {} of {} codes agree\n", a.scales.agree,
                  a.scales.count, a.codes.agree, a.codes.count);
  text += fmt::format(
      "chance: {} scales in any order, {} codes under other scales\n",
      text_of(a.chance_of_scales), text_of(a.chance_of_codes));
  if (!a.is_near && a.scales_tell != a.codes_tell) {
    text += fmt::format(
        "the {} are far above chance; the {} follow another rule\n",
        a.scales_tell ? "scales" : "codes", a.scales_tell ? "codes" : "scales");
  }
  if (a.first_scale) {
    const auto& w = *a.first_scale;
    const auto byte = e.words == fuzz::scale_words::packed
                          ? fmt::format(", byte {}", w.byte)
                          : std::string();
    text += fmt::format("first scale at ({}, {}){}, amax {}: {}\n", w.at.i,
                        w.at.j, byte, describe(fp32, w.amax),
                        word_text(w.at, fuzz::stored_scale(e)));
  }
  if (a.first_code) {
    const auto& w = *a.first_code;
    text += fmt::format("first code at ({}, {}), x {}: {}\n", w.at.i, w.at.j,
                        describe(fp32, w.x), word_text(w.at, a.how.to));
  }
  return text + named_text(a.found, !a.tells()) + tail_text(a);
}

std::string answer_text(const fuzz::gemm_evidence& e,
                        const fuzz::gemm_answer& a) {
  const bool cut_short = !a.exact && a.is_near && a.best.differ() == 0;
  std::string text =
      cut_short ? fmt::format(
                      "every bit looked at is given by {} of {} definitions: "
                      "too many to look at more\n",
                      a.found.members, a.tried)
                : head_text(a);
  text += fmt::format(
      "{} of {} outputs agree{}\n", a.best.agree, a.best.count,
      a.best.count < e.d.words.size() ? ", as far as looked at" : "");
  text +=
      fmt::format("chance: {} in sums of another kind\n", text_of(a.chance));
  if (a.fp32_sum) {
    text += fmt::format(
        "{}: {} are the exact sum, rounded once; Hopper's accumulator would "
        "come to {} at most\n",
        fuzz::fp32_sentence, text_of(a.fp32_sum->exact),
        text_of(a.fp32_sum->hopper));
  }
  if (a.first) {
    text += fmt::format("first at ({}, {}): {}\n", a.first->i, a.first->j,
                        word_text(*a.first, e.output));
  }
  return text + named_text(a.found, !a.tells) + tail_text(a);
}

std::string answer_text(const fuzz::gemm_evidence& e,
                        const fuzz::block_gemm_answer& a) {
  if (a.is_near) {
    std::string text =
        a.exact
            ? head_text(a)
            : fmt::format(
                  "every bit looked at, of {} of {} outputs, is given by {} "
                  "of {} definitions\n",
                  a.best.count, e.d.words.size(), a.found.members, a.tried);
    return text + named_text(a.found, !a.tells) + tail_text(a);
  }
  std::string text =
      fmt::format("none of {} definitions gives every bit\n", a.tried);
  if (a.first) {
    text += fmt::format("{}: {} outputs agree; first at ({}, {}): {}\n",
                        a.nearest, text_of(a.best), a.first->i, a.first->j,
                        word_text(*a.first, e.output));
  }
  return text + tail_text(a);
}

}  // namespace zeroulp::program
#endif
