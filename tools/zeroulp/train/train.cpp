// zeroulp train: a model of DeepSeek's kind on the CPU or a GPU, every operator
// by its clause; losses and the digest of the state at each step.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "src/base/sha256.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/train/names.hpp"

namespace zeroulp::program {
namespace {

struct train_options {
  std::string size = "T";
  std::string arm = "full";
  std::string on = "cpu";
  std::string data;
  std::string out;
  std::string digests;
  std::string compare;
  std::int64_t every = 10;
  std::int64_t digest_every = 1;
  std::int64_t steps = 50;
  std::int64_t shards = 1;
  std::int64_t warmup = 10;
  std::int64_t held_out = 1;
  std::uint64_t seed = 1;
  double rate = 0;
  double last = 0.1;
  double clip = 1;
};

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
  return 14 * parameters + 2 * tokens * width * static_cast<double>(s.layers);
}

train::run_settings settings_of(const train_options& o) {
  train::run_settings s{row_named(train::named_shapes, o.size, "size"),
                        row_named(train::named_arms, o.arm, "arm")};
  s.seed = o.seed;
  s.shards = o.shards;
  s.clip = o.clip;
  s.rate = train::usual_rate(s.shape, o.steps);
  if (o.rate > 0) s.rate.rate = o.rate;
  s.rate.warmup = std::min(o.warmup, o.steps);
  s.rate.hold = std::max(o.steps - o.steps / 4, s.rate.warmup);
  s.rate.last = o.last;
  return s;
}

constexpr const char* digest_header = "step,tensor,bytes,sha256";

/// A line a tensor that a step makes: written to a file, or held against one.
class tensor_digests {
 public:
  explicit tensor_digests(const train_options& o)
      : file_(o.digests), compared_(o.compare) {
    if (compared_.empty()) return;
    const auto bytes = read_file(compared_);
    std::istringstream lines{std::string(as_text(bytes))};
    for (std::string line; std::getline(lines, line);) {
      expected_.push_back(line);
    }
    if (expected_.empty() || expected_[0] != digest_header) {
      throw input_error(fmt::format(
          "{}: no digests of tensors, as --digests writes them", compared_));
    }
  }

  train::tracer of(std::int64_t step) {
    if (file_.empty() && compared_.empty()) return {};
    return [this, step](const std::string& name, const void* bytes,
                        std::size_t count) {
      std::string line =
          fmt::format("{},{},{},{}", step, name, count,
                      sha256_hex({static_cast<const char*>(bytes), count}));
      ++count_;
      if (!compared_.empty() && difference_.empty()) {
        if (count_ >= expected_.size()) {
          difference_ =
              fmt::format("{} ends before step {}, {}", compared_, step, name);
        } else if (expected_[count_] != line) {
          difference_ = fmt::format("the first difference: {}, not {}", line,
                                    expected_[count_]);
        }
      }
      if (!file_.empty()) lines_ += line + "\n";
    };
  }

  /// What differs first; empty if nothing does.
  const std::string& difference() const { return difference_; }
  std::size_t count() const { return count_; }
  void write() const {
    if (file_.empty()) return;
    output_set files;
    files.add(file_, fmt::format("{}\n{}", digest_header, lines_));
    files.commit();
  }

