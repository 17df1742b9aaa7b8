// What would answer each question.

#include "study_verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zeroulp::study {
namespace {

/// Of questions that ask about one.
std::ptrdiff_t k_of(const answer& a) { return a.cells.front().value.k; }

std::string last_of(const std::vector<std::string>& all) {
  return all.empty() ? "" : all.back();
}

}  // namespace

verdict judge_k(const answer& a) {
  const auto last = last_of(a.rows());
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
    says += " Throughput: absent; give a recording of an H200 by --throughput.";
  } else {
    for (const auto& [interval, tflops] : a.throughput) {
      says += fmt::format(" {}: {:.0f} TFLOP/s.", interval, tflops);
    }
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
      found += fmt::format(" {} {} {} %;", row, m.substr(m.find('.') + 1),
                           percent(none));
      zero_mean = zero_mean || row == "N(0,1)";
      promotion_mends = promotion_mends && a.at(row, "every 128", m) < none / 5;
    }
  }
  return {zero_mean && promotion_mends,
          fmt::format("At K = {} these lie in 1.5 to 2.75 % and fall at least "
                      "fivefold by promotion:{}",
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
                      percent(worst))};
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

verdict judge_hybrid(const answer& a) {
  bool better = true;
  std::string says = "E4M3 against E5M2 for gradients, with tiles:";
  for (const auto& row : a.rows()) {
    const double fine = a.at(row, "E4M3 tiles", "total.median");
    const double wide = a.at(row, "E5M2 tiles", "total.median");
    better = better && fine < wide;
    says +=
        fmt::format(" {} {} against {} %;", row, percent(fine), percent(wide));
  }
  return {better, says};
}

verdict judge_outliers(const answer& a) {
  const char* m = "total.median";
  const auto worst_of = [&](const char* series) {
    double worst = 0;
    for (const auto& row : a.rows())
      worst = std::max(worst, a.at(row, series, m));
    return worst;
  };
  const double tensor = worst_of("tensor"), tile = worst_of("1x128, 128x128"),
               block = worst_of("128x128 both");
  return {tile < tensor && tile <= 1.02 * block,
          fmt::format("The worst median relative error under these outliers: "
                      "one scale a tensor {} %, 128x128 on both {} %, 1x128 "
                      "with 128x128 {} %.",
                      percent(tensor), percent(block), percent(tile))};
}

verdict judge_delayed(const answer& a) {
  const char* m = "total.frobenius";
  const double online = a.at("x8 now", "online", m);
  const double late = a.at("x8 now", "delayed16", m);
  const double long_after = a.at("/65536, 32 steps ago", "delayed1024", m);
  const double after = a.at("/65536, 32 steps ago", "delayed16", m);
  return {
      late > 2 * online && long_after > 2 * after &&
          a.at("steady", "delayed16", m) < 1.05 * a.at("steady", "online", m),
      fmt::format("In a steady state they agree. When the input grows "
                  "eightfold, scales of 16 steps give {} % where the online "
                  "one gives {} %; 32 steps after it shrank 65536-fold a "
                  "history of 1024 gives {} %, one of 16 {} %.",
                  percent(late), percent(online), percent(long_after),
                  percent(after))};
}

verdict judge_retile(const answer& a) {
  const char* m = "quantization.frobenius";
  const auto ratio = [&](const char* kind) {
    const std::string name = kind;
    return a.at("N(0,1)", name + " re-tiled", m) /
           a.at("N(0,1)", name + " direct", m);
  };
  const double pow2 = ratio("pow2"), fp32 = ratio("fp32");
  return {pow2 < 1.05 && fp32 > 1.2,
          fmt::format("Re-tiling multiplies the error of N(0,1) by {:.3f} with "
                      "power-of-two scales, by {:.3f} with FP32 scales.",
                      pow2, fp32)};
}

