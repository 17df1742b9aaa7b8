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
    all.push_back(fmt::format(
        "VACUOUS: nothing held: all {} checks are skipped", r.checks.size()));
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

std::string to_html(const conform_run& r) {
  html_page page(command(r, r.only));
  page.add_paragraph(summary(r) + ".");
  table platform{{"", ""}, {}};
  for (const auto& [name, value] : r.platform) {
    platform.rows.push_back({name, value});
  }
  page.add_table(platform, "What it ran on");
  const auto failed = failures(r);
  if (!failed.empty()) page.add_heading("Failures");
  for (const auto& text : failed) page.add_paragraph(text);
  const auto noted = notes(r);
  if (!noted.empty()) page.add_heading("Notes");
  for (const auto& text : noted) page.add_paragraph(text);
  page.add_heading("Checks");
  page.add_table(to_table(r),
                 "Proved: the cases are all there are. Sampled: a function of "
                 "the seed. Clauses are those of SPEC.md.");
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

std::string to_record(const conform_run& r) {
  json checks = json::array();
  for (const auto& c : r.checks) checks.push_back(check_json(c));
  return to_record(
      command(r, r.only), sets_of(r), r.platform,
      {{"level", r.effort.level}, {"seed", r.effort.seed}, {"checks", checks}});
}

}  // namespace zeroulp::program
