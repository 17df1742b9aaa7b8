// Runs the rows of attention and says how fast they were.

#include "tools/zeroulp/bench/gpu/attention/attention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/bench/gpu/attention/sets.hpp"

namespace zeroulp::program {
namespace {

/// Heads of DeepSeek-V2-Lite.
constexpr attention_shape lite_attention{1024, 16, 192, 128,
                                         attention_scale(192)};
constexpr std::ptrdiff_t usual_sequences = 64;
/// TFLOP/s of kernels that keep their scores on the chip.
constexpr double attention_must = 200;

constexpr int usual_rounds = 10, most_launches = 20;
constexpr double usual_seconds = 0.08;  ///< of the launches of a round

struct attention_result {
  std::vector<double> seconds;  ///< of a launch, a value a round
  double clock_mhz = 0;
  double power_w = 0;
};

attention_result measure_attention(gpu_lab& lab, const attention_row& row,
                                   bool quick) {
  const attention_sets sets(lab, row);
  sets.launch(0);
  sets.hold(0, 0);
  sets.hold(row.sequences - 1, row.is.heads - 1);

  std::size_t turn = 0;
  const gpu_lab::job job = [&] { sets.launch(turn++ % sets.count()); };
  const double once = lab.times({&job, &job}, 2)[1];
  const int launches = std::clamp(
      quick ? 2 : static_cast<int>(usual_seconds / once), 2, most_launches);
  attention_result result;
  lab.sensors->clear();
  for (int i = 0; i < (quick ? 2 : usual_rounds); ++i) {
    // The first keeps the queue full.
    result.seconds.push_back(lab.times({&job, &job}, launches)[1]);
  }
  result.clock_mhz = lab.sensors->clock_mhz();
  result.power_w = lab.sensors->power_w();
  for (std::size_t set = 0; set < sets.count(); ++set) sets.launch(set);
  sets.hold(0, 0);
  sets.hold_equal();
  return result;
}

std::string size_of_row(const attention_row& row) {
  return fmt::format("{}x{}, {} heads of {}/{}", row.sequences, row.is.length,
                     row.is.heads, row.is.depth, row.is.value_depth);
}

void report_attention(const attention_row& row, const attention_result& r,
                      bool quick, json& list, table& t) {
  std::vector<double> rates;
  for (const double s : r.seconds) rates.push_back(1e-12 * row.work() / s);
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  const double rate = median(rates);
  const double microseconds = 1e6 * median(r.seconds);
  json j{{"name", row.name},     {"size", size_of_row(row)},
         {"value", rate},        {"unit", "TFLOP/s"},
         {"min", *least},        {"max", *most},
         {"runs", rates.size()}, {"microseconds", microseconds}};
  if (r.clock_mhz > 0) j["clock_mhz"] = r.clock_mhz;
  if (r.power_w > 0) j["power_w"] = r.power_w;
  std::vector<std::string> cells{
      row.name,
      size_of_row(row),
      fmt::format("{:.0f}", rate),
      fmt::format("{:.0f}", *least),
      fmt::format("{:.0f}", *most),
      fmt::format("{:.1f}", microseconds),
      r.clock_mhz > 0 ? fmt::format("{:.0f}", r.clock_mhz) : "",
      r.power_w > 0 ? fmt::format("{:.0f}", r.power_w) : ""};
  if (!quick && row.must > 0) {
    j["must"] = row.must;
    cells.push_back(fmt::format("{:g}", row.must));
    cells.push_back(fmt::format("{:.2f}", rate / row.must));
  }
  list.push_back(std::move(j));
  t.rows.push_back(std::move(cells));
}

}  // namespace

double attention_row::work() const {
  const auto n = [](std::ptrdiff_t x) { return static_cast<double>(x); };
  const double pairs = n(sequences * is.heads) * n(is.length * is.length) / 2;
  const std::ptrdiff_t with_keys = backward ? 3 : 1;    // S; S, dQ, dK
  const std::ptrdiff_t with_values = backward ? 2 : 1;  // O; dP, dV
  return 2 * pairs * n(with_keys * is.depth + with_values * is.value_depth);
}

std::vector<attention_row> attention_rows() {
  const auto row = [](const char* name, bool backward, bool composed) {
    return attention_row{
        name,           backward,        composed,
        lite_attention, usual_sequences, composed ? 0 : attention_must};
  };
  return {row("attention.forward", false, false),
          row("attention.forward.composed", false, true),
          row("attention.backward", true, false),
          row("attention.backward.composed", true, true)};
}

table run_attention(std::vector<attention_row> rows, bool quick, json& list,
                    std::vector<std::string>& failures, const progress& show) {
  table t{{"name", "sequences", "TFLOP/s", "min", "max", "us", "MHz", "W",
           "must", "of must"},
          {}};
  gpu_lab lab;
  double done = 0;
  const auto total = static_cast<double>(rows.size());
  for (auto& row : rows) {
    if (quick) row.sequences = 2, row.is.length = 256, row.is.heads = 2;
    show(done++, total, row.name);
    try {
      report_attention(row, measure_attention(lab, row, quick), quick, list, t);
    } catch (const std::exception& e) {
      list.push_back({{"name", row.name},
                      {"size", size_of_row(row)},
                      {"failed", e.what()}});
      t.rows.push_back({row.name, size_of_row(row), "FAILED"});
      failures.push_back(
          fmt::format("{}, {}: {}", row.name, size_of_row(row), e.what()));
    }
  }
  show(total, total, "");
  return t;
}

}  // namespace zeroulp::program
