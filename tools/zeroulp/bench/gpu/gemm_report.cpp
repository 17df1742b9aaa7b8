// Runs rows of GEMMs and says how fast everyone was.

#include "tools/zeroulp/bench/gpu/gemm_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroulp::program {
namespace {

constexpr gemm_effort usual_effort{10, 20, 0.08, 64};
constexpr gemm_effort small_effort{2, 4, 0.004, 4};

std::string size_of(const gemm_size& s) {
  const auto all = fmt::format("{}x{}x{}", s.m, s.n, s.k);
  return s.count == 1 ? all : fmt::format("{} in {}", all, s.count);
}

/// Of a value a round.
struct spread {
  double median, least, most;

  explicit spread(const std::vector<double>& v)
      : median(program::median(v)),
        least(*std::min_element(v.begin(), v.end())),
        most(*std::max_element(v.begin(), v.end())) {}
};

/// TFLOP/s.
spread rate_of(const gemm_row& row, const gemm_result::entry& e) {
  std::vector<double> all;
  for (const double s : e.seconds) all.push_back(1e-12 * row.size.work() / s);
  return spread(all);
}

spread ratio_of(const gemm_result::entry& first, const gemm_result::entry& e) {
  std::vector<double> all;
  for (std::size_t i = 0; i < e.seconds.size(); ++i) {
    all.push_back(e.seconds[i] / first.seconds[i]);
  }
  return spread(all);
}

/// The one that the goals are against; null: there is none.
const gemm_result::entry* fastest_rival(const gemm_result& r) {
  const gemm_result::entry* fastest = nullptr;
  for (const auto& e : r.entries) {
    if (!e.is_rival) continue;
    if (fastest == nullptr || median(e.seconds) < median(fastest->seconds)) {
      fastest = &e;
    }
  }
  return fastest;
}

void report(const gemm_row& row, const gemm_result& r, bool quick, json& list,
            table& t) {
  const auto& first = r.entries[0];
  const auto* rival = fastest_rival(r);
  for (const auto& e : r.entries) {
    const auto rate = rate_of(row, e);
    const auto ratio = ratio_of(first, e);
    const double microseconds = 1e6 * median(e.seconds);
    json j{{"name", row.name},
           {"size", size_of(row.size)},
           {"who", e.name},
           {"value", rate.median},
           {"unit", "TFLOP/s"},
           {"min", rate.least},
           {"max", rate.most},
           {"runs", e.seconds.size()},
           {"microseconds", microseconds}};
    std::vector<std::string> cells{row.name, size_of(row.size), e.name,
                                   fmt::format("{:.0f}", rate.median),
                                   fmt::format("{:.1f}", microseconds)};
    if (!e.detail.empty()) j["algorithm"] = e.detail;
    if (&e == &first) {
      if (r.clock_mhz > 0) j["clock_mhz"] = r.clock_mhz;
      if (r.power_w > 0) j["power_w"] = r.power_w;
      cells.insert(cells.end(), {"", "", "", fmt::format("{:.0f}", r.clock_mhz),
                                 fmt::format("{:.0f}", r.power_w)});
    } else {
      j["ratio"] = ratio.median;
      j["ratio_min"] = ratio.least;
      j["ratio_max"] = ratio.most;
      cells.insert(cells.end(), {fmt::format("{:.3f}", ratio.median),
                                 fmt::format("{:.3f}", ratio.least),
                                 fmt::format("{:.3f}", ratio.most), "", ""});
    }
    if (&e == rival && row.must > 0 && !quick) {
      j["must"] = row.must;
      j["aim"] = row.aim;
      cells.push_back(fmt::format("{:.3g}/{:.3g}", row.must, row.aim));
      cells.push_back(fmt::format("{:.2f}", ratio.median / row.must));
    } else {
      cells.insert(cells.end(), {"", ""});
    }
    // That it does not split K is a part of what is compared.
    if (row.element == bf16) cells.push_back(e.detail);
    list.push_back(std::move(j));
    t.rows.push_back(std::move(cells));
  }
  for (const auto& who : r.absent) {
    list.push_back(
        {{"name", row.name}, {"size", size_of(row.size)}, {"absent", who}});
    t.rows.push_back({row.name, size_of(row.size), who});
  }
}

}  // namespace

table run_gemms(const std::vector<gemm_row>& rows, bool quick, json& list,
                std::vector<std::string>& failures, const progress& show) {
  table t{{"name", "size", "who", "TFLOP/s", "us", "x", "min", "max", "MHz",
           "W", "must/aim", "of must", "algorithm"},
          {}};
  gemm_bench bench;
  double done = 0;
  const auto total = static_cast<double>(rows.size());
  for (const auto& row : rows) {
    show(done++, total, row.name);
    try {
      const auto r = bench.measure(row, quick ? small_effort : usual_effort);
      report(row, r, quick, list, t);
    } catch (const std::exception& e) {
      list.push_back({{"name", row.name},
                      {"size", size_of(row.size)},
                      {"failed", e.what()}});
      t.rows.push_back({row.name, size_of(row.size), "FAILED"});
      failures.push_back(
          fmt::format("{}, {}: {}", row.name, size_of(row.size), e.what()));
    }
  }
  show(total, total, "");
  return t;
}

}  // namespace zeroulp::program
