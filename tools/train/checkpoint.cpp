#include "tools/train/checkpoint.hpp"

#include <fmt/format.h>

#include <cstring>

#include "src/base/sha256.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

constexpr std::string_view magic = "zeroulp training run, version 1";

[[noreturn]] void refuse(const std::filesystem::path& file, const char* why) {
  throw input_error(fmt::format("{}: {}", file.string(), why));
}

/// The first line of `text`, which is taken from it.
std::string_view take_line(std::string_view& text,
                           const std::filesystem::path& file) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) refuse(file, "it ends within a line");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

/// A name, and a digest of the fields that it stands for.
template <class T>
std::string named_fields(const T& value) {
  return fmt::format("{} {:.16}", value.name, sha256_hex(fields_json(value)));
}

}  // namespace

std::string settings_line(const any_run& run) {
  const run_settings& s = run.settings();
  return fmt::format(
      "size {} arm {} seed {} shards {} rate {} warmup {} hold {} steps {} "
      "last "
      "{} clip {} beta1 {} beta2 {} eps {} decay {} bias {:08x} data {}",
      named_fields(s.shape), named_fields(s.how), s.seed, s.shards, s.rate.rate,
      s.rate.warmup, s.rate.hold, s.rate.steps, s.rate.last, s.clip, s.beta1,
      s.beta2, s.eps, s.weight_decay, s.bias_speed, run.data().name());
}

void save(const std::filesystem::path& file, const any_run& run,
          const std::vector<std::string>& steps) {
  std::string rest = settings_line(run) + "\n";
  for (const std::string& line : steps) rest += line + "\n";
  rest += "\n";
  for (const auto& [data, count] : bytes_of(run.host_state())) {
    if (count > 0) rest.append(static_cast<const char*>(data), count);
  }
  output_set files;
  files.add(file, fmt::format("{}\n{}\n", magic, sha256_hex(rest)) + rest);
  files.commit();
}

std::vector<std::string> restore(const std::filesystem::path& file,
                                 any_run& run) {
  if (!std::filesystem::exists(file)) return {};
  const auto bytes = read_file(file);
  std::string_view text = as_text(bytes);
  if (take_line(text, file) != magic) refuse(file, "it is no training run");
  const std::string_view digest = take_line(text, file);
  if (digest != sha256_hex(text)) {
    refuse(file, "it is damaged: its SHA-256 is another");
  }
  if (take_line(text, file) != settings_line(run)) {
    refuse(file, "it is of a run with other settings, or other data");
  }
  std::vector<std::string> steps;
  for (auto line = take_line(text, file); !line.empty();
       line = take_line(text, file)) {
    steps.emplace_back(line);
  }
  run_state state = run.host_state();
  std::size_t total = 0;
  for (const auto& part : bytes_of(state)) total += part.second;
  if (text.size() != total) refuse(file, "its state has another size");
  for (const auto& [data, count] : bytes_of(state)) {
    if (count == 0) continue;  // a dense layer has no biases
    std::memcpy(const_cast<void*>(data), text.data(), count);
    text.remove_prefix(count);
  }
  run.set_state(std::move(state));
  return steps;
}

}  // namespace zeroulp::train
