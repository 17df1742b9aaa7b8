// The audit of a run: one step from its checkpoint, on the CPU.

#include "tools/zeroulp/train/audit.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "tools/train/audit.hpp"
#include "tools/train/run_folder.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/train/digests.hpp"
#include "tools/zeroulp/train/settings_json.hpp"

namespace zeroulp::program {
namespace {

namespace fs = std::filesystem;

/// The data that a run's settings name.
train::training_data data_of(const described_run& d, const fs::path& settings,
                             const std::string& file) {
  const auto refuse = [&](const std::string& why) {
    throw input_error(fmt::format("{}: the data are '{}': {}",
                                  settings.string(), d.data, why));
  };
  const bool of_file = d.data.starts_with("sha256:");
  if (of_file && file.empty()) refuse("name the file with --data");
  if (!of_file && !file.empty()) refuse("leave out --data");
  auto data =
      of_file ? train::training_data(file, d.settings.shape, d.settings.seed)
              : train::training_data(d.settings.shape);
  if (data.name() != d.data) {
    refuse(fmt::format("{} is '{}'", of_file ? file : "a source", data.name()));
  }
  return data;
}

/// The step that nobody chose: the last digest modulo the number of steps.
std::int64_t drawn_step(const train::receipt& rows) {
  const std::string& last = rows.rows().back().state;
  std::uint64_t digits = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    const char c = last.at(i);
    digits = digits * 16 +
             static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return static_cast<std::int64_t>(digits % rows.rows().size());
}

/// The row that an audit of step `n` computes again. Throws input_error.
const train::receipt_row& audited_row(const train::receipt& rows,
                                      std::int64_t n) {
  const train::receipt_row* const row = rows.find(n + 1);
  if (row == nullptr) {
    throw input_error(fmt::format("--step {}: the run has steps 0 to {}", n,
                                  rows.rows().size() - 1));
  }
  if (row->state.empty()) {
    throw input_error(fmt::format(
        "--step {}: the receipt has no digest of step {}: run again with "
        "--keep {}",
        n, n + 1, n));
  }
  return *row;
}

/// Sets `run` to the state after step n. Throws input_error unless it is of the
/// run that the receipt is of.
void start_at(std::int64_t n, const train::run_folder& folder,
              const train::receipt& rows, train::any_run& run) {
  if (n == 0) return;
  const train::receipt kept = folder.load(n, run);
  if (kept.rows().back().chain != rows.find(n)->chain) {
    throw input_error(
        "--audit: the checkpoint is not of the run in receipt.csv");
  }
}

bool same_bits(const train::step_report& a, const train::step_report& b) {
  return bit_cast<std::uint64_t>(a.loss) == bit_cast<std::uint64_t>(b.loss) &&
         bit_cast<std::uint64_t>(a.norm) == bit_cast<std::uint64_t>(b.norm) &&
         bit_cast<std::uint64_t>(a.rate) == bit_cast<std::uint64_t>(b.rate);
}

/// Tells how far the step is: the tensors that it has made.
train::tracer tell_tensors(train::tracer inner) {
  return [inner = std::move(inner), tell = make_progress(), made = 0.0](
             const std::string& name, const void* bytes,
             std::size_t count) mutable {
    made += 1;
    tell(made, 0, name);
    if (inner) inner(name, bytes, count);
  };
}

}  // namespace

int run_audit(const audit_request& q) {
  const fs::path path = q.run;
  const fs::path settings = path / "settings.json";
  const described_run d = read_described_run(settings);
  train::operator_results results;
  const auto run = train::make_audited_run(
      d.settings, data_of(d, settings, q.data), results);
  const train::run_folder folder(path, train::settings_json(*run, d.plan));
  folder.check_settings();
  const train::receipt rows = folder.read_receipt();
  const std::int64_t n = q.step ? *q.step : drawn_step(rows);
  const train::receipt_row& expected = audited_row(rows, n);
  start_at(n, folder, rows, *run);
  const fs::path kept = path / fmt::format("audit.{}", n);
  if (!q.in_one_go) results = {kept, expected.chain};
  tensor_digests digests(q.digests, q.compare, n);
  const train::step_report r = run->advance(tell_tensors(digests.of(n + 1)));
  const std::string state = run->digest();
  print(fmt::format(
      "{}\n{} step {}: loss {:.6f}, norm {:.4f}, {} of {} products and "
      "attentions from the disk\n",
      train::settings_line(*run),
      q.step ? "audited" : "drawn by the last digest:", n + 1, r.loss, r.norm,
      results.found(), results.calls()));
  digests.write();
  const bool same = same_bits(r, expected.report) && state == expected.state;
  print(fmt::format("{}: computed {}, receipt {}\n",
                    same ? "equal" : "DIFFERENT", state, expected.state));
  const int compared = digests.report();
  std::error_code ignored;
  if (same && !q.in_one_go) fs::remove_all(kept, ignored);
  return same ? compared : 1;
}

void add_audit(cli::app* command, audit_request& q) {
  auto* const audit = command->add_option(
      "--audit", q.run,
      "The folder of a run: its step behind --step again, on the CPU, against "
      "its receipt; ended, it goes on");
  const std::set<std::string> common{"--help", "--data", "--digests",
                                     "--compare", "--audit"};
  for (auto* option : command->get_options()) {
    if (common.count(option->get_name()) == 0) audit->excludes(option);
  }
  command
      ->add_option("--step", q.step,
                   "A step that --keep kept, or 0; without it the one that the "
                   "last digest draws")
      ->needs(audit);
  command
      ->add_flag("--in-one-go", q.in_one_go,
                 "With --audit: keeps nothing on the disk to go on from")
      ->needs(audit);
}

}  // namespace zeroulp::program
