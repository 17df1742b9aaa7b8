#include "tools/zeroulp/conform/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroulp::program {
namespace {

std::string status_of(const checked& c) {
  if (c.skipped()) return "skipped";
  if (c.failed()) return "FAILED";
  if (c.vacuous()) return "VACUOUS";
  return c.found.exhaustive ? "proved" : "sampled";
}

/// The command that runs the checks with `only` in their names again.
std::string command(const conform_run& r, const std::string& only) {
  const std::string plugin =
      r.plugin.empty() ? ""
                       : " --plugin " + r.plugin + (r.trusts ? " --trust" : "");
  return fmt::format("zeroulp conform{}{} --level {} --seed {}{}{}",
                     r.gpu ? " --gpu" : "", plugin, r.effort.level,
                     r.effort.seed, only.empty() ? "" : " --only ", only);
}

struct totals {
  std::size_t held;
  std::size_t failed;
  std::size_t skipped;
  std::size_t vacuous;
};

totals count(const conform_run& r) {
  const auto number = [&r](bool (checked::*is)() const) {
    return static_cast<std::size_t>(
        std::count_if(r.checks.begin(), r.checks.end(),
                      [is](const checked& c) { return (c.*is)(); }));
  };
  const auto failed = number(&checked::failed);
  const auto skipped = number(&checked::skipped);
  const auto vacuous = number(&checked::vacuous);
  return {r.checks.size() - failed - skipped - vacuous, failed, skipped,
          vacuous};
}

constexpr std::pair<char, std::string_view> sections[] = {
    {'F', "Formats"},
    {'R', "Rounding"},
    {'C', "Conversion"},
    {'A', "Arithmetic"},
    {'T', "The tensor-core step"},
    {'Q', "Quantizers"},
    {'P', "Packing of 12-bit codes"},
    {'W', "Re-tiling"},
    {'G', "GEMM"},
    {'E', "Elementary functions"},
    {'S', "The training path"},
    {'M', "Error measures"},
    {'N', "A training step"},
};

std::string nothing_held(const conform_run& r) {
  return fmt::format("VACUOUS: nothing held: all {} checks are skipped",
                     r.checks.size());
}

std::vector<badge> badges_of(const conform_run& r) {
  const auto n = count(r);
  const auto say = [](std::size_t number, const char* word) {
    return fmt::format("{} {}", number, word);
  };
  std::vector<badge> all;
  if (n.failed > 0) all.push_back({mark::bad, say(n.failed, "FAILED")});
  if (n.vacuous > 0) all.push_back({mark::bad, say(n.vacuous, "VACUOUS")});
  all.push_back({n.held > 0 ? mark::good : mark::bad, say(n.held, "held")});
  if (n.skipped > 0) all.push_back({mark::none, say(n.skipped, "skipped")});
  return all;
}

/// Whether the page has a part of its own for it.
bool is_shown(const checked& c) { return c.failed() || c.vacuous(); }

std::string id_of(std::size_t check) { return fmt::format("check-{}", check); }

/// What the checks of a section found that did not fail: a row, or none.
std::optional<shown_verdict> verdict_of_section(const conform_run& r,
                                                char letter,
                                                std::string_view title) {
  std::size_t held = 0, proved = 0, skipped = 0;
  double cases = 0;
  for (const auto& c : r.checks) {
    const bool cites = c.what.clauses.find(letter) != std::string::npos;
    if (!cites || is_shown(c)) continue;
    skipped += c.skipped() ? 1 : 0;
    if (c.skipped()) continue;
    ++held;
    proved += c.found.exhaustive ? 1 : 0;
    cases += static_cast<double>(c.found.cases);
  }
  if (held + skipped == 0) return {};
  std::string text = fmt::format("{} {}, {:.3g} cases", held,
                                 held == 1 ? "check" : "checks", cases);
  if (proved > 0) text += fmt::format(", {} proved: all there are", proved);
  if (skipped > 0) text += fmt::format("; {} skipped", skipped);
  return shown_verdict{held > 0 ? badge_of(true) : badge{mark::none, "skipped"},
                       fmt::format("{}. {}", letter, title), "",
                       std::move(text)};
}

/// What failed, each by itself; then the rest by sections of the SPEC.
std::vector<shown_verdict> verdicts_of(const conform_run& r) {
  std::vector<shown_verdict> all;
  for (std::size_t i = 0; i < r.checks.size(); ++i) {
    const auto& c = r.checks[i];
    if (!is_shown(c)) continue;
    all.push_back({{mark::bad, status_of(c)},
                   c.what.name,
                   id_of(i),
                   c.failed() ? fmt::format("{} of {} cases", c.found.failures,
                                            c.found.cases)
                              : c.found.vacuous});
  }
  for (const auto& [letter, title] : sections) {
    if (auto row = verdict_of_section(r, letter, title)) {
      all.push_back(std::move(*row));
    }
  }
  return all;
}

/// With what is read first beside the names: a wide table scrolls.
table with_verdicts_first(const table& t) {
  constexpr std::size_t order[] = {0, 3, 4, 5, 1, 2};
  table all;
  const auto moved = [&order](const std::vector<std::string>& row) {
    std::vector<std::string> cells;
    for (const std::size_t i : order) cells.push_back(row[i]);
    return cells;
  };
  all.columns = moved(t.columns);
  for (const auto& row : t.rows) all.rows.push_back(moved(row));
  return all;
}

/// A failure in words, as a picture, and how to have it again.
void add_failure(const conform_run& r, const checked& c, html_page& page) {
  if (c.failed()) {
    page.add_paragraph(
        fmt::format("{} of {} cases are not what {} says. The "
                    "first: {}",
                    c.found.failures, c.found.cases,
                    c.what.oracle.empty() ? "the contract" : c.what.oracle,
                    c.found.first_failure));
    const auto picture =
        c.picture ? c.picture : picture_of(c.found.first_failure);
    if (picture && picture->map) {
      page.add_map(*picture->map, picture->map_caption);
    }
    if (picture) page.add_bits(picture->bits, picture->bits_caption);
  } else {
    page.add_paragraph("VACUOUS: " + c.found.vacuous + ".");
  }
  page.add_paragraph(fmt::format(
      "{}Again: {}",
      c.what.clauses.empty() ? "" : "Clauses " + c.what.clauses + ". ",
      command(r, c.what.name)));
}

/// What both the report and the record say of a check.
json check_json(const checked& c) {
  json j{{"check", c.what.name},    {"clauses", c.what.clauses},
         {"oracle", c.what.oracle}, {"verdict", status_of(c)},
         {"cases", c.found.cases},  {"failures", c.found.failures}};
  if (const auto sum = c.found.expected.sum(); sum != 0) {
    j["got"] = fmt::format("{:016x}", c.found.got.sum());
    j["expected"] = fmt::format("{:016x}", sum);
  }
  if (c.skipped()) j["why"] = c.found.skipped;
  if (c.failed()) j["first_failure"] = c.found.first_failure;
  if (c.vacuous()) j["why"] = c.found.vacuous;
  if (!c.found.notes.empty()) j["notes"] = c.found.notes;
  return j;
}

/// `text` in XML. What XML 1.0 cannot hold becomes a question mark.
std::string xml(std::string_view text) {
  constexpr std::string_view special = "&<>\"'";
  constexpr const char* names[] = {"amp", "lt", "gt", "quot", "apos"};
  std::string result;
  for (const char c : text) {
    const auto at = special.find(c);
    if (at != std::string_view::npos) {
      result += fmt::format("&{};", names[at]);
    } else {
      result += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  return result;
}

}  // namespace

std::string verdict_text(const checked& c) {
  const auto status = status_of(c);
  if (c.skipped()) return status + ": " + c.found.skipped;
  if (c.failed()) {
    return fmt::format("{}, {} of {} cases", status, c.found.failures,
                       c.found.cases);
  }
  return fmt::format("{}, {} cases", status, c.found.cases);
}

table to_table(const conform_run& r) {
  table t{{"check", "clauses", "oracle", "verdict", "cases", "seconds"}, {}};
  for (const auto& c : r.checks) {
    t.rows.push_back({c.what.name, c.what.clauses, c.what.oracle, status_of(c),
                      std::to_string(c.found.cases),
                      fmt::format("{:.2f}", c.seconds)});
  }
  return t;
}

std::string summary(const conform_run& r) {
  const auto n = count(r);
  return fmt::format(
      "{} held, {} failed, {} skipped{}", n.held, n.failed, n.skipped,
      n.vacuous > 0 ? fmt::format(", {} vacuous", n.vacuous) : "");
}

bool held(const conform_run& r) {
  const auto n = count(r);
  return n.held > 0 && n.failed == 0 && n.vacuous == 0;
}

std::vector<std::string> failures(const conform_run& r) {
  std::vector<std::string> all;
  for (const auto& c : r.checks) {
    if (c.failed()) {
      all.push_back(fmt::format(
          "{} ({}): {} of {} cases failed; first: {}; again: {}", c.what.name,
          c.what.clauses, c.found.failures, c.found.cases,
          c.found.first_failure, command(r, c.what.name)));
    } else if (c.vacuous()) {
      all.push_back(fmt::format("{} ({}): VACUOUS: {}; again: {}", c.what.name,
                                c.what.clauses, c.found.vacuous,
                                command(r, c.what.name)));
    }
  }
  const auto n = count(r);
  if (n.held + n.failed + n.vacuous == 0) {
    all.push_back(nothing_held(r));
  }
  return all;
}

std::vector<std::string> notes(const conform_run& r) {
  std::vector<std::string> all;
  for (const auto& c : r.checks) {
    for (const auto& note : c.found.notes) {
      all.push_back(fmt::format("{}: {}", c.what.name, note));
    }
  }
  return all;
}

json to_json(const conform_run& r) {
  json checks = json::array();
  for (const auto& c : r.checks) {
    checks.push_back(check_json(c));
    checks.back()["seconds"] = c.seconds;
  }
  const auto n = count(r);
  return {{"zeroulp", ZEROULP_VERSION},
          {"command", command(r, r.only)},
          {"implementation", r.implementation},
          {"platform", to_json(r.platform)},
          {"level", r.effort.level},
          {"seed", r.effort.seed},
          {"held", n.held},
          {"failed", n.failed},
          {"skipped", n.skipped},
          {"vacuous", n.vacuous},
          {"checks", checks}};
}

std::string to_junit(const conform_run& r) {
  const auto n = count(r);
  double seconds = 0;
  for (const auto& c : r.checks) seconds += c.seconds;
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" "
      "skipped=\"{}\" time=\"{:.3f}\">\n<properties>\n",
      xml(command(r, r.only)), r.checks.size(), n.failed + n.vacuous, n.skipped,
      seconds);
  for (const auto& [name, value] : r.platform) {
    text += fmt::format("<property name=\"{}\" value=\"{}\"/>\n", xml(name),
                        xml(value));
  }
  text += "</properties>\n";
  for (const auto& c : r.checks) {
    text += fmt::format(
        "<testcase classname=\"zeroulp\" name=\"{}\" time=\"{:.3f}\">",
        xml(c.what.name), c.seconds);
    if (c.skipped()) {
      text += fmt::format("<skipped message=\"{}\"/>", xml(c.found.skipped));
    } else if (c.failed() || c.vacuous()) {
      const auto& why =
          c.failed() ? c.found.first_failure : "VACUOUS: " + c.found.vacuous;
      text += fmt::format("<failure message=\"{}\">{}</failure>", xml(why),
                          xml(command(r, c.what.name)));
    }
    text += fmt::format("<system-out>{}: {}</system-out></testcase>\n",
                        xml(c.what.clauses), xml(verdict_text(c)));
  }
  return text + "</testsuite>\n";
}

std::string_view title_of_section(char letter) {
  for (const auto& [of, title] : sections) {
    if (of == letter) return title;
  }
  return "";
}

std::string to_html(const conform_run& r) {
  html_page page("Is it right, to the bit?");
  page.add_badges(badges_of(r));
  page.add_paragraph(fmt::format("{} against the oracles, made by: {}",
                                 r.implementation, command(r, r.only)));
  page.add_verdicts(verdicts_of(r));
  if (count(r).held + count(r).failed + count(r).vacuous == 0) {
    page.add_paragraph(nothing_held(r));
  }
  for (std::size_t i = 0; i < r.checks.size(); ++i) {
    if (!is_shown(r.checks[i])) continue;
    page.add_heading(r.checks[i].what.name, id_of(i));
    add_failure(r, r.checks[i], page);
  }
  const auto noted = notes(r);
  if (!noted.empty()) page.add_heading("Notes");
  for (const auto& text : noted) {
    text.find('\n') == std::string::npos ? page.add_paragraph(text)
                                         : page.add_lines(text);
  }
  page.add_heading("Checks");
  page.add_table(with_verdicts_first(to_table(r)),
                 "Proved: the cases are all there are. Sampled: a function of "
                 "the seed. Clauses are those of SPEC.md.");
  table platform{{"what", "value"}, {}};
  for (const auto& [name, value] : r.platform) {
    platform.rows.push_back({name, value});
  }
  page.add_table(platform, "What it ran on");
  return page.str();
}

/// The sets of sources that the run depends on.
std::string sets_of(const conform_run& r) {
  if (!r.gpu) return "cpu";
  const auto of = [&r](std::string_view begins) {
    return std::count_if(
        r.checks.begin(), r.checks.end(),
        [begins](const checked& c) { return c.what.name.starts_with(begins); });
  };
  const auto models = of("kernel.model."), peers = of("peer.");
  std::string sets;
  const auto add = [&sets](const char* set, auto count) {
    if (count > 0) sets += (sets.empty() ? "" : " ") + std::string(set);
  };
  add("gpu", std::ssize(r.checks) - models - peers);
  add("gpu_model", models);
  add("peers", peers);
  return sets;
}

std::string command_of(const conform_run& r) { return command(r, r.only); }

std::string to_record(const conform_run& r) {
  json checks = json::array();
  for (const auto& c : r.checks) checks.push_back(check_json(c));
  return to_record(
      command_of(r), sets_of(r), r.platform,
      {{"level", r.effort.level}, {"seed", r.effort.seed}, {"checks", checks}});
}

}  // namespace zeroulp::program
