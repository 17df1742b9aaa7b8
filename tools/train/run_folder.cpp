// The folder of a run: checkpoints that are read and written tensor by tensor.

#include "tools/train/run_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "src/base/sha256.hpp"
#include "src/io/file_parts.hpp"
#include "tools/train/sealed_file.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

constexpr std::string_view run_kind = "zeroulp training run, version 2";
constexpr const char* newest = "run.zeroulp";
constexpr const char* settings_file = "settings.json";
constexpr const char* receipt_file = "receipt.csv";

/// A name, and a digest of the fields that it stands for.
template <class T>
std::string named_fields(const T& value) {
  return fmt::format("{} {:.16}", value.name, sha256_hex(fields_json(value)));
}

template <class T>
std::string named_json(const T& value) {
  return fmt::format(R"({{"name":"{}","fields":{}}})", value.name,
                     fields_json(value));
}

std::string json_of(const scaled_block& b) {
  return fmt::format("[{},{},{},{},{},{}]", b.parameter, b.row, b.rows, b.col,
                     b.cols, b.exponent);
}

/// use(bytes, count) for each tensor, in order, then for the count of steps.
template <class State, class Use>
void for_each_part(State& s, const Use& use) {
  for_each_tensor(s, [&](auto& t) {
    // A dense layer has no biases.
    if (!t.data.empty()) use(t.data.data(), t.data.size() * sizeof(t.data[0]));
  });
  use(&s.steps, sizeof s.steps);
}

std::vector<std::string_view> parts_of(const run_state& s) {
  std::vector<std::string_view> all;
  for_each_part(s, [&](const void* data, std::size_t count) {
    all.emplace_back(static_cast<const char*>(data), count);
  });
  return all;
}

std::size_t size_of(const run_state& s) {
  std::size_t total = 0;
  for (const std::string_view part : parts_of(s)) total += part.size();
  return total;
}

[[noreturn]] void refuse_damaged(const fs::path& file, std::string_view how) {
  throw input_error(fmt::format(
      "{}: it is damaged: {}; delete it to start again", file.string(), how));
}

/// Reads `count` bytes at `at`; false if the file ends before them.
bool read_at(const descriptor& d, const fs::path& file, std::size_t at,
             char* to, std::size_t count) {
  constexpr std::size_t most = std::size_t{1} << 30;
  while (count > 0) {
    const ssize_t n =
        ::pread(d.get(), to, std::min(count, most), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(file, "cannot read", errno, "use another disk");
    if (n == 0) return false;
    to += n;
    at += static_cast<std::size_t>(n);
    count -= static_cast<std::size_t>(n);
  }
  return true;
}

std::size_t size_of(const descriptor& d, const fs::path& file) {
  struct stat s;
  if (::fstat(d.get(), &s) != 0) {
    refuse(file, "cannot read", errno, "name another file");
  }
  return static_cast<std::size_t>(s.st_size);
}

/// What stands before the state, with the empty line at its end.
std::string header_of(const descriptor& d, const fs::path& file,
                      std::size_t size) {
  constexpr std::size_t step = 1 << 16;
  std::string text;
  while (text.size() < size) {
    const std::size_t from = text.size();
    text.resize(std::min(from + step, size));
    if (!read_at(d, file, from, text.data() + from, text.size() - from)) break;
    const auto end = text.find("\n\n", from == 0 ? 0 : from - 1);
    if (end != text.npos) return text.substr(0, end + 2);
  }
  refuse_damaged(file, "its header has no end");
}

}  // namespace

std::string settings_line(const any_run& run) {
  const run_settings& s = run.settings();
  std::string first;
  if (s.first) {
    first = fmt::format("first {} for {} ", named_fields(s.first->how),
                        s.first->steps);
  }
  return fmt::format(
      "size {} arm {} {}seed {} shards {} rate {} warmup {} hold {} steps {} "
      "last {} clip {} data {}",
      named_fields(s.shape), named_fields(s.how), first, s.seed, s.shards,
      s.rate.rate, s.rate.warmup, s.rate.hold, s.rate.steps, s.rate.last,
      s.clip, run.data().name());
}

std::string settings_json(const any_run& run, const std::string& plan) {
  return settings_json(run.settings(), run.data().name(), plan);
}

