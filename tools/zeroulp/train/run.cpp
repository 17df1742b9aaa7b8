// A run of `zeroulp train`: steps, receipts, checkpoints, held-out losses.

#include "tools/zeroulp/train/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "src/base/sha256.hpp"
#include "tools/study/parity/runs.hpp"
#include "tools/train/gpu/trace.hpp"
#include "tools/train/run_folder.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/train/digests.hpp"
#include "tools/zeroulp/train/settings_json.hpp"

namespace zeroulp::program {
namespace {

/// Bytes that a run takes, at least: parameters with moments and gradients, and
/// what a pass keeps of its tokens.
double memory_of(const train::model_shape& s) {
  double parameters = 0;
  const train::parameter_list list(s);
  for (const auto& p : list.all()) {
    parameters += static_cast<double>(p.rows) * static_cast<double>(p.cols);
  }
  const auto tokens = static_cast<double>(s.tokens());
  const auto width =
      static_cast<double>(s.first_rows() + s.heads * 1024 + 8 * s.width +
                          (s.top + s.shared) * 4 * s.hidden);
  return 14 * parameters +
         2 * tokens * width * static_cast<double>(s.all_layers());
}

train::run_settings settings_of(const train_options& o) {
  train::run_settings s{find_size(o.size), find_arm(o.arm)};
  s.seed = o.seed;
  s.shards = o.shards;
  s.clip = o.clip;
  s.rate = train::usual_rate(s.shape, o.steps);
  if (o.rate > 0) s.rate.rate = o.rate;
  s.rate.warmup = std::min(o.warmup, o.steps);
  s.rate.hold = o.hold.value_or(std::max(o.steps - o.steps / 4, s.rate.warmup));
  s.rate.last = o.last;
  if (!o.first_arm.empty()) s.first = {find_arm(o.first_arm), o.first_steps};
  return s;
}

/// A step as a line of the run's table.
std::string line_of(const train::receipt_row& r) {
  return fmt::format("{:6} {:10.6f} {:10.4f} {:10.3e}  {}\n", r.step,
                     r.report.loss, r.report.norm, r.report.rate, r.state);
}

bool is_kept(const train_options& o, std::int64_t t) {
  return std::find(o.keep.begin(), o.keep.end(), t) != o.keep.end();
}
bool is_checkpoint(const train_options& o, std::int64_t t) {
  const bool is_due = o.every > 0 && (t % o.every == 0 || t == o.steps);
  return !o.out.empty() && (is_due || is_kept(o, t));
}
/// An audit of the step behind a checkpoint needs the digest of its state.
bool has_digest(const train_options& o, std::int64_t t) {
  return t % o.digest_every == 0 || t == o.steps || t == o.first_steps ||
         is_checkpoint(o, t) || is_kept(o, t - 1);
}

/// One step, as the next row. Throws input_error if the loss is no number.
void take_step(const train_options& o, train::any_run& run,
               const train::tracer& trace, train::receipt& rows) {
  const std::int64_t t = run.steps() + 1;
  const train::step_report r = run.advance(trace);
  if (!std::isfinite(r.loss) || !std::isfinite(r.norm)) {
    throw input_error(fmt::format(
        "train: step {}: the loss is {} and the gradient's norm {}: the run "
        "ends here",
        t, r.loss, r.norm));
  }
  rows.add(r, has_digest(o, t) ? run.digest() : "");
}

std::unique_ptr<train::any_run> make_run(const train_options& o) {
  const train::run_settings settings = settings_of(o);
  train::check(settings);
  auto data = o.data.empty()
                  ? train::training_data(settings.shape)
                  : train::training_data(o.data, settings.shape, o.seed);
  if (o.on == "cpu") require_memory(memory_of(settings.shape));
  return train::make_run(o.on, settings, std::move(data));
}

/// The SHA-256 of the plan, if there is one.
std::string digest_of_plan(const train_options& o) {
  return o.plan.empty() ? "" : sha256_hex(as_text(read_file(o.plan)));
}

void check(const train_options& o) {
  if (o.steps < 1) throw input_error("--steps: at least one");
  if (o.every < 0) throw input_error("--every: 0 or more");
  if (o.digest_every < 1) throw input_error("--digest-every: at least one");
  if (!o.trace.empty() && o.on != "gpu") {
    throw input_error("--trace: what one GPU runs: add --on gpu");
  }
  if (o.out.empty() && !o.keep.empty()) {
    throw input_error("--keep: name the folder with --out");
  }
  if (o.first_arm.empty() != (o.first_steps == 0)) {
    throw input_error("--first-arm: say both it and --first-steps");
  }
  if (!o.from.empty() && o.first_arm.empty()) {
    throw input_error("--from: name the arm of its steps with --first-arm");
  }
  for (const std::string& text : o.held_out_by) (void)find_arm(text);
  for (const std::int64_t t : o.keep) {
    if (t < 1 || t > o.steps) {
      throw input_error(
          fmt::format("--keep {}: use a step, 1 to {}", t, o.steps));
    }
  }
}

/// Sets `run` to the state after its first steps, which the run in o.from has
/// made. Returns its receipt so far.
train::receipt begin_from(const train_options& o, train::any_run& run) {
  const std::string plan = digest_of_plan(o);
  const auto theirs = train::settings_json(
      train::settings_of_first(run.settings()), run.data().name(), plan);
  train::receipt rows(train::settings_json(run, plan));
  const auto made = train::run_folder(o.from, theirs).load(o.first_steps, run);
  for (const auto& row : made.rows()) rows.add(row.report, row.state);
  return rows;
}

/// The held-out loss by the run's arm, then by others; in a file, too.
void print_held_out(const train_options& o, const train::any_run& run,
                    const train::receipt& rows) {
  std::string file = fmt::format("{}\n", parity::held_out_header);
  std::string chain = rows.rows().back().chain;
  const auto add = [&](const std::string& arm, double loss) {
    const auto row = parity::held_out_row(run.steps(), o.held_out, arm, loss);
    chain = sha256_hex(chain + row);
    file += fmt::format("{},{}\n", row, chain);
  };
  const double own = run.held_out_loss(o.held_out);
  print(fmt::format("\nheld out: {:.6f}\n", own));
  add(run.settings().how.name, own);
  for (const std::string& text : o.held_out_by) {
    const arm other = find_arm(text);
    const double loss = run.under(other)->held_out_loss(o.held_out);
    print(fmt::format("held out by {}: {:.6f}\n", other.name, loss));
    add(other.name, loss);
  }
  if (o.out.empty()) return;
  output_set files(o.out);
  files.add("held_out.csv", file);
  files.commit();
}

void print_trace(const train_options& o, const train::gpu_trace& t) {
  print("\n" + train::trace_table(t));
  output_set files;
  files.add(o.trace, train::trace_json(t));
  files.commit();
}

}  // namespace

int run_training(const train_options& o) {
  check(o);
  const auto recorder =
      o.trace.empty() ? nullptr : train::make_trace_recorder();
  const auto owner = make_run(o);
  train::any_run& run = *owner;
  const train::run_folder folder(o.out,
                                 train::settings_json(run, digest_of_plan(o)));
  if (!o.out.empty()) std::filesystem::create_directories(o.out);
  train::receipt rows = folder.go_on(run);
  if (rows.rows().empty() && !o.from.empty()) rows = begin_from(o, run);
  tensor_digests digests(o.digests, o.compare, run.steps());
  print(fmt::format("{}\n\n{:>6} {:>10} {:>10} {:>10}  {}\n",
                    train::settings_line(run), "step", "loss", "norm", "rate",
                    "SHA-256 of the state after it"));
  for (const train::receipt_row& r : rows.rows()) print(line_of(r));
  const progress tell = make_progress();
  if (recorder) recorder->mark();
  while (run.steps() < o.steps) {
    const std::int64_t t = run.steps() + 1;
    take_step(o, run, digests.of(t), rows);
    if (recorder) recorder->mark();
    print(line_of(rows.rows().back()));
    if (is_checkpoint(o, t)) {
      // First, so that a run that goes on has the tensors of all its steps.
      digests.write();
      folder.save(run, rows, is_kept(o, t));
    }
    tell(static_cast<double>(t), static_cast<double>(o.steps), "");
  }
  if (!o.out.empty() && o.every == 0) folder.save_receipt(rows);
  if (recorder) print_trace(o, recorder->trace());
  if (o.held_out > 0) print_held_out(o, run, rows);
  digests.write();
  return digests.report();
}

}  // namespace zeroulp::program