// BF16 keeps one bit more than E5M6: rounding it away makes a tie of E4M3 out
// of 2 in 16 patterns, and half of those go the wrong way.
verdict judge_e5m6(const answer& a) {
  const char* m = "quantization.frobenius";
  const double e4m3 = a.at("N(0,1)", "E4M3", m);
  const double twice = a.at("N(0,1)", "E5M6, then E4M3", m);
  const double changed = a.at("N(0,1)", "E5M6, then E4M3", "changed");
  return {
      a.at("N(0,1)", "E5M6", m) < e4m3 / 4 && twice < 1.06 * e4m3 &&
          std::fabs(changed - 1.0 / 16) < 0.005 &&
          a.at("N(0,1)", "E5M6 re-tiled to E4M3", m) < 1.01 * twice,
      fmt::format("N(0,1): stored as E4M3 {} %, as E5M6 {} %. BF16 to E5M6 "
                  "to E4M3 rounds {} % of elements another way than BF16 to "
                  "E4M3 (1 in 16), for {} %; re-tiling adds nothing, as the "
                  "scales are powers of two.",
                  percent(e4m3), percent(a.at("N(0,1)", "E5M6", m)),
                  percent(changed), percent(twice))};
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

verdict judge_smooth(const answer& a) {
  const char* m = "total.frobenius";
  const auto row = last_of(a.rows());
  const double lost = a.at(row, "tensor", "zeroed");
  const double kept = a.at(row, "tensor, smooth", "zeroed");
  const double late = a.at(row, "delayed, x8", m);
  const double late_smooth = a.at(row, "delayed, x8, smooth", m);
  return {
      kept < lost / 10 && late_smooth < late / 2,
      fmt::format("With {}: one scale a tensor makes {} % of the elements "
                  "zero, with smoothed channels {} %; the product's error "
                  "hardly moves ({} and {} %), since the outliers carry it. "
                  "A delayed scale that an eightfold growth overtakes gives "
                  "{} %, smoothed {} %.",
                  row, percent(lost), percent(kept),
                  percent(a.at(row, "tensor", m)),
                  percent(a.at(row, "tensor, smooth", m)), percent(late),
                  percent(late_smooth))};
}

verdict judge_floor(const answer& a) {
  const char* m = "total.frobenius";
  const double none = a.at("N(0,1e-09)", "0", m);
  const double high = a.at("N(0,1e-09)", "1e-4", m);
  return {high > 3 * none && a.at("N(0,1e-09)", "1e-12", m) < 1.01 * none,
          fmt::format(
              "Gradients of 1e-9: no floor {} %, 1e-12 {} %, 1e-4 {} %; "
              "the last makes {} % of them zero.",
              percent(none), percent(a.at("N(0,1e-09)", "1e-12", m)),
              percent(high), percent(a.at("N(0,1e-09)", "1e-4", "zeroed")))};
}

verdict judge_scales(const answer& a) {
  const char* m = "quantization.frobenius";
  const double fp32 = a.at("fp32", "N(0,1)", m), up = a.at("pow2", "N(0,1)", m);
  return {up < 1.15 * fp32 && a.at("pow2", "N(0,1)", "saturated") == 0 &&
              a.at("pow2_down", "N(0,1)", "saturated") > 0,
          fmt::format("N(0,1): FP32 {} %, power of two up {} %, nearest {} %, "
                      "down {} % (saturating {} % of elements), OCP {} %.",
                      percent(fp32), percent(up),
                      percent(a.at("pow2_nearest", "N(0,1)", m)),
                      percent(a.at("pow2_down", "N(0,1)", m)),
                      percent(a.at("pow2_down", "N(0,1)", "saturated")),
                      percent(a.at("ocp", "N(0,1)", m)))};
}

verdict judge_formats(const answer& a) {
  const char* m = "total.frobenius";
  return {a.at("int8", "N(0,1)", m) < a.at("e4m3", "N(0,1)", m) &&
              a.at("e4m3", "N(0,1)", m) < a.at("e5m2", "N(0,1)", m),
          fmt::format("N(0,1) in tiles: INT8 {} %, E4M3 {} %, E5M2 {} %; with "
                      "channels of x100 INT8 {} %, E4M3 {} %.",
                      percent(a.at("int8", "N(0,1)", m)),
                      percent(a.at("e4m3", "N(0,1)", m)),
                      percent(a.at("e5m2", "N(0,1)", m)),
                      percent(a.at("int8", "N(0,1)+channels(100)", m)),
                      percent(a.at("e4m3", "N(0,1)+channels(100)", m)))};
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
