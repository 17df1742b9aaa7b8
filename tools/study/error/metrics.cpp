// The numbers of a result, by name.

#include <fmt/format.h>

#include <utility>

#include "tools/study/error/choices.hpp"
#include "tools/study/error/run.hpp"

namespace zeroulp::study {
namespace {

std::vector<metric> make_metrics() {
  std::vector<metric> all;
  constexpr std::pair<const char*, error_metrics result::*> parts[] = {
      {"total", &result::total},
      {"accumulation", &result::accumulation},
      {"quantization", &result::quantization}};
  constexpr std::pair<const char*, double error_metrics::*> values[] = {
      {"frobenius", &error_metrics::frobenius},
      {"mean_relative", &error_metrics::mean_relative},
      {"max_over_mean", &error_metrics::max_over_mean},
      {"max_over_rms", &error_metrics::max_over_rms},
      {"max_over_max", &error_metrics::max_over_max},
      {"bias", &error_metrics::bias},
      {"one_minus_cosine", &error_metrics::one_minus_cosine}};
  constexpr std::pair<const char*, std::size_t> quantiles[] = {
      {"median", 0}, {"p99", 2}, {"max", 4}};
  for (const auto& [part, member] : parts) {
    for (const auto& [name, value] : values) {
      all.push_back({fmt::format("{}.{}", part, name),
                     [member = member, value = value](const result& r) {
                       return r.*member.*value;
                     }});
    }
    for (const auto& [name, index] : quantiles) {
      all.push_back({fmt::format("{}.{}", part, name),
                     [member = member, index = index](const result& r) {
                       return (r.*member).quantiles[index];
                     }});
    }
  }
  all.push_back({"saturated", [](const result& r) { return r.saturated; }});
  all.push_back({"zeroed", [](const result& r) { return r.zeroed; }});
  all.push_back({"changed", [](const result& r) { return r.changed; }});
  return all;
}

}  // namespace

const std::vector<metric>& metrics() {
  static const std::vector<metric> all = make_metrics();
  return all;
}

const metric& find_metric(std::string_view name) {
  return find_named(metrics(), "metric", name);
}

}  // namespace zeroulp::study
