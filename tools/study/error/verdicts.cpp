// What would answer the questions about sums.

#include "tools/study/error/verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zeroulp::study {
namespace {

/// Of questions that ask about one.
std::ptrdiff_t k_of(const answer& a) { return a.cells.front().value.k; }

}  // namespace

verdict judge_k(const answer& a) {
  const auto last = a.rows().back();
  const char* f = "accumulation.frobenius";
  const double none = a.at(last, "N(0,1) unpromoted", f);
  const double base = a.at("1024", "N(0,1) unpromoted", f);
  const double short_sum = a.at("1024", "N(0,1) every 128", f);
  const double long_sum = a.at(last, "N(0,1) every 128", f);
  return {
      none > 3 * base && long_sum < 1.2 * short_sum &&
          a.at("4096", "U(0,1) unpromoted", f) >
              20 * a.at("4096", "U(0,1) every 128", f),
      fmt::format("From K = 1024 to {}, N(0,1) goes from {} to {} % without "
                  "promotion and stays at {} % with it; U(0,1) at K = 4096 "
                  "goes from {} to {} % by promotion.",
                  last, percent(base), percent(none), percent(long_sum),
                  percent(a.at("4096", "U(0,1) unpromoted", f)),
                  percent(a.at("4096", "U(0,1) every 128", f)))};
}

verdict judge_interval(const answer& a) {
  const char* f = "accumulation.frobenius";
  bool rises = true;
  for (const auto& s : a.series()) {
    double before = 0;
    for (const auto& row : a.rows()) {
      const double now = a.at(row, s, f);
      rises = rises && now >= 0.98 * before;
      before = now;
    }
  }
  const double at_128 = a.at("128", "N(0,1)", f);
  auto says = fmt::format(
      "The error grows with the interval. At 128 it is {} % for N(0,1), {} of "
      "what there is without promotion; at 32, {} %.",
      percent(at_128),
      fmt::format("1/{:.3g}", a.at("none", "N(0,1)", f) / at_128),
      percent(a.at("32", "N(0,1)", f)));
  if (a.throughput.empty()) {
    says +=
        " Throughput: absent; --throughput takes what zeroulp bench gpu "
        "gemm.interval --json writes on a GPU.";
  }
  for (const rate& x : a.throughput) {
    if (x.interval != "128") continue;
    says +=
        fmt::format(" {} promoted every 128: {:.0f} TFLOP/s", x.size, x.tflops);
    const auto none = std::find_if(
        a.throughput.begin(), a.throughput.end(), [&](const rate& r) {
          return r.interval == "none" && r.size == x.size;
        });
    if (none != a.throughput.end()) {
      says += fmt::format(", {:.1f} % of the {:.0f} without",
                          100 * x.tflops / none->tflops, none->tflops);
    }
    says += ".";
  }
  return {rises && at_128 < 0.2 * a.at("none", "N(0,1)", f), says};
}

verdict judge_two_percent(const answer& a) {
  std::string found;
  bool promotion_mends = true, zero_mean = false;
  for (const auto& row : a.rows()) {
    for (const auto& m : find_question("two_percent").metrics) {
      const double none = a.at(row, "unpromoted", m);
      if (!(none >= 0.015 && none < 0.0275)) continue;
      found += fmt::format("{} {} {} {} %", found.empty() ? ":" : ";", row,
                           m.substr(m.find('.') + 1), percent(none));
      zero_mean = zero_mean || row == "N(0,1)";
      promotion_mends = promotion_mends && a.at(row, "every 128", m) < none / 5;
    }
  }
  return {zero_mean && promotion_mends,
          fmt::format("At K = {} these lie in 1.5 to 2.75 % and fall at least "
                      "fivefold by promotion{}.",
                      k_of(a), found)};
}

verdict judge_bias(const answer& a) {
  const char* m = "accumulation.bias";
  double before = 0, worst = 0;
  bool grows = true;
  for (const auto& row : a.rows()) {
    const double none = a.at(row, "unpromoted", m);
    if (row.starts_with("N(")) {
      grows = grows && none < before;
      before = none;
    }
    worst = std::min(worst, a.at(row, "every 128", m));
  }
  return {grows && worst > -0.001,
          fmt::format("Sums are drawn to zero, from {} % at mean 0 to {} % at "
                      "two sigma; promoted, no more than {} %.",
                      percent(a.at("N(0,1)", "unpromoted", m)), percent(before),
                      percent(-worst))};
}

verdict judge_parts(const answer& a) {
  double least = 1e300, most = 0;
  for (const auto& row : a.rows()) {
    const double q = a.at(row, "tiles, promoted", "quantization.frobenius");
    least = std::min(
        least, q / a.at(row, "tiles, promoted", "accumulation.frobenius"));
    most = std::max(most,
                    a.at(row, "tensor, unpromoted", "accumulation.frobenius"));
  }
  return {least > 50,
          fmt::format("Promoted, quantization costs at least {:.0f} times what "
                      "accumulation does. Unpromoted, accumulation reaches {} "
                      "% for N(0,1).",
                      least, percent(most))};
}

verdict judge_bits(const answer& a) {
  const char* m = "accumulation.frobenius";
  std::string says =
      "Without promotion, to be as good as Hopper's 13 bits "
      "promoted every 128, it takes";
  bool found = true;
  for (const char* input : {"N(0,1)", "U(0,1)"}) {
    const std::string name = input;
    const double goal = a.at("13", name + " every 128", m);
    std::string least;
    for (const auto& row : a.rows()) {
      if (least.empty() && a.at(row, name + " unpromoted", m) <= goal) {
        least = row;
      }
    }
    found = found && !least.empty() && std::stoi(least) > 13;
    says += fmt::format("{} {} fraction bits for {} ({} %)",
                        says.back() == ')' ? " and" : "", least, name,
                        percent(goal));
  }
  return {found, fmt::format("{}, K = {}.", says, k_of(a))};
}

verdict judge_accumulators(const answer& a) {
  const char* m = "accumulation.frobenius";
  const auto at = [&](const char* row) { return a.at(row, "unpromoted", m); };
  return {at("hopper") > at("f25") && at("f25") > at("exact") &&
              at("fp32") > at("exact"),
          fmt::format("N(0,1), K = {}, unpromoted: Hopper's 13 bits {} %, 25 "
                      "bits {} %, FP32 in sequence {} %, exact {} %.",
                      k_of(a), percent(at("hopper")), percent(at("f25")),
                      percent(at("fp32")), percent(at("exact")))};
}

verdict judge_shapes(const answer& a) {
  double least = 1e300, most = 0;
  for (const auto& row : a.rows()) {
    const double x = a.at(row, "recipe", "total.frobenius");
    least = std::min(least, x);
    most = std::max(most, x);
  }
  return {
      most < 1.1 * least,
      fmt::format("The full recipe gives {} to {} %, whatever the shape and "
                  "the pass.",
                  percent(least), percent(most))};
}

verdict judge_combinations(const answer& a) {
  int none = 0, refused = 0;
  for (const auto& c : a.cells) {
    none += c.row == "none" && c.given ? 1 : 0;
    refused += c.impossible ? 1 : 0;
  }
  return {none == 2 && refused > 0,
          fmt::format("Without promotion there are scales of a tensor or a row "
                      "alone; {} of {} combinations do not exist.",
                      refused, a.cells.size())};
}

}  // namespace zeroulp::study
