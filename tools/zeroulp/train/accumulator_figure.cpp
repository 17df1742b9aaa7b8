#include "tools/zeroulp/train/accumulator_figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tools/study/error/run.hpp"
#include "tools/train/arm.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

using parity::arm_report;

/// An accumulator as the study names it, and K between promotions.
using sum_key = std::pair<std::string, int>;
using sum_errors = std::map<sum_key, error_metrics>;

const sum_key hoppers{"hopper", 0};

std::optional<std::string> name_of_accumulator(const accumulator& a) {
  if (a == hopper_fp8_f32) return "hopper";
  const int bits = a.fraction_bits;
  if (bits < 8 || bits > 34 || !(a == what_if_fraction(bits))) return {};
  return fmt::format("f{}", bits);
}

/// How the Linears of an arm sum, if in one way and as the study can. A report
/// may be of runs whose arms are no name of this program's.
std::optional<sum_key> sum_of(const std::string& arm) {
  linear_rule linear{};
  try {
    linear = train::parse_arm(arm).linear;
  } catch (const input_error&) {
    return {};
  }
  const sum_rule f = linear.fprop;
  for (const sum_rule& r : {f, linear.dgrad, linear.wgrad}) {
    if (!(r.acc == f.acc) || r.interval != f.interval || r.splits != 1) {
      return {};
    }
  }
  const auto name = name_of_accumulator(f.acc);
  if (!name) return {};
  return sum_key{*name, f.interval};
}

/// What was seen beside `base`, in the order of the errors.
template <class Error>
series gaps_beside(const std::string& base, const std::vector<arm_report>& all,
                   const sum_errors& errors, Error error) {
  struct point {
    double error, gap, low, high;
  };
  std::vector<point> points;
  for (const arm_report& a : all) {
    const auto of = sum_of(a.arm);
    if (a.base != base || !of || !a.look) continue;
    points.push_back({100 * error(errors.at(*of)), 100 * a.look->mean,
                      100 * a.look->low, 100 * a.look->high});
  }
  std::sort(points.begin(), points.end(),
            [](const point& a, const point& b) { return a.error < b.error; });
  series s{"beside " + base, {}, {}};
  for (const point& x : points) {
    s.points.emplace_back(x.error, x.gap);
    s.bars.emplace_back(x.low, x.high);
  }
  return s;
}

}  // namespace

std::vector<named_plot> accumulator_figures(const parity::plan& p,
                                            const parity::campaign_report& r) {
  std::vector<std::string> bases{p.base};
  sum_errors errors;
  for (const auto* all : {&r.own, &r.pairs}) {
    for (const arm_report& a : *all) {
      if (const auto of = sum_of(a.arm)) errors[*of] = {};
      if (std::find(bases.begin(), bases.end(), a.base) == bases.end()) {
        bases.push_back(a.base);
      }
    }
  }
  if (errors.size() < 2) return {};
  errors[hoppers] = {};
  study::runner runner;
  for (auto& [of, e] : errors) {
    e = study::accumulation_error(runner, of.first, 4096, of.second);
  }

  const auto figure = [&](const char* what, auto error) {
    plot drawn;
    drawn.title = "Held-out loss by the error of the accumulator at K = 4096";
    drawn.x_label = fmt::format("{}, percent", what);
    drawn.y_label = "gap, percent";
    drawn.log_x = true;
    drawn.bounds = {0, -100 * p.bound, 100 * p.bound};
    for (const auto& base : bases) {
      auto s =
          gaps_beside(base, base == p.base ? r.own : r.pairs, errors, error);
      if (!s.points.empty()) drawn.curves.push_back(std::move(s));
    }
    const double at = 100 * error(errors.at(hoppers));
    drawn.curves.push_back(
        {fmt::format("Hopper's 13 bits, unpromoted: {:.2g} %", at),
         {{at, -100 * p.bound}, {at, 100 * p.bound}}});
    return drawn;
  };
  return {{"accumulator_max.svg",
           figure("largest error over the mean",
                  [](const error_metrics& e) { return e.max_over_mean; })},
          {"accumulator_frobenius.svg",
           figure("Frobenius error",
                  [](const error_metrics& e) { return e.frobenius; })}};
}

}  // namespace zeroulp::program
