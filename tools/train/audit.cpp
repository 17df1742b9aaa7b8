// A step on the CPU whose long operators put their results on the disk.

#include "tools/train/audit.hpp"

#include <fmt/format.h>

#include <cstring>

#include "src/base/sha256.hpp"
#include "src/io/file_parts.hpp"
#include "tools/train/run_on.hpp"
#include "tools/train/sealed_file.hpp"
#include "tools/train/wrapped_ops.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

constexpr std::string_view result_kind = "zeroulp operator's result, version 1";

/// The results of the audit that this process makes.
operator_results* current = nullptr;

struct keep_results {
  template <class Compute, class Out>
  static void product(const Compute& compute, const engine_ops::operand&,
                      const Out& out) {
    current->next(compute, out);
  }
  template <class Compute, class... Out>
  static void attention(const Compute& compute, const Out&... outs) {
    current->next(compute, outs...);
  }
};

}  // namespace

void operator_results::add_part(byte_parts& all, const void* data,
                                std::size_t count) {
  constexpr std::size_t most = 1 << 20;
  for (std::size_t at = 0; at < count; at += most) {
    all.push_back(
        {static_cast<const char*>(data) + at, std::min(most, count - at)});
  }
}

fs::path operator_results::file() const {
  return folder_ / fmt::format("operator.{}.zeroulp", calls_);
}

std::string operator_results::header(const byte_parts& outputs) const {
  return fmt::format("{}\n{}\n{}\n", result_kind, of_,
                     sha256_hex(engine_ops::sha256_of(outputs)));
}

bool operator_results::find(const byte_parts& outputs) {
  std::error_code ignored;
  if (!fs::exists(file(), ignored)) return false;
  const auto bytes = read_file(file());
  std::string_view text = as_text(bytes);
  const std::string_view whole = text;
  if (take_line(text, file()) != result_kind ||
      take_line(text, file()) != of_) {
    throw input_error(file().string() +
                      ": it is of another step, or damaged: delete its folder");
  }
  take_line(text, file());
  std::size_t total = 0;
  for (const byte_part& p : outputs) total += p.count;
  bool same = text.size() == total;
  if (same) {
    const std::string_view data = text;
    for (const byte_part& p : outputs) {
      std::memcpy(const_cast<void*>(p.data), text.data(), p.count);
      text.remove_prefix(p.count);
    }
    same = whole.substr(0, whole.size() - data.size()) == header(outputs);
  }
  if (!same) {
    throw input_error(file().string() + ": it is damaged: delete it");
  }
  return true;
}

void operator_results::keep(const byte_parts& outputs) const {
  const std::string first = header(outputs);
  std::vector<std::string_view> parts{first};
  for (const byte_part& p : outputs) {
    parts.emplace_back(static_cast<const char*>(p.data), p.count);
  }
  output_set files(folder_);
  files.add(file().filename(), parts);
  files.commit();
}

std::unique_ptr<any_run> make_audited_run(run_settings settings,
                                          training_data data,
                                          operator_results& results) {
  current = &results;
  return std::make_unique<run_on<wrapped_ops<keep_results>>>(
      std::move(settings), std::move(data));
}

}  // namespace zeroulp::train
