// zeroulp train: a model of DeepSeek's kind on the CPU or a GPU, every operator
// by its clause; losses and the digest of the state at each step.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "src/base/sha256.hpp"
#include "src/base/whole_number.hpp"
#include "tools/train/checkpoint.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/train/settings_json.hpp"

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
  train::run_settings s{find_size(o.size), find_arm(o.arm)};
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

/// The lines of a CSV that --digests wrote, without its header.
std::vector<std::string> digests_in(const std::string& file) {
  const auto bytes = read_file(file);
  std::istringstream text{std::string(as_text(bytes))};
  std::string line;
  if (!std::getline(text, line) || line != digest_header) {
    throw input_error(fmt::format(
        "{}: no digests of tensors, as --digests writes them", file));
  }
  std::vector<std::string> lines;
  while (std::getline(text, line)) lines.push_back(line);
  return lines;
}

/// Whether a line is of one of the first `steps` steps.
bool is_of_first(const std::string& line, std::int64_t steps) {
  const auto step = whole_number<std::int64_t>(
      std::string_view(line).substr(0, line.find(',')));
  return step && *step <= steps;
}

/// A line a tensor that a step makes: written to a file, or held against one.
/// A run that goes on keeps the lines of the steps that were done, and compares
/// those that follow.
class tensor_digests {
 public:
  tensor_digests(const train_options& o, std::int64_t done)
      : file_(o.digests), compared_(o.compare) {
    const auto is_done = [done](const std::string& line) {
      return is_of_first(line, done);
    };
    if (!compared_.empty()) {
      expected_ = digests_in(compared_);
      std::erase_if(expected_, is_done);
    }
    if (!file_.empty() && done > 0 && std::filesystem::exists(file_)) {
      for (const std::string& line : digests_in(file_)) {
        if (is_done(line)) lines_ += line + "\n";
      }
    }
  }

  train::tracer of(std::int64_t step) {
    if (file_.empty() && compared_.empty()) return {};
    return [this, step](const std::string& name, const void* bytes,
                        std::size_t count) {
      const std::string line =
          fmt::format("{},{},{},{}", step, name, count,
                      sha256_hex({static_cast<const char*>(bytes), count}));
      if (!compared_.empty() && difference_.empty()) compare(line);
      if (!file_.empty()) lines_ += line + "\n";
      ++count_;
    };
  }

  void write() const {
    if (file_.empty()) return;
    output_set files;
    files.add(file_, fmt::format("{}\n{}", digest_header, lines_));
    files.commit();
  }

  /// Says what was compared; returns the exit status.
  int report() const {
    if (compared_.empty()) return 0;
    if (!difference_.empty()) {
      print(fmt::format("the first difference: {}\n", difference_));
    } else if (count_ < expected_.size()) {
      print(fmt::format("the first difference: the run ends before {} of {}\n",
                        expected_[count_], compared_));
    } else if (count_ == 0) {
      print("VACUOUS: no step was left to run: 0 tensors were compared\n");
    } else {
      print(fmt::format("{} tensors, 0 differences\n", count_));
      return 0;
    }
    return 1;
  }

 private:
  void compare(const std::string& line) {
    if (count_ >= expected_.size()) {
      difference_ = fmt::format("{}, before which {} ends", line, compared_);
    } else if (expected_[count_] != line) {
      difference_ = fmt::format("{}, not {}", line, expected_[count_]);
    }
  }

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
  const std::filesystem::path file =
      o.out.empty() ? "" : std::filesystem::path(o.out) / "run.zeroulp";
  std::vector<std::string> lines;
  if (!o.out.empty()) {
    std::filesystem::create_directories(o.out);
    lines = train::restore(file, run);
  }
  tensor_digests digests(o, run.steps());
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
      // First, so that a run that goes on has the tensors of all its steps.
      digests.write();
      train::save(file, run, lines);
    }
    tell(static_cast<double>(t), static_cast<double>(o.steps), "");
  }
  if (o.held_out > 0) {
    print(fmt::format("\nheld out: {:.6f}\n", run.held_out_loss(o.held_out)));
  }
  digests.write();
  out.status = digests.report();
}

}  // namespace

void add_train(CLI::App& app, outcome& out) {
  const auto o = std::make_shared<train_options>();
  CLI::App* const command = add_command(
      app, "train",
      "Train a small model of DeepSeek's kind, every operator to the bit",
      "zeroulp train --size T --arm full --steps 5");
  command->add_option("--size", o->size, size_help())->capture_default_str();
  command->add_option("--arm", o->arm, arm_help())->capture_default_str();
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
