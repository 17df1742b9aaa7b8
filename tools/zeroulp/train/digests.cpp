// Digests of a run's tensors: a CSV that is written, or held against a run.

#include "tools/zeroulp/train/digests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "src/base/sha256.hpp"
#include "src/base/whole_number.hpp"
#include "tools/zeroulp/program.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

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

}  // namespace

tensor_digests::tensor_digests(std::string file, std::string compared,
                               std::int64_t done)
    : file_(std::move(file)), compared_(std::move(compared)) {
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

train::tracer tensor_digests::of(std::int64_t step) {
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

void tensor_digests::write() const {
  if (file_.empty()) return;
  output_set files;
  files.add(file_, fmt::format("{}\n{}", digest_header, lines_));
  files.commit();
}

int tensor_digests::report() const {
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

void tensor_digests::compare(const std::string& line) {
  if (count_ >= expected_.size()) {
    difference_ = fmt::format("{}, before which {} ends", line, compared_);
  } else if (expected_[count_] != line) {
    difference_ = fmt::format("{}, not {}", line, expected_[count_]);
  }
}

}  // namespace zeroulp::program
