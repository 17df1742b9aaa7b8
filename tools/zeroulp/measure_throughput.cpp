#include "measure_throughput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench_interval.hpp"

namespace zeroulp::program {
namespace {

/// The values of one column, each once, in order.
std::vector<std::string> values_of(const std::vector<study::rate>& rates,
                                   std::string study::rate::*column) {
  std::vector<std::string> all;
  for (const auto& r : rates) {
    if (std::find(all.begin(), all.end(), r.*column) == all.end()) {
      all.push_back(r.*column);
    }
  }
  return all;
}

double find(const std::vector<study::rate>& rates, const std::string& interval,
            const std::string& size) {
  for (const auto& r : rates) {
    if (r.interval == interval && r.size == size) return r.tflops;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// Those of a row of the bench; nothing where it is another's.
std::optional<study::rate> rate_of(const json& row) {
  if (!row.is_object() || !row.contains("who") || !row.contains("value") ||
      row.value("name", std::string()) != interval_bench ||
      row.value("unit", std::string()) != "TFLOP/s") {
    return {};
  }
  const auto interval = promotion_of(row["who"].get<std::string>());
  const double tflops = row["value"].get<double>();
  if (interval.empty() || !(tflops > 0)) return {};
  return study::rate{interval, row.value("size", std::string()), tflops};
}

}  // namespace

std::vector<study::rate> read_throughput(const std::string& file) {
  const auto bytes = read_file(file);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  std::vector<study::rate> all;
  const auto list = json::parse(text, nullptr, false);
  if (list.is_array()) {
    try {
      for (const auto& row : list) {
        if (const auto r = rate_of(row)) all.push_back(*r);
      }
    } catch (const json::exception&) {
      all.clear();
    }
  }
  if (all.empty()) {
    throw input_error(
        fmt::format("{}: no throughput: make it by zeroulp bench gpu {} --json",
                    file, interval_bench));
  }
  return all;
}

table throughput_table(const std::vector<study::rate>& rates) {
  const auto sizes = values_of(rates, &study::rate::size);
  table t{{"interval"}, {}};
  t.columns.insert(t.columns.end(), sizes.begin(), sizes.end());
  for (const auto& interval : values_of(rates, &study::rate::interval)) {
    std::vector<std::string> line{interval};
    for (const auto& size : sizes) {
      const double x = find(rates, interval, size);
      line.push_back(std::isnan(x) ? "-" : fmt::format("{:.4g}", x));
    }
    t.rows.push_back(std::move(line));
  }
  return t;
}

plot throughput_plot(const std::vector<study::rate>& rates) {
  plot p;
  p.title = "Throughput against the promotion interval";
  p.x_label = "interval";
  p.y_label = "TFLOP/s";
  p.kind = plot_kind::bars;
  p.categories = values_of(rates, &study::rate::interval);
  for (const auto& size : values_of(rates, &study::rate::size)) {
    series s{size, {}};
    for (const auto& interval : p.categories) {
      s.points.emplace_back(0, find(rates, interval, size));
    }
    p.curves.push_back(std::move(s));
  }
  return p;
}

json to_json(const std::vector<study::rate>& rates) {
  json all = json::array();
  for (const auto& r : rates) {
    all.push_back(
        {{"interval", r.interval}, {"size", r.size}, {"tflops", r.tflops}});
  }
  return all;
}

}  // namespace zeroulp::program
