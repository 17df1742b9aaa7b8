#include "tools/train/gpu/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

std::string json_text(const std::string& s) {
  std::string out;
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// A kernel's name without its arguments.
std::string short_name(std::string_view name) {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(unnamed)) {
      i += unnamed.size() - 1;
    } else if (name[i] == '(' && depth == 0) {
      return std::string(name.substr(0, i));
    }
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
  }
  return std::string(name);
}

}  // namespace

std::string trace_table(const gpu_trace& t) {
  struct row {
    std::size_t calls = 0;
    double ms = 0;
  };
  std::map<std::string, row> rows;
  double busy = 0;
  std::uint64_t until = 0;
  const auto ms = [](std::uint64_t from, std::uint64_t to) {
    return to > from ? static_cast<double>(to - from) / 1e6 : 0;
  };
  for (const gpu_activity& a : t.activities) {
    row& r = rows[short_name(a.name)];
    ++r.calls;
    r.ms += ms(a.begin, a.end);
    busy += ms(std::max(a.begin, until), a.end);
    until = std::max(until, a.end);
  }
  std::vector<std::pair<std::string, row>> sorted(rows.begin(), rows.end());
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  if (t.marks.size() < 2 || busy == 0) return "the GPU ran nothing\n";
  const auto steps = static_cast<double>(t.marks.size() - 1);
  std::string out = fmt::format("{:>10} {:>8} {:>7}  {}\n", "ms a step",
                                "calls", "share", "on the GPU");
  for (const auto& [name, r] : sorted) {
    out += fmt::format("{:10.3f} {:8.1f} {:6.1f}%  {}\n", r.ms / steps,
                       static_cast<double>(r.calls) / steps, 100 * r.ms / busy,
                       name);
  }
  const double all = ms(t.marks.front(), t.marks.back());
  return out + fmt::format(
                   "a step takes {:.3f} ms: {:.3f} times what the GPU "
                   "ran\n",
                   all / steps, all / busy);
}

std::string trace_json(const gpu_trace& t) {
  std::string out = "{\"traceEvents\": [\n";
  const std::uint64_t first = t.marks.empty() ? 0 : t.marks.front();
  const auto us = [](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to - from) / 1e3;
  };
  const auto event = [&](const std::string& name, int row, std::uint64_t begin,
                         std::uint64_t end) {
    out += fmt::format(
        "{{\"name\": \"{}\", \"ph\": \"X\", \"pid\": 0, \"tid\": {}, \"ts\": "
        "{:.3f}, \"dur\": {:.3f}}},\n",
        json_text(name), row, us(first, begin), us(begin, end));
  };
  for (std::size_t i = 0; i + 1 < t.marks.size(); ++i) {
    event(fmt::format("step {}", i + 1), 0, t.marks[i], t.marks[i + 1]);
  }
  for (const gpu_activity& a : t.activities) event(a.name, 1, a.begin, a.end);
  return out +
         "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": "
         "{\"name\": \"zeroulp train\"}}\n]}\n";
}

#ifndef ZEROULP_TRAIN_HAS_CUDA
std::unique_ptr<trace_recorder> make_trace_recorder() {
  throw input_error("--trace: this program was built without CUDA");
}
#endif

}  // namespace zeroulp::train
