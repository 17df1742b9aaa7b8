// The page of the study.

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/study/loss_page.hpp"
#include "tools/zeroulp/study/report.hpp"
#include "tools/zeroulp/study/throughput.hpp"

namespace zeroulp::program {
namespace {

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

/// How many verdicts there are, and how many failed.
std::string summary_of(const std::vector<asked>& all) {
  int judged = 0, failed = 0;
  for (const auto& one : all) {
    judged += one.judged ? 1 : 0;
    failed += one.judged && !one.judged->held ? 1 : 0;
  }
  if (judged == 0) return "Cells of one's own: there is no verdict.";
  if (failed > 0)
    return fmt::format("{} of {} verdicts FAILED.", failed, judged);
  return judged == 1 ? "The verdict held."
                     : fmt::format("All {} verdicts held.", judged);
}

constexpr const char* measures_heading = "What the measures are";

table measures_table() {
  return {{"measure", "is"},
          {{"frobenius", "the norm of e over the norm of x"},
           {"max_over_mean, _rms, _max",
            "the largest |e| over the mean, the root mean square and the "
            "largest of |x|"},
           {"bias",
            "the slope of the result over x, through the origin, less 1: "
            "negative where magnitudes are lost"},
           {"median, p99, max",
            "quantiles of |e| / |x|, x not below 1/1000 of "
            "the root mean square"},
           {"mean_relative", "the mean of the same"},
           {"one_minus_cosine", "of the angle between the results and x"},
           {"saturated, zeroed",
            "elements of A beyond the largest code, and "
            "lost below the smallest, of all elements"},
           {"changed",
            "elements of A that the way they were stored left at "
            "another value, of all elements"}}};
}

}  // namespace

std::string questions_page(const study_run& run,
                           const std::vector<asked>& all) {
  html_page page("FP8 GEMMs: where the error comes from");
  page.add_paragraph(
      "Each cell is a GEMM as a value: the law of its inputs, formats, groups "
      "and scales, accumulator and promotion interval. Quantization is the "
      "exact product of dequantized codes against that of the inputs; "
      "accumulation is the result against the exact product of dequantized "
      "codes; total is the result against the inputs. Errors are in percent "
      "here, in study.csv and study.json fractions. Outputs are sampled: the "
      "columns m, n and sample of study.csv say how many. Every number is a "
      "function of the cell alone, on any machine.");
  page.add_paragraph(fmt::format(
      "zeroulp {}, preset {}{}, computed by {}.", ZEROULP_VERSION, run.preset,
      run.settings.empty() ? "" : ", with " + run.settings,
      run.device.empty() ? "the CPU" : run.device));
  if (run.same_bits) page.add_paragraph(to_text(*run.same_bits));
  page.add_paragraph(summary_of(all));
  std::vector<shown_verdict> verdicts;
  std::vector<std::pair<std::string, std::string>> headings;
  for (const auto& one : all) {
    if (one.judged) {
      verdicts.push_back({badge_of(one.judged->held), one.what.asks,
                          one.what.name, one.judged->text});
    } else {
      headings.emplace_back(one.what.name, one.what.asks);
    }
  }
  if (!verdicts.empty()) page.add_verdicts(verdicts);
  headings.emplace_back("loss", loss_heading);
  headings.emplace_back("measures", measures_heading);
  page.add_links(headings);
  for (const auto& one : all) {
    page.add_heading(one.what.asks, one.what.name);
    if (!one.judged) {
      page.add_table(own_table(one), "In percent.");
      continue;
    }
    page.add_paragraph(to_text(*one.judged));
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
      const auto drawn = throughput_plot(one.given.throughput);
      page.add_figure(drawn,
                      "Throughput as a GPU has it: zeroulp bench gpu "
                      "gemm.interval.",
                      render_svg(drawn));
      page.add_table(throughput_table(one.given.throughput), "TFLOP/s");
    }
    page.add_paragraph("Made by: " + command_of(run, one));
  }
  add_loss(run.loss, page);
  page.add_heading(measures_heading, "measures");
  page.add_table(measures_table(),
                 "e is the error of an output, x its exact "
                 "value; all are shown in percent.");
  return page.str();
}

}  // namespace zeroulp::program
