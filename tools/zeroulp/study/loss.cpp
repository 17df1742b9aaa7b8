#include "tools/zeroulp/study/loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/study/dose.hpp"

namespace zeroulp::program {
namespace {

std::string number(double x) { return fmt::format("{}", x); }
std::string signed_percent(double x) { return fmt::format("{:+.4f}", 100 * x); }

const char* place_of(const loss_series& s) {
  return s.within() ? "within" : s.beyond() ? "beyond" : "undecided";
}

/// Rows of series, their numbers by `show`.
template <class Show>
table table_of(const std::vector<loss_series>& all, bool outliers, Show show) {
  table t{{"arm", "mean", "low90", "high90", "place"}, {}};
  if (outliers) t.columns.insert(t.columns.begin(), {"outlier", "exponent"});
  for (const auto& s : all) {
    std::vector<std::string> row{s.arm, show(s.over.mean), show(s.over.low),
                                 show(s.over.high), place_of(s)};
    if (s.outlier) {
      row.insert(row.begin(), {name_of(s.outlier->kind),
                               std::to_string(s.outlier->exponent)});
    }
    t.rows.push_back(row);
  }
  return t;
}

/// Of the run at which each gap was taken.
const loss_checkpoint& checkpoint_of(const loss_result& r, const loss_gap& g) {
  return *std::find_if(r.checkpoints.begin(), r.checkpoints.end(),
                       [&g](const loss_checkpoint& c) {
                         return c.seed == g.seed && c.step == g.step;
                       });
}

table gap_table(const loss_result& r) {
  table t{{"arm", "seed", "step", "bf16_loss", "ideal_loss", "loss_change",
           "gradient_l2", "gradient_cosine", "gradient_slope", "rerouted"},
          {}};
  for (const auto& g : r.gaps) {
    const auto& c = checkpoint_of(r, g);
    t.rows.push_back({g.arm, std::to_string(g.seed), std::to_string(g.step),
                      number(c.loss), number(c.ideal), number(g.loss),
                      number(g.gradient_l2), number(g.gradient_cos),
                      number(g.gradient_slope), number(g.rerouted)});
  }
  return t;
}

table gradient_table(const loss_result& r) {
  table t{
      {"arm", "seed", "step", "parameter", "relative_l2", "cosine", "slope"},
      {}};
  for (const auto& g : r.gradients) {
    t.rows.push_back({g.arm, std::to_string(g.seed), std::to_string(g.step),
                      g.parameter, number(g.l2), number(g.cos),
                      number(g.slope)});
  }
  return t;
}

/// Means over runs and checkpoints, in percent.
table same_state_table(const loss_result& r) {
  table t{{"arm", "loss", "low90", "high90", "gradient L2", "cosine", "slope",
           "rerouted", "losses"},
          {}};
  const auto n = static_cast<double>(r.checkpoints.size());
  for (const auto& s : r.same_state) {
    loss_gap mean{};
    for (const auto& g : r.gaps) {
      if (g.arm != s.arm) continue;
      mean.gradient_l2 += g.gradient_l2 / n;
      mean.gradient_cos += g.gradient_cos / n;
      mean.gradient_slope += g.gradient_slope / n;
      mean.rerouted += g.rerouted / n;
    }
    t.rows.push_back(
        {s.arm, signed_percent(s.over.mean), signed_percent(s.over.low),
         signed_percent(s.over.high),
         fmt::format("{:.3f}", 100 * mean.gradient_l2),
         fmt::format("{:.5f}", mean.gradient_cos),
         fmt::format("{:.5f}", mean.gradient_slope),
         fmt::format("{:.2f}", 100 * mean.rerouted),
         s.same_as.empty() ? "its own" : "the same bits as " + s.same_as});
  }
  return t;
}

json to_json(const std::vector<loss_series>& all) {
  json list = json::array();
  for (const auto& s : all) {
    json one{{"arm", s.arm}};
    if (s.outlier) {
      one["outlier"] = name_of(s.outlier->kind);
      one["exponent"] = s.outlier->exponent;
    }
    one["mean"] = s.over.mean;
    one["low90"] = s.over.low;
    one["high90"] = s.over.high;
    one["place"] = place_of(s);
    if (!s.same_as.empty()) one["same_bits_as"] = s.same_as;
    one["by_seed"] = s.gaps;
    list.push_back(one);
  }
  return list;
}

loss_options options_of(const loss_request& q) {
  const auto& sizes = loss_sizes();
  const auto found =
      std::find_if(sizes.begin(), sizes.end(),
                   [&](const loss_size& s) { return s.name == q.size; });
  if (found == sizes.end()) {
    throw input_error(fmt::format("--loss-size '{}': {}", q.size,
                                  use_one_of(q.size, names_in(sizes))));
  }
  loss_options o = found->options;
  if (!q.model.empty()) o.model = q.model;
  if (!q.compared.empty()) o.compared = q.compared;
  o.seed = q.seed;
  if (q.rate > 0) o.rate = q.rate;
  o.threads = q.threads;
  o.data = q.data;
  o.on = q.on;
  return o;
}

/// What computes the same bits again.
std::string command_of(const loss_request& q) {
  auto command = fmt::format("zeroulp study --loss --loss-size {}", q.size);
  if (!q.model.empty()) command += fmt::format(" --loss-model {}", q.model);
  for (const auto& arm : q.compared) {
    command += fmt::format(" --loss-arm {}", arm);
  }
  if (q.rate > 0) command += fmt::format(" --loss-rate {}", q.rate);
  if (!q.data.empty()) command += fmt::format(" --loss-data {}", q.data);
  return command + fmt::format(" --loss-seed {}", q.seed);
}

}  // namespace

json to_json(const std::string& command, const loss_options& o,
             const loss_result& r) {
  json checkpoints = json::array();
  for (const auto& c : r.checkpoints) {
    checkpoints.push_back({{"seed", c.seed},
                           {"step", c.step},
                           {"bf16_loss", c.loss},
                           {"ideal_loss", c.ideal}});
  }
  json verdicts = json::array();
  for (const auto& v : r.verdicts) {
    verdicts.push_back({{"name", v.name}, {"held", v.held}, {"text", v.text}});
  }
  json outliers = json::array();
  for (const auto& x : o.outliers) {
    outliers.push_back(fmt::format("{} 2^{}", name_of(x.kind), x.exponent));
  }
  json doses = json::array();
  for (const auto& d : r.doses) {
    doses.push_back({{"fraction_bits", d.fraction_bits},
                     {"k", d.k},
                     {"interval", d.interval},
                     {"frobenius", d.frobenius},
                     {"max_over_mean", d.max_over_mean}});
  }
  return {{"zeroulp", ZEROULP_VERSION},
          {"command", command},
          {"options",
           {{"model", o.model},
            {"state", o.state},
            {"seeds", o.seeds},
            {"checkpoints", o.checkpoints},
            {"every", o.every},
            {"batches", o.batches},
            {"fork_steps", o.fork_steps},
            {"outlier_steps", o.outlier_steps},
            {"rate", o.rate},
            {"warmup", o.warmup},
            {"outliers", outliers},
            {"compared", o.compared},
            {"under_outliers", o.under_outliers},
            {"data", o.data.empty() ? "source" : o.data},
            {"seed", o.seed}}},
          {"entropy", r.entropy},
          {"bound", loss_bound},
          {"checkpoints", checkpoints},
          {"same_state", to_json(r.same_state)},
          {"forks", to_json(r.forks)},
          {"outliers", to_json(r.outliers)},
          {"doses", doses},
          {"verdicts", verdicts}};
}

bool all_held(const loss_result& r) {
  return std::all_of(r.verdicts.begin(), r.verdicts.end(),
                     [](const loss_verdict& v) { return v.held; });
}

void add_loss_files(const std::string& command, const loss_options& o,
                    const loss_result& r, output_set& files) {
  files.add("gap.csv", to_csv(gap_table(r)));
  files.add("gradients.csv", to_csv(gradient_table(r)));
  files.add("forks.csv", to_csv(table_of(r.forks, false, number)));
  files.add("outliers.csv", to_csv(table_of(r.outliers, true, number)));
  files.add("loss.json", to_text(to_json(command, o, r)));
  for (const auto& f : dose_figures(r)) {
    if (const auto svg = render_svg(f.drawn)) files.add(f.file, *svg + "\n");
  }
}

void add_loss_options(cli::app& command, loss_request& q) {
  auto* loss = command.add_flag(
      "--loss", q.wanted,
      "the loss study instead: a small model trained beside BF16");
  const std::set<std::string> common{"--help", "--out", "--json",
                                     "--reference"};
  for (auto* option : command.get_options()) {
    if (option != loss && common.count(option->get_name()) == 0) {
      loss->excludes(option);
    }
  }
  std::string sizes;
  for (const auto& s : loss_sizes()) {
    sizes +=
        fmt::format("{}{} ({})", sizes.empty() ? "" : ", ", s.name, s.what);
  }
  command.add_option("--loss-size", q.size, sizes)
      ->capture_default_str()
      ->needs(loss);
  command
      .add_option(
          "--loss-model", q.model,
          "a size of `zeroulp train`, not the size's: tiny, T, tiny+layers:4")
      ->needs(loss);
  command
      .add_option("--loss-arm", q.compared,
                  "what is compared, not the size's: ARM, or ARM/ARM beside "
                  "another one than bf16; full, tensor, ..., changed by "
                  "+fraction_bits:N, +interval:N, ... (FIELD:VALUE of --arm)")
      ->needs(loss);
  command
      .add_option("--loss-seed", q.seed, "of the first run: weights and data")
      ->check(cli::range(std::int64_t{0}, INT64_MAX))
      ->capture_default_str()
      ->needs(loss);
  command.add_option("--loss-rate", q.rate, "of learning, not the size's")
      ->check(cli::range(1e-9, 1.0))
      ->needs(loss);
  command
      .add_option("--loss-data", q.data,
                  "a file of bytes; without one, a source of known entropy")
      ->needs(loss);
  command.add_option("--loss-on", q.on, "cpu or gpu: the same bits")
      ->capture_default_str()
      ->needs(loss);
  command
      .add_option("--loss-threads", q.threads,
                  "that it uses, 0 for all; the bits do not depend on it")
      ->capture_default_str()
      ->needs(loss);
}

int run_loss(const loss_request& q, const std::filesystem::path& out) {
  loss_options o = options_of(q);
  o.folder = out / "state";
  o.progress = [show = make_progress()](double done, double total) {
    show(done, total, "");
  };
  output_set files(out);  // before the work, which takes minutes
  files.expect(
      {"gap.csv", "gradients.csv", "forks.csv", "outliers.csv", "loss.json"});
  for (const char* figure : dose_files) {
    if (!o.doses.empty()) files.expect({figure});
  }
  const loss_result r = run_loss_study(o);
  const auto command = command_of(q);
  add_loss_files(command, o, r, files);
  files.commit();
  const int status = all_held(r) ? 0 : 1;
  if (q.as_json) {
    print_json(to_json(command, o, r));
    return status;
  }
  const auto& last = r.checkpoints.back();
  print(fmt::format(
      "The model {} beside BF16, {} runs of {} checkpoints, to step {}: the "
      "last loss of BF16 is {:.4f}{}.\n\n"
      "At the same state, in percent:\n\n",
      o.model, o.seeds, o.checkpoints, last.step, last.loss,
      r.entropy == 0 ? ""
                     : fmt::format(", {:.4f} is possible; entropy {:.4f} nats",
                                   last.ideal, r.entropy)));
  print(same_state_table(r));
  if (!r.forks.empty()) {
    print(
        fmt::format("\nForks of {} steps, change of the loss in percent, 90 % "
                    "interval, place of it to +-0.25 %:\n\n",
                    o.fork_steps));
    print(table_of(r.forks, false, signed_percent));
  }
  if (!r.outliers.empty()) {
    print(
        fmt::format("\nThe same over {} steps, with one channel or unit "
                    "2^exponent larger:\n\n",
                    o.outlier_steps));
    print(table_of(r.outliers, true, signed_percent));
  }
  if (!r.doses.empty()) {
    print("\nThe error of accumulators on N(0, 1), in percent:\n\n");
    print(dose_table(r));
  }
  print("\n");
  for (const auto& v : r.verdicts) {
    print(fmt::format("{} {}: {}\n", v.held ? "held  " : "FAILED", v.name,
                      v.text));
  }
  print(
      fmt::format("Written: {0}/gap.csv, {0}/gradients.csv, {0}/forks.csv, "
                  "{0}/outliers.csv, {0}/loss.json\n",
                  out.string()));
  return status;
}

}  // namespace zeroulp::program
