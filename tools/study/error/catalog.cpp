// The questions.

#include <fmt/format.h>

#include "tools/study/error/shapes.hpp"
#include "tools/study/error/verdicts.hpp"

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
      for (const auto& x : linears) {
        for (const auto& pass : passes) {
          const auto name = fmt::format("{}.{}", x.name, pass.name);
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
