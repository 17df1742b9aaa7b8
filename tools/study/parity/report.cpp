// What a campaign's runs say, by the rule of its plan.

#include "tools/study/parity/report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace zeroulp::parity {
namespace {

using all_runs = std::map<std::pair<std::string, std::uint64_t>, run>;
/// The loss of a run that is compared.
using end_point = std::function<double(const run&)>;

arm_report report_arm(const plan& p, const all_runs& runs,
                      const std::string& arm, const std::string& base,
                      const end_point& loss) {
  arm_report r{arm, base, {}, {}, {}, verdict::undecided, 0};
  for (const std::uint64_t seed : p.seeds) {
    const auto ours = runs.find({arm, seed});
    const auto theirs = runs.find({base, seed});
    // Seeds count in the order of the plan: nobody leaves one out.
    if (ours == runs.end() || theirs == runs.end()) break;
    const double reference = loss(theirs->second);
    r.seeds.push_back(seed);
    r.gaps.push_back((loss(ours->second) - reference) / reference);
  }
  for (const int look : p.looks) {
    if (r.gaps.size() < static_cast<std::size_t>(look)) break;
    const std::span<const double> gaps(r.gaps);
    r.look = estimate_of(gaps.first(static_cast<std::size_t>(look)), p.level);
    r.said = verdict_of(*r.look, p.bound);
    r.power = power_within(look, 0, r.look->sd, p.bound, p.level);
    // Who has been decided is not looked at again.
    if (r.said != verdict::undecided) break;
  }
  return r;
}

/// The deviation of the base's losses over seeds, relative to their mean.
double deviation_of_base(const plan& p, const all_runs& runs) {
  std::vector<double> losses;
  for (const auto& [key, r] : runs) {
    if (key.first == p.base) losses.push_back(r.held_out.at(p.base));
  }
  if (losses.size() < 2) return 0;
  const estimate e = estimate_of(losses, p.level);
  return e.sd / e.mean;
}

}  // namespace

campaign_report report_on(const plan& p, const all_runs& runs) {
  campaign_report r;
  const end_point own = [](const run& x) { return x.held_out.at(x.arm); };
  const end_point by_base = [&](const run& x) { return x.held_out.at(p.base); };
  for (const auto& arm : p.arms) {
    r.own.push_back(report_arm(p, runs, arm, p.base, own));
    r.by_base.push_back(report_arm(p, runs, arm, p.base, by_base));
  }
  for (const auto& [a, b] : p.pairs) {
    r.pairs.push_back(report_arm(p, runs, a, b, own));
  }
  for (const auto& arm : r.own) {
    const auto& controls = p.positive_controls;
    if (!arm.look || std::find(controls.begin(), controls.end(), arm.arm) ==
                         controls.end()) {
      continue;
    }
    r.is_sensitive =
        r.is_sensitive.value_or(false) || arm.said == verdict::beyond;
  }
  r.seed_sd = deviation_of_base(p, runs);
  return r;
}

std::vector<double> smoothed(const std::vector<double>& losses) {
  std::vector<double> all;
  for (const double loss : losses) {
    all.push_back(all.empty() ? loss : 0.9 * all.back() + 0.1 * loss);
  }
  return all;
}

}  // namespace zeroulp::parity
