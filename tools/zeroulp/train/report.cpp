// The report of a campaign: who is within the bound, and what was seen.

#include "tools/zeroulp/train/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/study/parity/report.hpp"
#include "tools/study/report/report.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/train/accumulator_figure.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

using parity::arm_report;
using parity::campaign_report;
using parity::plan;
using runs_by_key =
    std::map<std::pair<std::string, std::uint64_t>, parity::run>;

std::string percent(double x) { return fmt::format("{:+.4f}", 100 * x); }

table verdict_table(const std::vector<arm_report>& all) {
  table t{{"arm", "beside", "seeds", "gap", "low", "high", "sd", "sd low",
           "sd high", "power", "verdict"},
          {}};
  for (const arm_report& r : all) {
    std::vector<std::string> row{r.arm, r.base};
    if (!r.look) {
      row.push_back(fmt::format("{}", r.gaps.size()));
      row.insert(row.end(), 7, "");
      row.emplace_back("too few seeds");
    } else {
      const auto& e = *r.look;
      row.push_back(fmt::format("{}", e.n));
      for (const double x : {e.mean, e.low, e.high}) row.push_back(percent(x));
      for (const double x : {e.sd, e.sd_low, e.sd_high}) {
        row.push_back(fmt::format("{:.4f}", 100 * x));
      }
      row.push_back(fmt::format("{:.2f}", r.power));
      row.emplace_back(name_of(r.said));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

json to_json(const std::vector<arm_report>& all) {
  json list = json::array();
  for (const arm_report& r : all) {
    json one{{"arm", r.arm},
             {"beside", r.base},
             {"seeds", r.seeds},
             {"gaps", r.gaps}};
    if (r.look) {
      one["n"] = r.look->n;
      one["mean"] = r.look->mean;
      one["low"] = r.look->low;
      one["high"] = r.look->high;
      one["sd"] = r.look->sd;
      one["sd_low90"] = r.look->sd_low;
      one["sd_high90"] = r.look->sd_high;
      one["power"] = r.power;
      one["verdict"] = name_of(r.said);
    }
    list.push_back(one);
  }
  return list;
}

json to_json(const plan& p, const campaign_report& r) {
  json all{{"plan", p.digest},
           {"size", p.size},
           {"data", p.data},
           {"steps", p.steps},
           {"shared", p.shared},
           {"bound", p.bound},
           {"level", p.level},
           {"looks", p.looks},
           {"seed_sd", r.seed_sd},
           {"own", to_json(r.own)},
           {"by_base", to_json(r.by_base)},
           {"pairs", to_json(r.pairs)}};
  all["is_sensitive"] =
      r.is_sensitive ? json(*r.is_sensitive) : json("unknown");
  return all;
}

std::string hexadecimal(double x) { return fmt::format("{:a}", x); }

table gap_table(const campaign_report& r) {
  table t{{"numerics", "arm", "beside", "seed", "gap"}, {}};
  const auto add = [&](const char* numerics,
                       const std::vector<arm_report>& all) {
    for (const arm_report& a : all) {
      for (std::size_t i = 0; i < a.gaps.size(); ++i) {
        t.rows.push_back({numerics, a.arm, a.base, std::to_string(a.seeds[i]),
                          hexadecimal(a.gaps[i])});
      }
    }
  };
  add("own", r.own);
  add("base", r.by_base);
  add("pair", r.pairs);
  return t;
}

/// Training losses of every run, then what it held out, at step 0.
table loss_table(const runs_by_key& runs) {
  table t{{"arm", "seed", "step", "loss"}, {}};
  for (const auto& [key, r] : runs) {
    const auto seed = std::to_string(r.seed);
    for (std::size_t i = 0; i < r.losses.size(); ++i) {
      t.rows.push_back(
          {r.arm, seed, std::to_string(i + 1), hexadecimal(r.losses[i])});
    }
    for (const auto& [by, loss] : r.held_out) {
      t.rows.push_back({r.arm, seed, "held out by " + by, hexadecimal(loss)});
    }
  }
  return t;
}

/// The interval of these gaps in percent; none of fewer than two.
std::pair<double, double> bar_of(const std::vector<double>& gaps,
                                 double level) {
  if (gaps.size() < 2) return {NAN, NAN};
  const auto e = parity::estimate_of(gaps, level);
  return {100 * e.low, 100 * e.high};
}

/// The relative gap of an arm's smoothed training loss by step: the mean over
/// seeds, with its interval at some steps.
series gap_curve(const plan& p, const runs_by_key& runs,
                 const std::string& arm) {
  std::vector<std::vector<double>> gaps;  // by step, of each seed
  for (const std::uint64_t seed : p.seeds) {
    const auto ours = runs.find({arm, seed});
    const auto base = runs.find({p.base, seed});
    if (ours == runs.end() || base == runs.end()) continue;
    const auto a = parity::smoothed(ours->second.losses);
    const auto b = parity::smoothed(base->second.losses);
    gaps.resize(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      gaps[i].push_back((a[i] - b[i]) / b[i]);
    }
  }
  constexpr std::size_t bars = 12;
  const std::size_t every = std::max<std::size_t>(1, gaps.size() / bars);
  series s{arm, {}, {}};
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    double sum = 0;
    for (const double gap : gaps[i]) sum += gap;
    s.points.emplace_back(static_cast<double>(i + 1),
                          100 * sum / static_cast<double>(gaps[i].size()));
    s.bars.push_back((i + 1) % every == 0
                         ? bar_of(gaps[i], p.level)
                         : std::pair<double, double>{NAN, NAN});
  }
  return s;
}

plot curve_plot(const plan& p, const runs_by_key& runs) {
  plot drawn;
  drawn.title = "Training loss beside " + p.base;
  drawn.x_label = "step";
  drawn.y_label = "gap of the smoothed loss, percent";
  for (const auto& arm : p.arms) {
    auto s = gap_curve(p, runs, arm);
    if (!s.points.empty()) drawn.curves.push_back(std::move(s));
  }
  return drawn;
}

/// The gaps of held-out loss that are judged, with their intervals.
plot held_out_plot(const plan& p, const campaign_report& r) {
  plot drawn;
  drawn.title = "Held-out loss beside " + p.base;
  drawn.x_label = "arm";
  drawn.y_label = "gap, percent";
  drawn.kind = plot_kind::dots;
  drawn.bounds = {0, -100 * p.bound, 100 * p.bound};
  for (const auto& [name, all] :
       {std::pair("by its own numerics", &r.own),
        std::pair("by those of the base", &r.by_base)}) {
    series s{name, {}, {}};
    for (const arm_report& a : *all) {
      const auto at = s.points.size();
      if (drawn.categories.size() == at) drawn.categories.push_back(a.arm);
      s.points.emplace_back(at, a.look ? 100 * a.look->mean : NAN);
      s.bars.emplace_back(a.look ? 100 * a.look->low : NAN,
                          a.look ? 100 * a.look->high : NAN);
    }
    drawn.curves.push_back(std::move(s));
  }
  return drawn;
}

void print_report(const plan& p, const campaign_report& r) {
  print(fmt::format(
      "{} of {} steps beside {}; the bound is +-{} %, intervals are {} % after "
      "{} seeds; all in percent. The base's loss varies by {:.4f} over "
      "seeds.\n",
      p.size, p.steps, p.base, 100 * p.bound, 100 * p.level,
      fmt::join(p.looks, ", then "), 100 * r.seed_sd));
  print("\nHeld-out loss, each arm by its own numerics:\n\n");
  print(verdict_table(r.own));
  print(fmt::format("\nEach arm's weights by the numerics of {}:\n\n", p.base));
  print(verdict_table(r.by_base));
  if (!r.pairs.empty()) {
    print("\nArm beside arm:\n\n");
    print(verdict_table(r.pairs));
  }
  print(fmt::format(
      "\n{}\n", !r.is_sensitive
                    ? "No positive control has run: a gap might not be seen."
                : *r.is_sensitive
                    ? "Sensitive: a positive control is beyond the bound."
                    : "INSENSITIVE: no positive control is beyond the bound."));
}

}  // namespace

int run_report(const report_request& q) {
  if (q.plan.empty()) {
    throw input_error("--report: name the plan of the runs with --plan");
  }
  const plan p = parity::read_plan(q.plan);
  const runs_by_key runs = parity::read_runs(q.runs, p);
  const campaign_report r = parity::report_on(p, runs);
  if (!q.out.empty()) {
    output_set files(q.out);
    files.add("parity.json", to_text(to_json(p, r)));
    files.add("gaps.csv", to_csv(gap_table(r)));
    files.add("losses.csv", to_csv(loss_table(runs)));
    auto figures = accumulator_figures(p, r);
    figures.push_back({"curves.svg", curve_plot(p, runs)});
    figures.push_back({"held_out.svg", held_out_plot(p, r)});
    for (const auto& [file, drawn] : figures) {
      if (const auto svg = render_svg(drawn)) files.add(file, *svg + "\n");
    }
    files.commit();
  }
  print_report(p, r);
  const auto control =
      std::find_if(r.own.begin(), r.own.end(),
                   [&](const arm_report& a) { return a.arm == p.control; });
  return control->said == parity::verdict::within ? 0 : 1;
}

void add_report(cli::app* command, report_request& q) {
  auto* const report =
      command->add_option("--report", q.runs,
                          "The folder of the runs of a --plan: verdicts on the "
                          "gap of their losses");
  const std::set<std::string> common{"--help", "--plan", "--out", "--report"};
  for (auto* option : command->get_options()) {
    if (common.count(option->get_name()) == 0) report->excludes(option);
  }
}

}  // namespace zeroulp::program
