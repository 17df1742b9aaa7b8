#include "tools/zeroulp/study/throughput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/whole_number.hpp"
#include "tools/zeroulp/bench/interval.hpp"
#include "tools/zeroulp/json_input.hpp"

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

std::string remedy() {
  return fmt::format("make it by zeroulp bench gpu {} --json", interval_bench);
}

[[noreturn]] void refuse(const std::string& file, std::string_view what) {
  throw input_error(fmt::format("{}: {}: {}", file, what, remedy()));
}

/// A field of a row that is to be a text.
std::string text_of(const json& row, const char* field) {
  const json text = row.value(field, json());
  if (text.is_string()) return text.get<std::string>();
  throw input_error(
      fmt::format("its {} is {}, not a text", field, text.dump()));
}

/// That of a row of the bench; nothing where it is of something else, or
/// nothing was measured. Throws input_error.
std::optional<study::rate> rate_of(const json& row) {
  if (!row.is_object()) throw input_error("it is no object");
  if (row.value("name", json()) != interval_bench || !row.contains("value")) {
    return {};
  }
  const auto interval = promotion_of(text_of(row, "who"));
  if (interval.empty()) return {};
  if (interval != "none" && whole_number<int>(interval).value_or(0) <= 0) {
    throw input_error(
        fmt::format("its who is '{}', no interval", text_of(row, "who")));
  }
  if (text_of(row, "unit") != "TFLOP/s") {
    throw input_error(
        fmt::format("its unit is '{}', not TFLOP/s", text_of(row, "unit")));
  }
  const json& value = row["value"];
  if (!value.is_number() || !(value.get<double>() > 0)) {
    throw input_error(
        fmt::format("its value is {}, not a number above 0", value.dump()));
  }
  return study::rate{interval, text_of(row, "size"), value.get<double>()};
}

}  // namespace

std::vector<study::rate> read_throughput(const std::string& file) {
  const auto list = read_json(file, remedy());
  if (!list.is_array()) refuse(file, "no list of rows");
  std::vector<study::rate> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      if (const auto r = rate_of(list[i])) all.push_back(*r);
    } catch (const input_error& e) {
      refuse(file, fmt::format("row {}: {}", i + 1, e.what()));
    }
  }
  if (all.empty()) refuse(file, fmt::format("no row of {}", interval_bench));
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
  p.x_label = "promotion interval, elements of K";
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
