#include "tools/train/checkpoint.hpp"

#include <fmt/format.h>

#include <cstring>

#include "src/base/sha256.hpp"
#include "tools/train/sealed_file.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

constexpr std::string_view run_kind = "zeroulp training run, version 1";

/// A name, and a digest of the fields that it stands for.
template <class T>
std::string named_fields(const T& value) {
  return fmt::format("{} {:.16}", value.name, sha256_hex(fields_json(value)));
}

}  // namespace

std::string settings_line(const any_run& run) {
  const run_settings& s = run.settings();
  std::string line = fmt::format(
      "size {} arm {} seed {} shards {} rate {} warmup {} hold {} steps {} "
      "last "
      "{} clip {} beta1 {} beta2 {} eps {} decay {} bias {:08x} data {}",
      named_fields(s.shape), named_fields(s.how), s.seed, s.shards, s.rate.rate,
      s.rate.warmup, s.rate.hold, s.rate.steps, s.rate.last, s.clip, s.beta1,
      s.beta2, s.eps, s.weight_decay, s.bias_speed, run.data().name());
  for (const scaled_block& b : s.stress) {
    line += fmt::format(" stress {}:{}+{}x{}+{}:{}", b.parameter, b.row, b.rows,
                        b.col, b.cols, b.exponent);
  }
  return line;
}

std::string state_bytes(const run_state& state) {
  std::string bytes;
  for (const auto& [data, count] : bytes_of(state)) {
    if (count > 0) bytes.append(static_cast<const char*>(data), count);
  }
  return bytes;
}

bool take_state(std::string_view bytes, any_run& run) {
  run_state state = run.host_state();
  const auto parts = bytes_of(state);
  std::size_t total = 0;
  for (const auto& part : parts) total += part.second;
  if (bytes.size() != total) return false;
  for (const auto& [data, count] : parts) {
    if (count == 0) continue;  // a dense layer has no biases
    std::memcpy(const_cast<void*>(data), bytes.data(), count);
    bytes.remove_prefix(count);
  }
  run.set_state(std::move(state));
  return true;
}

void save(const std::filesystem::path& file, const any_run& run,
          const std::vector<std::string>& steps) {
  std::string rest;
  for (const std::string& line : steps) rest += line + "\n";
  rest += "\n" + state_bytes(run.host_state());
  seal(file, {run_kind, settings_line(run)}, rest);
}

std::vector<std::string> restore(const std::filesystem::path& file,
                                 any_run& run) {
  const auto found = unseal(file, {run_kind, settings_line(run)});
  if (!found) return {};
  std::string_view text = *found;
  std::vector<std::string> steps;
  for (auto line = take_line(text, file); !line.empty();
       line = take_line(text, file)) {
    steps.emplace_back(line);
  }
  if (!take_state(text, run)) {
    throw input_error(file.string() + ": its state has another size");
  }
  return steps;
}

}  // namespace zeroulp::train
