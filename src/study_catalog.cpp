// The questions, and what would answer them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study_questions.hpp"

namespace zeroulp::study {
namespace {

// Codes as they are, one sum: what the tensor core does, and nothing else.
constexpr const char* raw = "values=fp32 group=tensor scale=raw interval=none";
// B as it is, an exact sum: what happens to A, and nothing else.
constexpr const char* a_alone =
    "b.format=bf16 b.group=tensor b.scale=raw acc=exact";
constexpr const char* lengths =
    "128,256,512,1024,2048,4096,8192,16384,32768,65536";

const axis promoted_or_not{
    "promotion",
    {{"unpromoted", "interval=none"}, {"every 128", "interval=128"}}};

const axis granularities{"scales",
                         {{"tensor", "group=tensor"},
                          {"row", "group=row"},
                          {"1x128, 128x128", "a.group=1x128 b.group=128x128"},
                          {"128x128 both", "group=128x128"},
                          {"1x32 floor", "group=1x32 scale=ocp"},
                          {"1x32 up", "group=1x32 scale=pow2"}}};

std::string last_of(const std::vector<std::string>& all) {
  return all.empty() ? "" : all.back();
}

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
  return {
      zero_mean && promotion_mends,
      "At K = 4096 these lie in 1.5 to 2.75 % and fall at least fivefold by "
      "promotion:" +
          found};
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
  return {found, says + ", K = 4096."};
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
          fmt::format("N(0,1), K = 4096, unpromoted: Hopper's 13 bits {} %, 25 "
                      "bits {} %, FP32 in sequence {} %, exact {} %.",
                      percent(at("hopper")), percent(at("f25")),
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

const std::vector<question> all_questions = {
    {"error_vs_k",
     "Error against K",
     raw,
     over("k", lengths),
     {"input",
      {{"N(0,1) unpromoted", ""},
       {"N(0,1) every 128", "interval=128"},
       {"U(0,1) unpromoted", "input=U(0,1)"},
       {"U(0,1) every 128", "input=U(0,1) interval=128"}}},
     {"accumulation.frobenius"},
     1,
     "Without promotion the error of the tensor core's sum grows with K; "
     "promoted every 128 it does not.",
     judge_k},
    {"interval",
     "Error and bias against the promotion interval",
     raw,
     over("interval", "32,64,128,256,512,1024,2048,4096,none"),
     over("input", "N(0,1),U(0,1)"),
     {"accumulation.frobenius", "accumulation.bias"},
     2,
     "K = 4096. A shorter interval cuts less; what it costs is throughput.",
     judge_interval},
    {"two_percent",
     "Which inputs and metrics give 2 % at K = 4096",
     raw,
     over("input",
          "N(0,1),U(-1,1),N(0.25,1),N(0.5,1),N(1,1),N(2,1),U(0,1),"
          "lognormal(1),swiglu(1)"),
     promoted_or_not,
     {"accumulation.max_over_mean", "accumulation.max_over_rms",
      "accumulation.max_over_max", "accumulation.frobenius",
      "accumulation.mean_relative", "accumulation.median"},
     2,
     "\"Nearly 2 %\" was published without its inputs and its metric. Maxima "
     "grow with the number of outputs, which the columns m and n say.",
     judge_two_percent},
    {"same_sign_bias",
     "Bias of sums of one sign",
     raw,
     over("input", "N(0,1),N(0.25,1),N(0.5,1),N(1,1),N(1.5,1),N(2,1),U(0,1)"),
     promoted_or_not,
     {"accumulation.bias"},
     1,
     "K = 4096, magnitudes. Truncation only ever takes away: where terms have "
     "one sign, nothing cancels that.",
     judge_bias},
    {"quantization_or_accumulation",
     "Quantization against accumulation error",
     "",
     over("k", lengths),
     {"recipe",
      {{"tiles, promoted", ""},
       {"tensor, unpromoted", "group=tensor interval=none"}}},
     {"quantization.frobenius", "accumulation.frobenius"},
     2,
     "N(0,1). Once promoted, what is left is the rounding to E4M3.",
     judge_parts},
    {"e4m3_or_hybrid",
     "E4M3 everywhere against E5M2 for gradients",
     "pass=dgrad",
     over("a.input",
          "N(0,1),N(0,1e-09),lognormal(2),N(0,1)+tokens(1000),N(0,1)+single("
          "100000)"),
     {"format",
      {{"E4M3 tiles", ""},
       {"E5M2 tiles", "a.format=e5m2"},
       {"E4M3 tensor", "group=tensor"},
       {"E5M2 tensor", "group=tensor a.format=e5m2"}}},
     {"total.median", "total.frobenius", "zeroed"},
     1,
     "The median relative error; A is the gradient. With a scale for each tile "
     "the range of E4M3 is "
     "enough, and its third fraction bit counts.",
     judge_hybrid},
    {"outliers",
     "Tile, block and tensor under outliers",
     "interval=32",
     over("a.input",
          "N(0,1),N(0,1)+channels(100),N(0,1)+tokens(1000),N(0,1)+single("
          "100000)"),
     granularities,
     {"total.median", "total.frobenius"},
     1,
     "The median relative error: a norm would show the outliers alone.",
     judge_outliers},
    {"online_or_delayed",
     "Online against delayed scales under a shift",
     "group=tensor",
     {"A's magnitude",
      {{"steady", ""},
       {"x8 now", "shift=8"},
       {"x8, 32 steps ago", "shift=8 age=32"},
       {"/65536 now", "shift=1.52587890625e-05"},
       {"/65536, 32 steps ago", "shift=1.52587890625e-05 age=32"}}},
     over("a.timing", "online,delayed16,delayed1024,average"),
     {"total.frobenius", "saturated", "zeroed"},
     1,
     "One scale for A, from its own amax or from those of earlier steps. "
     "average: a moving average with decay 0.9.",
     judge_delayed},
    {"retile_scales",
     "FP32 against power-of-two scales through a re-tile",
     std::string("pass=wgrad a.group=1x128 ") + a_alone,
     over("a.input",
          "N(0,1),N(0,1)+channels(100),N(0,1)+tokens(1000),swiglu(1)"),
     {"scale",
      {{"fp32 direct", ""},
       {"fp32 re-tiled", "a.via=retile"},
       {"pow2 direct", "a.scale=pow2"},
       {"pow2 re-tiled", "a.scale=pow2 a.via=retile"}}},
     {"quantization.frobenius", "changed"},
     1,
     "A alone is quantized. Tiles along channels become tiles along tokens for "
     "Wgrad: a second rounding, unless the scales differ by powers of two.",
     judge_retile},
    {"e4m3_or_e5m6",
     "E4M3 against E5M6 for attention outputs",
     std::string("pass=wgrad a.group=1x128 a.scale=pow2 ") + a_alone,
     over("a.input", "N(0,1),lognormal(1),N(0,1)+channels(100)"),
     {"stored as",
      {{"E4M3", ""},
       {"E5M6, then E4M3", "a.via=e5m6"},
       {"E4M3 re-tiled", "a.via=retile"},
       {"E5M6 re-tiled to E4M3", "a.via=e5m6.retile"},
       {"E5M6", "a.format=e5m6"},
       {"BF16", "a.format=bf16 a.group=tensor a.scale=raw"}}},
     {"quantization.frobenius", "changed"},
     1,
     "A alone is quantized, from BF16. changed: elements that double rounding "
     "or the re-tile left at another value than E4M3 directly.",
     judge_e5m6},
    {"accumulator_bits",
     "How many accumulator bits make promotion unnecessary",
     raw,
     {"fraction bits", {}},
     {"input",
      {{"N(0,1) unpromoted", ""},
       {"N(0,1) every 128", "interval=128"},
       {"U(0,1) unpromoted", "input=U(0,1)"},
       {"U(0,1) every 128", "input=U(0,1) interval=128"}}},
     {"accumulation.frobenius"},
     1,
     "K = 4096; Hopper's FP8 unit has 13 fraction bits, the rest are what-ifs.",
     judge_bits},
    {"smooth_swiglu",
     "Smooth-SwiGLU's effect",
     "",
     over("a.input",
          "swiglu(1),swiglu(4),swiglu(1)+channels(100),swiglu(1)+channels("
          "10000)"),
     {"scales",
      {{"tensor", "group=tensor"},
       {"tensor, smooth", "group=tensor smooth=yes"},
       {"tiles", ""},
       {"tiles, smooth", "smooth=yes"},
       {"delayed, x8", "group=tensor a.timing=delayed16 shift=8"},
       {"delayed, x8, smooth",
        "group=tensor a.timing=delayed16 shift=8 smooth=yes"}}},
     {"total.frobenius", "total.median", "zeroed"},
     1,
     "Each channel of A is divided by a power of two of its amax, and that "
     "channel of the weights multiplied by it.",
     judge_smooth},
    {"amax_floor",
     "What a floor under amax does to small gradients",
     "pass=dgrad",
     over("a.input", "N(0,1e-09),N(0,1e-06),N(0,0.001),N(0,1)"),
     over("amax_floor", "0,1e-12,1e-4"),
     {"total.frobenius", "zeroed"},
     1,
     "A is the gradient.",
     judge_floor},
    {"scale_rules",
     "How a scale follows from amax",
     "",
     over("scale", "raw,fp32,pow2,pow2_nearest,pow2_down,ocp"),
     over("input", "N(0,1),lognormal(1),N(0,1)+single(100000)"),
     {"quantization.frobenius", "saturated"},
     1,
     "1x128 and 128x128. Codes without scales have no groups.",
     judge_scales},
    {"formats",
     "Formats",
     "",
     {"format",
      {{"e4m3", ""},
       {"e5m2", "format=e5m2"},
       {"int8", "format=int8 acc=exact"},
       {"bf16", "format=bf16 group=tensor scale=raw interval=none"}}},
     over("input", "N(0,1),lognormal(1),N(0,1)+channels(100)"),
     {"total.frobenius", "total.median"},
     1,
     "1x128 and 128x128; INT8 is summed exactly, as INT32.",
     judge_formats},
    {"accumulators",
     "Accumulators",
     raw,
     over("acc", "hopper,f25,fp32,exact"),
     promoted_or_not,
     {"accumulation.frobenius", "accumulation.bias"},
     1,
     "N(0,1), K = 4096. exact: rounded once to FP32.",
     judge_accumulators},
    {"shapes",
     "The Linears of DeepSeek-V3",
     "",
     {"shape", {}},
     {"recipe",
      {{"recipe", ""}, {"tensor, unpromoted", "group=tensor interval=none"}}},
     {"total.frobenius", "accumulation.frobenius"},
     1,
     "Fprop and Dgrad with 1x128 and 128x128, Wgrad with 1x128 on both and K = "
     "4096 tokens. Outputs are sampled.",
     judge_shapes},
    {"combinations",
     "Which scales go with which interval",
     "",
     over("interval", "32,64,128,512,none"),
     granularities,
     {"total.frobenius"},
     1,
     "Scales along K exist only where the sum is promoted within their group.",
     judge_combinations},
};

std::vector<question> make_questions() {
  auto all = all_questions;
  for (auto& q : all) {
    if (q.name == "accumulator_bits") {
      for (int bits = 8; bits <= 34; ++bits) {
        q.rows.arms.push_back(
            {std::to_string(bits), fmt::format("acc=f{}", bits)});
      }
    }
    if (q.name == "shapes") {
      for (const char* linear :
           {"qkv_a", "q_b", "kv_b", "attention_out", "expert_up", "expert_down",
            "dense_up", "dense_down"}) {
        for (const char* pass : {"fprop", "dgrad", "wgrad"}) {
          const auto name = fmt::format("{}.{}", linear, pass);
          q.rows.arms.push_back({name, "shape=" + name});
        }
      }
    }
  }
  return all;
}

}  // namespace

std::span<const question> questions() {
  static const std::vector<question> all = make_questions();
  return all;
}

}  // namespace zeroulp::study
