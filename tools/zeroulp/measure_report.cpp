#include "measure_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study_text.hpp"

namespace zeroulp::program {
namespace {

std::string command_of(const study_run& run, const asked& one) {
  auto command = fmt::format("zeroulp measure --preset {} --question {}",
                             run.preset, one.what.name);
  if (run.settings.empty()) return command;
  command += " --with";
  for (const auto& word : study::split(run.settings, ' ')) {
    const bool is_plain = word.find_first_of("()|") == std::string::npos;
    command += is_plain ? " " + word : " '" + word + "'";
  }
  return command;
}

std::string mark(const study::verdict& v) { return v.held ? "held" : "FAILED"; }

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
    }
    cells.push_back(std::move(x));
  }
  return cells;
}

/// Cells of one's own: a row each, a column for each metric.
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

void add_reasons(const asked& one, html_page& page) {
  std::vector<std::string> said;
  for (const auto& c : one.given.cells) {
    if (!c.impossible) continue;
    if (std::find(said.begin(), said.end(), *c.impossible) != said.end()) {
      continue;
    }
    said.push_back(*c.impossible);
  }
  for (const auto& why : said) page.add_paragraph("Impossible: " + why + ".");
}

std::string percent_of(const json& of, const char* name) {
  const auto found = of.find(name);
  return found != of.end() && found->is_number()
             ? study::percent(found->get<double>())
             : "-";
}

/// What loss.json says: its verdicts and the interval of each arm.
void add_loss(const json& loss, html_page& page) {
  page.add_heading("From GEMM to loss");
  if (loss.is_null()) {
    page.add_paragraph("Absent: zeroulp measure --loss writes loss.json.");
    return;
  }
  const auto list = [&](const char* name) {
    return loss.value(name, json::array());
  };
  for (const auto& v : list("verdicts")) {
    page.add_paragraph(fmt::format("{}: {}",
                                   v.value("held", false) ? "held" : "FAILED",
                                   v.value("text", std::string())));
  }
  for (const auto& [name, caption] :
       {std::pair("same_state", "The same state"),
        std::pair("forks", "Paired forks"),
        std::pair("stress", "Injected outliers")}) {
    table t{{"arm", "exponent", "mean", "low90", "high90"}, {}};
    for (const auto& one : list(name)) {
      t.rows.push_back({one.value("arm", std::string()),
                        one.contains("exponent") ? one["exponent"].dump() : "-",
                        percent_of(one, "mean"), percent_of(one, "low90"),
                        percent_of(one, "high90")});
    }
    if (t.rows.empty()) continue;
    page.add_table(t, fmt::format("{}: relative change of the loss beside BF16,"
                                  " percent, with its 90 % interval.",
                                  caption));
  }
}

table throughput_table(const study::answer& a) {
  table t{{"interval", "TFLOP/s"}, {}};
  for (const auto& [interval, tflops] : a.throughput) {
    t.rows.push_back({interval, fmt::format("{:.4g}", tflops)});
  }
  return t;
}

}  // namespace

table cells_table(const std::vector<asked>& all) {
  table t{{"question", "row", "series"}, {}};
  for (const auto& f : study::fields()) t.columns.emplace_back(f.name);
  t.columns.emplace_back("impossible");
  for (const auto& m : study::metrics()) t.columns.push_back(m.name);
  for (const auto& one : all) {
    for (const auto& c : one.given.cells) {
      std::vector<std::string> line{one.what.name, c.row, c.series};
      const auto values = study::values_of(c.value);
      line.insert(line.end(), values.begin(), values.end());
      line.push_back(c.impossible.value_or(""));
      for (const auto& m : study::metrics()) {
        line.push_back(c.given ? fmt::format("{}", m.of(*c.given)) : "");
      }
      t.rows.push_back(std::move(line));
    }
  }
  return t;
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
    if (!one.given.throughput.empty()) throughput = one.given.throughput;
  }
  return {{"zeroulp", ZEROULP_VERSION},
          {"preset", run.preset},
          {"with", run.settings},
          {"questions", questions},
          {"throughput_tflops", throughput},
          {"loss", run.loss.is_null() ? json("absent") : run.loss}};
}

std::string to_text(const asked& one) {
  if (!one.judged) return to_text(own_table(one)) + "In percent.\n";
  auto text = fmt::format("{}: {}, {} in percent\n", one.what.name,
                          one.what.asks, one.what.metrics[0]);
  text += to_text(to_table(one.what, one.given, one.what.metrics[0]));
  return text + fmt::format("{}: {}\n\n", mark(*one.judged), one.judged->text);
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

std::string questions_page(const study_run& run,
                           const std::vector<asked>& all) {
  html_page page("FP8 GEMMs: where the error comes from");
  page.add_paragraph(
      "Each cell is a GEMM as a value: the law of its inputs, formats, groups "
      "and scales, accumulator and promotion interval. Quantization is the "
      "exact product of dequantized codes against that of the inputs; "
      "accumulation is the result against the exact product of dequantized "
      "codes; total is the result against the inputs. Outputs are sampled: "
      "the columns m and n of study.csv say how many. Every number is a "
      "function of the cell alone, on any machine.");
  page.add_paragraph("Preset " + run.preset +
                     (run.settings.empty() ? "." : ", with " + run.settings));
  for (const auto& one : all) {
    page.add_heading(one.what.asks);
    if (!one.judged) {
      page.add_table(own_table(one), "In percent.");
      continue;
    }
    page.add_paragraph(
        fmt::format("{}: {}", mark(*one.judged), one.judged->text));
    if (one.figure) {
      page.add_figure(to_plot(one.what, one.given), one.what.caption,
                      one.figure);
    } else {
      page.add_paragraph(one.what.caption +
                         " No plot: gnuplot was not found or failed.");
    }
    for (const auto& m : one.what.metrics) {
      page.add_table(to_table(one.what, one.given, m), m + ", percent");
    }
    add_reasons(one, page);
    if (one.what.name == "interval" && !one.given.throughput.empty()) {
      page.add_table(throughput_table(one.given),
                     "Throughput, as recorded on a GPU.");
    }
    page.add_paragraph("Made by: " + command_of(run, one));
  }
  add_loss(run.loss, page);
  return page.str();
}

}  // namespace zeroulp::program