 private:
  std::string file_;
  std::string compared_;
  std::vector<std::string> expected_;
  std::string lines_;
  std::size_t count_ = 0;
  std::string difference_;
};

/// A step as a line of the run's table.
std::string line_of(std::int64_t t, const train::step_report& r,
                    const std::string& digest) {
  return fmt::format("{:6} {:10.6f} {:10.4f} {:10.3e}  {}", t, r.loss, r.norm,
                     r.rate, digest);
}

/// The digest of the state where a step has one.
std::string digest_after(const train_options& o, std::int64_t t,
                         const train::any_run& run) {
  const bool wanted = t % o.digest_every == 0 || t == o.steps;
  return wanted ? run.digest() : "";
}

std::unique_ptr<train::any_run> make_run(const train_options& o) {
  const train::run_settings settings = settings_of(o);
  train::check(settings);
  auto data = o.data.empty()
                  ? train::training_data(settings.shape)
                  : train::training_data(o.data, settings.shape, o.seed);
  if (o.on == "gpu") return train::run_on_gpu(settings, std::move(data));
  if (o.on != "cpu") {
    throw input_error(fmt::format("--on {}: use one of cpu, gpu", o.on));
  }
  require_memory(memory_of(settings.shape));
  return std::make_unique<train::training_run>(settings, std::move(data));
}

void run_training(const train_options& o, outcome& out) {
  if (o.steps < 1) throw input_error("--steps: at least one");
  if (o.every < 1) throw input_error("--every: at least one");
  if (o.digest_every < 1) throw input_error("--digest-every: at least one");
  const auto owner = make_run(o);
  train::any_run& run = *owner;
  tensor_digests digests(o);
  const std::filesystem::path file =
      o.out.empty() ? "" : std::filesystem::path(o.out) / "run.zeroulp";
  std::vector<std::string> lines;
  if (!o.out.empty()) {
    std::filesystem::create_directories(o.out);
    lines = train::restore(file, run);
  }
  print(fmt::format("{}\n\n{:>6} {:>10} {:>10} {:>10}  {}\n",
                    train::settings_line(run), "step", "loss", "norm", "rate",
                    "SHA-256 of the state after it"));
  for (const std::string& line : lines) print(line + "\n");
  const progress tell = make_progress();
  while (run.steps() < o.steps) {
    const std::int64_t t = run.steps() + 1;
    const train::step_report r = run.advance(digests.of(t));
    lines.push_back(line_of(t, r, digest_after(o, t, run)));
    print(lines.back() + "\n");
    if (!o.out.empty() && (t % o.every == 0 || t == o.steps)) {
      train::save(file, run, lines);
    }
    tell(static_cast<double>(t), static_cast<double>(o.steps), "");
  }
  if (o.held_out > 0) {
    print(fmt::format("\nheld out: {:.6f}\n", run.held_out_loss(o.held_out)));
  }
  digests.write();
  if (o.compare.empty()) return;
  if (digests.difference().empty()) {
    print(fmt::format("{} tensors, 0 differences\n", digests.count()));
  } else {
    print(digests.difference() + "\n");
    out.status = 1;
  }
}

}  // namespace

void add_train(CLI::App& app, outcome& out) {
  const auto o = std::make_shared<train_options>();
  CLI::App* const command = add_command(
      app, "train",
      "Train a small model of DeepSeek's kind, every operator to the bit",
      "zeroulp train --size T --arm full --steps 5");
  command->add_option("--size", o->size, names_of(train::named_shapes));
  command->add_option("--arm", o->arm, arm_names() + ": see zeroulp tensors");
  command->add_option("--on", o->on, "cpu or gpu: the same bits")
      ->capture_default_str();
  command->add_option(
      "--data", o->data,
      "A file of bytes; without one, a source of known entropy");
  command->add_option("--steps", o->steps, "Steps")->capture_default_str();
  command
      ->add_option("--shards", o->shards,
                   "A power of two: gradients of shards are added as a tree")
      ->capture_default_str();
  command->add_option("--rate", o->rate,
                      "Of learning; 3e-3 at width 256, else 6e-4");
  command->add_option("--warmup", o->warmup, "Steps of a growing rate")
      ->capture_default_str();
  command
      ->add_option("--last", o->last,
                   "Share of the rate at the last step; the last quarter "
                   "of the steps decays")
      ->capture_default_str();
  command->add_option("--clip", o->clip, "Norm of gradients to clip at")
      ->capture_default_str();
  command
      ->add_option("--held-out", o->held_out,
                   "Batches of the loss at the end that no step sees")
      ->capture_default_str();
  command->add_option("--out", o->out,
                      "A folder for the run: it goes on from there");
  command->add_option("--every", o->every, "Steps between checkpoints in --out")
      ->capture_default_str();
  command
      ->add_option("--digest-every", o->digest_every,
                   "Steps between SHA-256s of the state")
      ->capture_default_str();
  command->add_option("--digests", o->digests,
                      "CSV of the SHA-256 of every tensor of every step");
  command->add_option("--compare", o->compare,
                      "Such a CSV: the first tensor that differs is named, "
                      "exit status 1");
  add_seed(command, o->seed, "of the weights and of the order of data");
  add_reference(command);
  command->callback([o, &out] { run_training(*o, out); });
}

}  // namespace zeroulp::program
