// checkpoint: the tensors of quantized models on disk: what they are, whether
// they fit each other, and conversions of them to the bit.

#include "tools/zeroulp/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <chrono>

#include "src/base/threads.hpp"
#include "tools/checkpoint/weights/verify.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/progress.hpp"

namespace zeroulp::program {

void add_threads(cli::app* command, checkpoint_request& q) {
  command->add_option("--threads", q.threads, "threads [all cores]")
      ->check(cli::range(1, 4096));
}

void add_common(cli::app* command, checkpoint_request& q,
                const std::string& name) {
  command
      ->add_option(name, q.path,
                   "a folder, .safetensors, .safetensors.index.json, .npy or "
                   ".npz")
      ->required();
  command->add_flag("--allow-unscaled", q.allow_unscaled,
                    "FP8 weights without a scale are plain casts");
  add_threads(command, q);
  command->add_flag("--json", q.as_json);
}

std::unique_ptr<opened> open_for(const std::string& path, bool allow_unscaled,
                                 bool whole) {
  auto o = std::make_unique<opened>();
  o->files = checkpoint::open_checkpoint(path);
  o->pairs = checkpoint::pair_scales(o->files, allow_unscaled);
  if (!whole) return o;
  auto faults = o->pairs.faults;
  if (faults.empty()) faults = checkpoint::check_scales(o->files, o->pairs);
  if (faults.empty()) return o;
  const bool unscaled = faults.front().check == "scale";
  throw input_error(
      faults.front().text() +
      (faults.size() > 1 ? fmt::format(" (and {} more: zeroulp checkpoint "
                                       "verify lists them)",
                                       faults.size() - 1)
                         : "") +
      (unscaled ? "; --allow-unscaled takes FP8 without scales" : ""));
}

std::string one_line(std::string_view text) { return input_error(text).what(); }

std::string bytes_text(double bytes) {
  const char* unit = "B";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = next;
  }
  return fmt::format("{:.4g} {}", bytes, unit);
}

checkpoint::work_options work_options_of(const checkpoint_request& q) {
  using clock = std::chrono::steady_clock;
  checkpoint::work_options w;
  w.threads = q.threads > 0 ? q.threads : threads_for();
  w.tell = [show = make_progress(), start = clock::now()](
               double done, double total) mutable {
    const double s =
        std::chrono::duration<double>(clock::now() - start).count();
    show(done, total, fmt::format("{:.2f} GB/s", s > 0 ? done / s / 1e9 : 0));
  };
  return w;
}

const checkpoint::quantized* weight_of(const opened& o,
                                       const checkpoint::tensor& t) {
  const auto place = static_cast<std::size_t>(&t - o.files.tensors.data());
  const auto at = o.pairs.weight_at[place];
  return at < 0 ? nullptr : &o.pairs.weights[static_cast<std::size_t>(at)];
}

json shape_json(const checkpoint::shape_t& shape) {
  json j = json::array();
  for (const auto dim : shape) j.push_back(dim);
  return j;
}

void add_checkpoint(cli::app& app, outcome& out) {
  auto* sub = add_command(
      app, "checkpoint",
      "Read, verify and convert quantized checkpoints (safetensors)",
      "zeroulp checkpoint verify DeepSeek-V3");
  sub->require_subcommand(1);
  add_checkpoint_list(*sub, out);
  add_checkpoint_verify(*sub, out);
  add_checkpoint_hash(*sub, out);
  add_checkpoint_dequantize(*sub, out);
  add_checkpoint_requantize(*sub, out);
  add_checkpoint_rescale(*sub, out);
  add_checkpoint_diff(*sub, out);
  add_checkpoint_identify(*sub, out);
}

}  // namespace zeroulp::program
