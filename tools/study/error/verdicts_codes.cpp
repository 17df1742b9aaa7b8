// What would answer the questions about scales, formats and codes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/study/error/verdicts.hpp"

namespace zeroulp::study {

verdict judge_hybrid(const answer& a) {
  bool better = true;
  std::string says;
  for (const auto& row : a.rows()) {
    const double fine = a.at(row, "E4M3 tiles", "total.median");
    const double wide = a.at(row, "E5M2 tiles", "total.median");
    better = better && fine < wide;
    says += fmt::format("{} {} {} against {} %", says.empty() ? "" : ";", row,
                        percent(fine), percent(wide));
  }
  return {better,
          fmt::format("E4M3 against E5M2 for gradients, with tiles:{}.", says)};
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

verdict judge_smooth(const answer& a) {
  const char* m = "total.frobenius";
  const auto row = a.rows().back();
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

}  // namespace zeroulp::study
