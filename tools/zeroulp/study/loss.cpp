#include "tools/zeroulp/study/loss.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "tools/zeroulp/progress.hpp"

namespace zeroulp::program {
namespace {

std::string number(double x) { return fmt::format("{}", x); }
std::string signed_percent(double x) { return fmt::format("{:+.4f}", 100 * x); }

const char* place_of(const loss_series& s) {
  return s.within() ? "within" : s.beyond() ? "beyond" : "undecided";
}

/// Rows of series, their numbers by `show`.
template <class Show>
table table_of(const std::vector<loss_series>& all, bool exponents, Show show) {
  table t{{"arm", "mean", "low90", "high90", "place"}, {}};
  if (exponents) t.columns.insert(t.columns.begin(), "exponent");
  for (const auto& s : all) {
    std::vector<std::string> row{s.arm, show(s.over.mean), show(s.over.low),
                                 show(s.over.high), place_of(s)};
    if (exponents) row.insert(row.begin(), std::to_string(s.exponent));
    t.rows.push_back(row);
  }
  return t;
}

/// Of the run at which each gap was taken.
const loss_checkpoint& checkpoint_of(const loss_result& r, std::int64_t step) {
  return *std::find_if(
      r.checkpoints.begin(), r.checkpoints.end(),
      [step](const loss_checkpoint& c) { return c.step == step; });
}

table gap_table(const loss_result& r) {
  table t{{"arm", "step", "bf16_loss", "ideal_loss", "loss_change",
           "gradient_l2", "gradient_cosine", "rerouted"},
          {}};
  for (const auto& g : r.gaps) {
    const auto& c = checkpoint_of(r, g.step);
    t.rows.push_back({g.arm, std::to_string(g.step), number(c.loss),
                      number(c.ideal), number(g.loss), number(g.gradient_l2),
                      number(g.gradient_cos), number(g.rerouted)});
  }
  return t;
}

table gradient_table(const loss_result& r) {
  table t{{"arm", "step", "parameter", "relative_l2", "cosine"}, {}};
  for (const auto& g : r.gradients) {
    t.rows.push_back({g.arm, std::to_string(g.step), g.parameter, number(g.l2),
                      number(g.cos)});
  }
  return t;
}

/// Means over checkpoints, in percent.
table same_state_table(const loss_result& r) {
  table t{{"arm", "loss", "low90", "high90", "gradient L2", "cosine",
           "rerouted", "losses"},
          {}};
  for (const auto& s : r.same_state) {
    loss_gap mean{};
    for (const auto& g : r.gaps) {
      if (g.arm != s.arm) continue;
      const auto n = static_cast<double>(s.gaps.size());
      mean.gradient_l2 += g.gradient_l2 / n;
      mean.gradient_cos += g.gradient_cos / n;
      mean.rerouted += g.rerouted / n;
    }
    t.rows.push_back(
        {s.arm, signed_percent(s.over.mean), signed_percent(s.over.low),
         signed_percent(s.over.high),
         fmt::format("{:.3f}", 100 * mean.gradient_l2),
         fmt::format("{:.5f}", mean.gradient_cos),
         fmt::format("{:.2f}", 100 * mean.rerouted),
         s.same_as.empty() ? "its own" : "the same bits as " + s.same_as});
  }
  return t;
}

json to_json(const std::vector<loss_series>& all, bool exponents) {
  json list = json::array();
  for (const auto& s : all) {
    json one{{"arm", s.arm}};
    if (exponents) one["exponent"] = s.exponent;
    one["mean"] = s.over.mean;
    one["low90"] = s.over.low;
    one["high90"] = s.over.high;
    one["place"] = place_of(s);
    if (!s.same_as.empty()) one["same_bits_as"] = s.same_as;
    one["by_checkpoint"] = s.gaps;
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
    std::string names;
    for (const auto& s : sizes) names += std::string(" ") + s.name;
    throw input_error("--loss-size '" + q.size + "': use one of" + names);
  }
  loss_options o = found->options;
  if (q.width) o.width = *q.width;
  o.seed = q.seed;
  o.threads = q.threads;
  return o;
}

/// What computes the same bits again.
std::string command_of(const loss_request& q) {
  auto command = fmt::format("zeroulp study --loss --loss-size {}", q.size);
  if (q.width) command += fmt::format(" --loss-width {}", *q.width);
  return command + fmt::format(" --loss-seed {}", q.seed);
}

}  // namespace

json to_json(const std::string& command, const loss_options& o,
             const loss_result& r) {
  json checkpoints = json::array();
  for (const auto& c : r.checkpoints) {
    checkpoints.push_back(
        {{"step", c.step}, {"bf16_loss", c.loss}, {"ideal_loss", c.ideal}});
  }
  json verdicts = json::array();
  for (const auto& v : r.verdicts) {
    verdicts.push_back({{"name", v.name},
                        {"held", v.held},
                        {"can_fail", v.can_fail},
                        {"text", v.text}});
  }
  return {{"zeroulp", ZEROULP_VERSION},
          {"command", command},
          {"options",
           {{"width", o.width},
            {"layers", o.layers},
            {"sequences", o.sequences},
            {"length", o.length},
            {"checkpoints", o.checkpoints},
            {"every", o.every},
            {"batches", o.batches},
            {"fork_steps", o.fork_steps},
            {"stress_steps", o.stress_steps},
            {"stress_exponents", o.stress_exponents},
            {"seed", o.seed}}},
          {"entropy", r.entropy},
          {"bound", loss_bound},
          {"checkpoints", checkpoints},
          {"same_state", to_json(r.same_state, false)},
          {"forks", to_json(r.forks, false)},
          {"stress", to_json(r.stress, true)},
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
  files.add("stress.csv", to_csv(table_of(r.stress, true, number)));
  files.add("loss.json", to_text(to_json(command, o, r)));
}

void add_loss_options(CLI::App& command, loss_request& q) {
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
      .add_option("--loss-width", q.width,
                  "of its model, not the size's: 128, 256, 384 or 512")
      ->needs(loss);
  command.add_option("--loss-seed", q.seed, "of its weights and data")
      ->check(CLI::Range(std::int64_t{0}, INT64_MAX))
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
      {"gap.csv", "gradients.csv", "forks.csv", "stress.csv", "loss.json"});
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
      "A model of width {} beside BF16 at {} checkpoints, to step {}: BF16's "
      "loss is {:.4f} there, {:.4f} is possible; entropy {:.4f} nats.\n\n"
      "At the same state, in percent:\n\n",
      o.width, o.checkpoints, last.step, last.loss, last.ideal, r.entropy));
  print(to_text(same_state_table(r)));
  print(
      fmt::format("\nForks of {} steps, change of the loss in percent, 90 % "
                  "interval, place of it to +-0.25 %:\n\n",
                  o.fork_steps));
  print(to_text(table_of(r.forks, false, signed_percent)));
  print(
      fmt::format("\nThe same over {} steps, with blocks of weights, "
                  "activations and gradients 2^exponent apart:\n\n",
                  o.stress_steps));
  print(to_text(table_of(r.stress, true, signed_percent)));
  print("\n");
  for (const auto& v : r.verdicts) {
    print(fmt::format("{} {}: {}\n", v.held ? "held  " : "FAILED", v.name,
                      v.text));
  }
  print(
      fmt::format("Written: {0}/gap.csv, {0}/gradients.csv, {0}/forks.csv, "
                  "{0}/stress.csv, {0}/loss.json\n",
                  out.string()));
  return status;
}

}  // namespace zeroulp::program