std::string settings_json(const run_settings& s, const std::string& data,
                          const std::string& plan) {
  std::string first;
  if (s.first) {
    first = fmt::format(R"("first":{{"arm":{},"steps":{}}},)",
                        named_json(s.first->how), s.first->steps);
  }
  std::string stress;
  for (const scaled_block& b : s.stress) {
    stress += (stress.empty() ? "" : ",") + json_of(b);
  }
  return fmt::format(
      R"({{"size":{},"arm":{},{}"seed":{},"shards":{},"rate":{},"warmup":{},)"
      R"("hold":{},"steps":{},"last":{},"clip":{},"beta1":{},"beta2":{},)"
      R"("eps":{},"weight_decay":{},"bias_speed":{},"stress":[{}],)"
      R"("data":"{}","plan":"{}"}})",
      named_json(s.shape), named_json(s.how), first, s.seed, s.shards,
      s.rate.rate, s.rate.warmup, s.rate.hold, s.rate.steps, s.rate.last,
      s.clip, s.beta1, s.beta2, s.eps, s.weight_decay, s.bias_speed, stress,
      data, plan);
}

fs::path run_folder::of_step(std::int64_t step) const {
  return folder_ / fmt::format("step.{}.zeroulp", step);
}

void run_folder::save_receipt(const receipt& rows) const {
  output_set files(folder_);
  files.add(settings_file, settings_ + "\n");
  files.add(receipt_file, std::string(receipt::header) + "\n" + rows.lines());
  files.commit();
}

void run_folder::save(const any_run& run, const receipt& rows,
                      bool stays) const {
  const std::string header = settings_ + "\n" + rows.lines() + "\n";
  const std::string first =
      fmt::format("{}\n{}\n", run_kind, sha256_hex(header));
  std::vector<std::string_view> parts = parts_of(run.host_state());
  parts.insert(parts.begin(), {first, header});
  output_set files(folder_);
  files.add(settings_file, settings_ + "\n");
  files.add(receipt_file, std::string(receipt::header) + "\n" + rows.lines());
  files.add(newest, parts);
  files.commit();
  if (!stays) return;
  // A second name of the same file, where the file system has such.
  const fs::path kept = of_step(run.steps());
  std::error_code failed;
  fs::remove(kept, failed);
  fs::create_hard_link(folder_ / newest, kept, failed);
  if (!failed) return;
  output_set copy(folder_);
  copy.add(kept.filename(), parts);
  copy.commit();
}

receipt run_folder::load(const fs::path& file, any_run& run) const {
  const descriptor d = open_to_read(file);
  const std::size_t size = size_of(d, file);
  const std::string header = header_of(d, file, size);
  std::string_view text = header;
  if (take_line(text, file) != run_kind) {
    throw input_error(
        fmt::format("{}: it is damaged, or no {}", file.string(), run_kind));
  }
  const std::string_view digest = take_line(text, file);
  if (digest != sha256_hex(text)) {
    refuse_damaged(file, "the SHA-256 of its header is another");
  }
  if (take_line(text, file) != settings_) {
    throw input_error(file.string() +
                      ": it is of a run with other settings, data or version");
  }
  receipt rows(settings_);
  for (auto line = take_line(text, file); !line.empty();
       line = take_line(text, file)) {
    rows.read(line, file);
  }
  run_state state = run.empty_state();
  if (rows.rows().empty() || size != header.size() + size_of(state)) {
    refuse_damaged(file, "its state has another size");
  }
  std::size_t at = header.size();
  for_each_part(state, [&](void* data, std::size_t count) {
    if (!read_at(d, file, at, static_cast<char*>(data), count)) {
      refuse_damaged(file, "its state has another size");
    }
    at += count;
  });
  if (digest_of(state) != rows.rows().back().state) {
    refuse_damaged(file, "the SHA-256 of its state is another");
  }
  run.set_state(std::move(state));
  return rows;
}

receipt run_folder::go_on(any_run& run) const {
  std::error_code ignored;
  const fs::path file = folder_ / newest;
  if (!fs::exists(file, ignored)) return receipt(settings_);
  return load(file, run);
}

bool run_folder::has(std::int64_t step) const {
  std::error_code ignored;
  return fs::exists(of_step(step), ignored);
}

void run_folder::remove(std::int64_t step) const {
  std::error_code ignored;
  fs::remove(of_step(step), ignored);
}

receipt run_folder::load(std::int64_t step, any_run& run) const {
  if (!has(step)) {
    throw input_error(fmt::format(
        "{}: there is no checkpoint of step {}: run again with --keep {}",
        folder_.string(), step, step));
  }
  return load(of_step(step), run);
}

void run_folder::check_settings() const {
  const fs::path file = folder_ / settings_file;
  if (as_text(read_file(file)) != settings_ + "\n") {
    throw input_error(file.string() + ": it is damaged, or of another version");
  }
}

receipt run_folder::read_receipt() const {
  const fs::path file = folder_ / receipt_file;
  const auto bytes = read_file(file);
  std::string_view text = as_text(bytes);
  if (take_line(text, file) != receipt::header) {
    throw input_error(file.string() + ": it is damaged, or no receipt");
  }
  receipt rows(settings_);
  while (!text.empty()) rows.read(take_line(text, file), file);
  return rows;
}

}  // namespace zeroulp::train
