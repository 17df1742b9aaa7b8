#include "tools/zeroulp/study/report.hpp"

#include <fmt/format.h>

#include "tools/study/error/text.hpp"
#include "tools/zeroulp/study/throughput.hpp"
#include "tools/zeroulp/terminal.hpp"

namespace zeroulp::program {
namespace {

json cells_json(const asked& one) {
  json cells = json::array();
  for (const auto& c : one.given.cells) {
    json x{{"row", c.row}};
    if (!c.series.empty()) x["series"] = c.series;
    x["a.input"] = study::name_of_input(c.value.a.from);
    x["b.input"] = study::name_of_input(c.value.b.from);
    if (c.impossible) x["impossible"] = *c.impossible;
    if (c.given) {
      for (const auto& m : one.what.metrics) {
        x[m] = json_number(study::find_metric(m).of(*c.given));
      }
      x["by"] = c.given->by;
      x["sha256"] = c.given->digest;
    }
    cells.push_back(std::move(x));
  }
  return cells;
}

}  // namespace

std::string command_of(const study_run& run, const asked& one) {
  const bool is_real = !run.real.empty() && one.what.name == "real";
  auto command = fmt::format("zeroulp study --preset {} {} {}", run.preset,
                             is_real ? "--real" : "--question",
                             is_real ? run.real : one.what.name);
  if (run.settings.empty()) return command;
  command += " --with";
  for (const auto& word : study::split(run.settings, ' ')) {
    const bool is_plain = word.find_first_of("()|") == std::string::npos;
    command += is_plain ? " " + word : " '" + word + "'";
  }
  return command;
}

table own_table(const asked& one) {
  table t{{"cell"}, {}};
  for (const auto& m : one.what.metrics) t.columns.push_back(m);
  for (const auto& c : one.given.cells) {
    std::vector<std::string> line{c.row.empty() ? "the cell" : c.row};
    for (const auto& m : one.what.metrics) {
      line.push_back(c.given
                         ? study::percent(study::find_metric(m).of(*c.given))
                         : "impossible");
    }
    if (c.impossible) line.back() += ": " + *c.impossible;
    t.rows.push_back(line);
  }
  return t;
}

table cells_table(const std::vector<asked>& all) {
  table t{{"question", "row", "series"}, {}};
  for (const auto& f : study::fields()) t.columns.emplace_back(f.name);
  t.columns.emplace_back("impossible");
  for (const auto& m : study::metrics()) t.columns.push_back(m.name);
  t.columns.insert(t.columns.end(), {"by", "sha256"});
  for (const auto& one : all) {
    for (const auto& c : one.given.cells) {
      std::vector<std::string> line{one.what.name, c.row, c.series};
      const auto values = study::values_of(c.value);
      line.insert(line.end(), values.begin(), values.end());
      line.push_back(c.impossible.value_or(""));
      for (const auto& m : study::metrics()) {
        line.push_back(c.given ? fmt::format("{}", m.of(*c.given)) : "");
      }
      if (c.given) line.insert(line.end(), {c.given->by, c.given->digest});
      t.rows.push_back(std::move(line));
    }
  }
  return t;
}

std::string to_text(const study::verdict& v) {
  return fmt::format("{}: {}", v.held ? "held" : "FAILED", v.text);
}

json to_json(const study_run& run, const std::vector<asked>& all) {
  json questions = json::array();
  json throughput = "absent";
  for (const auto& one : all) {
    json q{{"name", one.what.name}, {"asks", one.what.asks}};
    if (one.judged) {
      q["command"] = command_of(run, one);
      q["caption"] = one.what.caption;
      q["metrics"] = one.what.metrics;
      q["verdict"] = {{"held", one.judged->held}, {"text", one.judged->text}};
    }
    q["cells"] = cells_json(one);
    questions.push_back(std::move(q));
    if (!one.given.throughput.empty()) {
      throughput = to_json(one.given.throughput);
    }
  }
  json device{{"name", run.device.empty() ? "CPU" : run.device}};
  if (run.same_bits) {
    device["same_bits"] = {{"held", run.same_bits->held},
                           {"text", run.same_bits->text}};
  }
  return {{"zeroulp", ZEROULP_VERSION},
          {"preset", run.preset},
          {"with", run.settings},
          {"device", device},
          {"questions", questions},
          {"throughput_tflops", throughput},
          {"loss", run.loss.is_null() ? json("absent") : run.loss}};
}

std::string to_text(const asked& one) {
  if (!one.judged)
    return to_text(own_table(one), terminal_width()) + "In percent.\n";
  auto text = fmt::format("{}: {}, {} in percent\n", one.what.name,
                          one.what.asks, one.what.metrics[0]);
  text += to_text(to_table(one.what, one.given, one.what.metrics[0]),
                  terminal_width());
  return text + to_text(*one.judged) + "\n\n";
}

std::string standalone(std::string svg) {
  // An image has the reader's colours only if it asks for them.
  const auto at = svg.find('>');
  svg.insert(at + 1,
             "\n<style>svg { color: #1b1e23; background: #ffffff; } @media "
             "(prefers-color-scheme: dark) { svg { color: #e6e8ec; background: "
             "#15171b; } }</style>");
  return svg + "\n";
}

}  // namespace zeroulp::program
