// measure: the error of a GEMM against K and the promotion interval, as a
// table, CSV, JSON and one HTML page.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/study/error/questions.hpp"
#include "tools/study/error/study.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/measure/matrices.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"

namespace zeroulp::program {
namespace {

using study::percent;

struct measure_request {
  study_request study;
  std::vector<std::string> intervals;
  matrices_request matrices;
  std::string scales = "groups";
  std::string out = "measure";
  bool as_json = false;
};

const study_cell* find(const std::vector<study_cell>& cells,
                       const std::string& name, std::ptrdiff_t k,
                       int interval) {
  for (const auto& cell : cells) {
    if (cell.distribution == name && cell.k == k && cell.interval == interval) {
      return &cell;
    }
  }
  return nullptr;
}

/// The (distribution, K) pairs, in order.
std::vector<const study_cell*> rows_of(const std::vector<study_cell>& cells) {
  std::vector<const study_cell*> rows;
  for (const auto& cell : cells) {
    if (rows.empty() || rows.back()->distribution != cell.distribution ||
        rows.back()->k != cell.k) {
      rows.push_back(&cell);
    }
  }
  return rows;
}

/// True for the cells that "a maximum relative error of nearly 2 %" may mean.
bool near_two_percent(double fraction) {
  return fraction >= 0.015 && fraction < 0.0275;
}

/// Every metric, without promotion and with the shortest interval, in percent.
table promotion_table(const std::vector<study_cell>& cells, int promoted) {
  const auto by = interval_name(promoted);
  table t{{"input", "K", "max/mean", "@" + by, "max/rms", "@" + by, "max/max",
           "@" + by, "frobenius", "@" + by, "bias", "@" + by},
          {}};
  for (const auto* row : rows_of(cells)) {
    const auto* none = find(cells, row->distribution, row->k, 0);
    const auto* with = find(cells, row->distribution, row->k, promoted);
    std::vector<std::string> line{row->distribution, std::to_string(row->k)};
    for (const auto metric :
         {&error_metrics::max_over_mean, &error_metrics::max_over_rms,
          &error_metrics::max_over_max, &error_metrics::frobenius,
          &error_metrics::bias}) {
      const double value = none->errors.*metric;
      const bool marked = row->k == 4096 && metric != &error_metrics::bias &&
                          near_two_percent(value);
      line.push_back(percent(value) + (marked ? "*" : ""));
      line.push_back(percent(with->errors.*metric));
    }
    t.rows.push_back(line);
  }
  return t;
}

/// One metric against the interval, in percent.
table interval_table(const std::vector<study_cell>& cells,
                     const std::vector<int>& intervals,
                     double error_metrics::*metric) {
  table t{{"input", "K"}, {}};
  for (const int interval : intervals) {
    t.columns.push_back(interval_name(interval));
  }
  for (const auto* row : rows_of(cells)) {
    std::vector<std::string> line{row->distribution, std::to_string(row->k)};
    for (const int interval : intervals) {
      line.push_back(percent(
          find(cells, row->distribution, row->k, interval)->errors.*metric));
    }
    t.rows.push_back(line);
  }
  return t;
}

table csv_table(const std::vector<study_cell>& cells) {
  table t{{"distribution", "k", "interval", "metric", "value"}, {}};
  for (const auto& cell : cells) {
    for (const auto& metric : study_metrics) {
      t.rows.push_back({cell.distribution, std::to_string(cell.k),
                        interval_name(cell.interval), metric.name,
                        fmt::format("{}", cell.errors.*metric.value)});
    }
  }
  return t;
}

json to_json(const std::vector<study_cell>& cells, const json& request) {
  json results = json::array();
  for (const auto& cell : cells) {
    json metrics;
    for (const auto& metric : study_metrics) {
      metrics[metric.name] = json_number(cell.errors.*metric.value);
    }
    json quantiles;
    for (std::size_t i = 0; i < error_quantiles.size(); ++i) {
      quantiles[fmt::format("{}", error_quantiles[i])] =
          json_number(cell.errors.quantiles[i]);
    }
    results.push_back(
        {{"distribution", cell.distribution},
         {"k", cell.k},
         {"interval", cell.interval == 0 ? json("none") : json(cell.interval)},
         {"metrics", metrics},
         {"quantiles", quantiles}});
  }
  json all = request;
  all["results"] = results;
  return all;
}

/// Error against K, without promotion and with the shortest interval.
plot plot_against_k(const std::vector<study_cell>& cells, int promoted) {
  plot p;
  p.title = "Frobenius error against K";
  p.x_label = "K, terms of each sum";
  p.y_label = "norm of the error over that of the result, %";
  p.log_x = p.log_y = true;
  for (const int interval : {0, promoted}) {
    for (const auto* row : rows_of(cells)) {
      const auto name =
          interval == 0
              ? row->distribution + ", unpromoted"
              : fmt::format("{}, every {}", row->distribution, interval);
      if (p.curves.empty() || p.curves.back().name != name) {
        p.curves.push_back({name, {}});
      }
      const auto* cell = find(cells, row->distribution, row->k, interval);
      const auto k = static_cast<double>(row->k);
      p.curves.back().points.emplace_back(k, 100 * cell->errors.frobenius);
      if (p.x_ticks.empty() || p.x_ticks.back() < k) p.x_ticks.push_back(k);
    }
  }
  return p;
}

/// One metric against the interval at one K.
plot plot_against_interval(const std::vector<study_cell>& cells,
                           const std::vector<int>& intervals, std::ptrdiff_t k,
                           double error_metrics::*metric,
                           const std::string& title) {
  plot p;
  p.title = fmt::format("{}, K = {}", title, k);
  p.x_label = "promotion interval, elements of K";
  p.y_label = title + ", %";
  p.kind = plot_kind::bars;
  p.log_y = true;
  for (const int interval : intervals) {
    p.categories.push_back(interval_name(interval));
  }
  for (const auto* row : rows_of(cells)) {
    if (row->k != k) continue;
    series s{row->distribution, {}};
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      const auto* cell = find(cells, row->distribution, k, intervals[i]);
      s.points.emplace_back(static_cast<double>(i),
                            100 * std::fabs(cell->errors.*metric));
    }
    p.curves.push_back(s);
  }
  return p;
}

struct summary {
  std::vector<int> intervals;
  int promoted;      ///< the shortest interval
  std::ptrdiff_t k;  ///< 4096, or the largest
  std::string shape;
};

/// Whether promotion made the error smaller, of each input.
std::vector<shown_verdict> verdicts(const std::vector<study_cell>& cells,
                                    const summary& s) {
  std::vector<shown_verdict> all;
  for (const auto* row : rows_of(cells)) {
    if (row->k != s.k) continue;
    const auto* none = find(cells, row->distribution, row->k, 0);
    const auto* with = find(cells, row->distribution, row->k, s.promoted);
    const bool helps = with->errors.frobenius <= none->errors.frobenius;
    all.push_back(
        {helps ? badge{mark::good, "smaller"} : badge{mark::bad, "LARGER"},
         fmt::format("{}, K = {}", row->distribution, row->k), "",
         fmt::format("the largest error is {} % of the mean magnitude; "
                     "promoted every {}, {} %. Bias {} %, then {} %.",
                     percent(none->errors.max_over_mean), s.promoted,
                     percent(with->errors.max_over_mean),
                     percent(none->errors.bias), percent(with->errors.bias))});
  }
  return all;
}

std::string make_page(const std::vector<study_cell>& cells, const summary& s) {
  html_page page("What Hopper's FP8 accumulator does to a GEMM");
  page.add_verdicts(verdicts(cells, s));
  page.add_paragraph(fmt::format(
      "Smaller: promoted every {}, the Frobenius error of all outputs is not "
      "above the unpromoted one.",
      s.promoted));
  page.add_paragraph(
      "The FP8 tensor core of Hopper aligns 32 products and the accumulator to "
      "the largest exponent and keeps 13 fraction bits: about 14 bits. Over a "
      "long K that truncation adds up. Promotion takes the partial sum out of "
      "the tensor core every so many elements of K and adds it in FP32. " +
      s.shape + " Errors are against the exact product of the codes.");
  page.add_heading("Unpromoted, and promoted");
  page.add_table(
      promotion_table(cells, s.promoted),
      fmt::format("Percent; the columns @{0} are promoted every {0}. A star "
                  "marks the cells that \"nearly 2 %\" at K = 4096 may mean.",
                  s.promoted));
  const auto add_figure = [&page](const plot& p, const std::string& caption) {
    page.add_figure(p, caption, render_svg(p));
  };
  add_figure(plot_against_k(cells, s.promoted),
             "Without promotion the error grows with K; with it, it does not.");
  page.add_heading("Against the promotion interval");
  add_figure(
      plot_against_interval(cells, s.intervals, s.k,
                            &error_metrics::max_over_rms,
                            "Largest error over rms"),
      "The largest error over the root mean square of the exact result.");
  add_figure(
      plot_against_interval(cells, s.intervals, s.k, &error_metrics::bias,
                            "Magnitude of the bias"),
      "Sums of one sign are biased toward zero: truncation only ever "
      "takes away.");
  page.add_table(interval_table(cells, s.intervals, &error_metrics::frobenius),
                 "Frobenius error in percent, by interval.");
  page.add_table(
      interval_table(cells, s.intervals, &error_metrics::max_over_mean),
      "Largest error over mean magnitude in percent, by interval.");
  return page.str();
}

std::vector<int> parse_intervals(const std::vector<std::string>& texts) {
  std::vector<int> intervals;
  for (const auto& text : texts) {
    const int value = parse_interval(text, hopper_fp8_f32.length);
    if (std::find(intervals.begin(), intervals.end(), value) ==
        intervals.end()) {
      intervals.push_back(value);
    }
  }
  return intervals;
}

/// Operands are held as codes and taken apart, outputs as four numbers.
void require_study_memory(std::ptrdiff_t m, std::ptrdiff_t n,
                          std::ptrdiff_t k) {
  const auto rows = static_cast<double>(m);
  const auto cols = static_cast<double>(n);
  require_memory(10 * (rows + cols) * static_cast<double>(k) +
                 28 * rows * cols);
}

void run_measure(measure_request q) {
  q.study.intervals = parse_intervals(q.intervals);
  auto& intervals = q.study.intervals;
  // The tables compare with no promotion at all.
  if (std::find(intervals.begin(), intervals.end(), 0) == intervals.end()) {
    intervals.insert(intervals.begin(), 0);
  }
  if (intervals.size() < 2) intervals.push_back(128);
  const bool draws = q.matrices.a.empty();
  if (draws != q.matrices.b.empty()) {
    throw input_error("--a and --b go together: X.npy (m x k), W.npy (n x k)");
  }
  constexpr std::ptrdiff_t most = 1 << 24;
  for (const auto size : {q.study.m, q.study.n}) {
    if (size < 1 || size > most) {
      throw input_error("--m and --n: use 1 to 16777216");
    }
  }
  for (const auto k : q.study.k) {
    if (k < 1 || k > most) throw input_error("--k: use 1 to 16777216");
  }
  const study_progress progress = [show = make_progress()](double done,
                                                           double total) {
    show(done, total, "");
  };
  output_set files(q.out);  // before the work, which may take minutes
  files.expect({"measure.csv", "measure.json", "measure.html"});
  std::vector<study_cell> cells;
  json request{{"zeroulp", ZEROULP_VERSION},
               {"path", "hopper.wgmma.e4m3.e4m3.f32"}};
  summary s{intervals, 0, 0, ""};
  for (const int interval : intervals) {
    if (interval > 0 && (s.promoted == 0 || interval < s.promoted)) {
      s.promoted = interval;
    }
  }
  if (draws) {
    const auto largest = *std::max_element(q.study.k.begin(), q.study.k.end());
    require_study_memory(q.study.m, q.study.n, largest);
    cells = run_study(q.study, progress);
    request["m"] = q.study.m;
    request["n"] = q.study.n;
    request["seed"] = q.study.seed;
    s.shape = fmt::format(
        "Here M = {}, N = {}; inputs are drawn with seed {} and encoded to "
        "E4M3 "
        "as they are, scale 1.",
        q.study.m, q.study.n, q.study.seed);
    for (const auto k : q.study.k) {
      s.k = k == 4096 || (s.k != 4096 && k > s.k) ? k : s.k;
    }
  } else {
    q.matrices.scales = parse_matrix_scales(q.scales);
    const auto found = measure_matrices(q.matrices, intervals, progress);
    cells = found.cells;
    request.update(found.as_json);
    s.k = found.k;
    s.shape = found.text;
  }
  const auto result = to_json(cells, request);
  files.add("measure.csv", to_csv(csv_table(cells)));
  files.add("measure.json", to_text(result));
  files.add("measure.html", make_page(cells, s));
  files.commit();
  if (q.as_json) {
    print_json(result);
    return;
  }
  print(s.shape +
        "\nErrors in percent, against the exact product of the codes; " +
        fmt::format("columns @{0} are promoted every {0}.\n\n", s.promoted));
  print(promotion_table(cells, s.promoted));
  print("\nFrobenius error in percent, by promotion interval:\n\n");
  print(interval_table(cells, intervals, &error_metrics::frobenius));
  print("\n");
  for (const auto& v : verdicts(cells, s)) {
    print(fmt::format("{}: {}\n", v.of, v.text));
  }
  if (draws) {
    print("* may be what \"nearly 2 %\" at K = 4096 means.\n");
  }
  print(
      fmt::format("Written: {0}/measure.csv, {0}/measure.json, "
                  "{0}/measure.html\n",
                  q.out));
}

}  // namespace

