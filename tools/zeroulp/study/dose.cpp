#include "tools/zeroulp/study/dose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "tools/study/loss/gap.hpp"

namespace zeroulp::program {
namespace {

/// K of the doses that are for a measure.
constexpr std::ptrdiff_t hopper_k = 4096;

/// What a plot shows of an arm, in percent: of several seeds an interval, too.
struct seen_of_arm {
  double mean;
  std::optional<loss_interval> over;
};

/// The magnitudes of an interval that may have 0 in it.
loss_interval magnitudes(const loss_interval& x) {
  const double low = std::min(std::abs(x.low), std::abs(x.high));
  const double high = std::max(std::abs(x.low), std::abs(x.high));
  return {std::abs(x.mean), x.low < 0 && x.high > 0 ? 0 : low, high};
}

/// A curve of `y` by the error of each dose at the model's K, and where
/// Hopper's accumulator is at K = 4096.
template <class X, class Y>
plot dose_plot(const loss_result& r, const char* error, X x, Y y,
               const char* y_label, bool with_bound) {
  plot p;
  p.title = "What an accumulator's error does";
  p.x_label = error;
  p.y_label = y_label;
  p.log_x = p.log_y = true;
  const auto at = [&](const std::string& tail, const char* name) {
    series s{name, {}};
    for (const auto& d : r.doses) {
      if (d.k == hopper_k || d.interval != 0) continue;
      const std::optional<seen_of_arm> seen =
          y(dose_arm(d.fraction_bits) + tail);
      if (!seen) continue;
      s.points.emplace_back(100 * x(d), seen->mean);
      s.bars.emplace_back(seen->over ? seen->over->low : NAN,
                          seen->over ? seen->over->high : NAN);
    }
    p.curves.push_back(s);
  };
  at("", "beside BF16");
  at(fmt::format("/{}", exact_arm), "beside exact accumulation");
  double least = 1e300, most = 0;
  for (const auto& s : p.curves) {
    for (const auto& [at_x, value] : s.points) {
      if (value <= 0) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  double low = 1e300, high = 0;
  for (const auto& d : r.doses) {
    low = std::min(low, 100 * x(d));
    high = std::max(high, 100 * x(d));
    if (d.k != hopper_k) continue;
    p.curves.push_back({d.interval == 0 ? "Hopper, K = 4096, unpromoted"
                                        : "Hopper, K = 4096, promoted",
                        {{100 * x(d), least}, {100 * x(d), most}}});
  }
  if (with_bound) {
    p.curves.push_back(
        {"0.25 %", {{low, 100 * loss_bound}, {high, 100 * loss_bound}}});
  }
  return p;
}

/// The mean error of an arm's gradients: of each run over its checkpoints, then
/// over the runs.
std::optional<seen_of_arm> gradient_of(const loss_result& r,
                                       const std::string& arm) {
  std::map<std::uint64_t, std::vector<double>> by_seed;
  for (const auto& g : r.gaps) {
    if (g.arm == arm) by_seed[g.seed].push_back(100 * g.gradient_l2);
  }
  if (by_seed.empty()) return {};
  std::vector<double> means;
  for (const auto& [seed, errors] : by_seed) {
    means.push_back(std::accumulate(errors.begin(), errors.end(), 0.0) /
                    static_cast<double>(errors.size()));
  }
  if (means.size() < 2) return seen_of_arm{means[0], {}};
  const auto over = loss::confidence(means);
  return seen_of_arm{over.mean, loss_interval{over.mean, over.low, over.high}};
}

}  // namespace

table dose_table(const loss_result& r) {
  table t{{"fraction bits", "K", "interval", "Frobenius", "max over mean"}, {}};
  for (const auto& d : r.doses) {
    t.rows.push_back({std::to_string(d.fraction_bits), std::to_string(d.k),
                      d.interval == 0 ? "none" : std::to_string(d.interval),
                      fmt::format("{:.4f}", 100 * d.frobenius),
                      fmt::format("{:.3f}", 100 * d.max_over_mean)});
  }
  return t;
}

std::vector<named_plot> dose_figures(const loss_result& r) {
  if (r.doses.empty()) return {};
  const auto loss = [&r](const std::string& arm) -> std::optional<seen_of_arm> {
    for (const auto& s : r.forks) {
      if (s.arm != arm) continue;
      const auto m = magnitudes(s.over);
      return seen_of_arm{
          100 * m.mean, loss_interval{100 * m.mean, 100 * m.low, 100 * m.high}};
    }
    return {};
  };
  const auto gradient = [&r](const std::string& arm) {
    return gradient_of(r, arm);
  };
  const auto frobenius = [](const loss_dose& d) { return d.frobenius; };
  const auto largest = [](const loss_dose& d) { return d.max_over_mean; };
  constexpr const char* by_norm = "the accumulator's Frobenius error, percent";
  constexpr const char* by_max =
      "the accumulator's largest error over the mean, percent";
  constexpr const char* of_loss = "change of the loss, percent";
  constexpr const char* of_gradient = "error of the gradients, percent";
  return {
      {dose_files[0], dose_plot(r, by_norm, frobenius, loss, of_loss, true)},
      {dose_files[1], dose_plot(r, by_max, largest, loss, of_loss, true)},
      {dose_files[2],
       dose_plot(r, by_norm, frobenius, gradient, of_gradient, false)},
      {dose_files[3],
       dose_plot(r, by_max, largest, gradient, of_gradient, false)}};
}

}  // namespace zeroulp::program