void add_measure(cli::app& app, outcome& /*out*/) {
  auto* sub =
      add_command(app, "measure",
                  "What 14 bits do to a GEMM, and what promotion does about it",
                  "zeroulp measure --a x.npy --b w.npy --out report");
  auto q = std::make_shared<measure_request>();
  q->intervals = {"none", "128", "256", "512", "1024"};
  sub->add_option("--a", q->matrices.a,
                  "your own matrix, m x k: float32, float16 .npy");
  sub->add_option("--b", q->matrices.b, "your own matrix, n x k");
  sub->add_option("--dtype", q->matrices.dtype,
                  "bf16: --a and --b hold BF16 as uint16");
  sub->add_option("--scales", q->scales,
                  "of --a and --b. groups: 1x128 and 128x128 where sums are "
                  "promoted within 128, else rows; rows; tensor; none: as they "
                  "are")
      ->capture_default_str();
  sub->add_option("--m", q->study.m, "rows of A")->capture_default_str();
  sub->add_option("--n", q->study.n, "rows of B")->capture_default_str();
  sub->add_option("--k", q->study.k, "values of K")->capture_default_str();
  sub->add_option("--interval", q->intervals, "promotion intervals, or none")
      ->capture_default_str();
  sub->add_option("--seed", q->study.seed, "of the inputs")
      ->check(cli::range(std::int64_t{0}, INT64_MAX))
      ->capture_default_str();
  sub->add_option("--out", q->out, "directory to write")->capture_default_str();
  sub->add_flag("--json", q->as_json);
  add_reference(sub);
  sub->callback([q, sub] {
    const bool draws = q->matrices.a.empty() && q->matrices.b.empty();
    const std::initializer_list<const char*> of_drawn = {"--m", "--n", "--k",
                                                         "--seed"};
    const std::initializer_list<const char*> of_yours = {"--dtype", "--scales"};
    for (const char* name : draws ? of_yours : of_drawn) {
      if (sub->count(name) == 0) continue;
      throw input_error(fmt::format(
          fmt::runtime(draws ? "{} is of your matrices, --a and --b"
                             : "{} is of inputs that are drawn: --a and --b "
                               "are yours"),
          name));
    }
    run_measure(*q);
  });
}

}  // namespace zeroulp::program
