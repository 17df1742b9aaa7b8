// What is counted or simulated: no record, no GEMM.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/study/paper/counts.hpp"
#include "tools/study/paper/findings.hpp"
#include "tools/study/paper/schedule.hpp"

namespace zeroulp::study::paper {
namespace {

// W <= F <= B - W: beyond it the table's formulas are not what ranks wait.
constexpr pipe_durations usual[] = {
    {1, 1, 1, 3}, {2, 2, 1, 5}, {2, 3, 2, 6}, {10, 10, 8, 24}, {4, 6, 3, 11}};

struct formula_check {
  int cases = 0;
  int equal = 0;       ///< the rank that waits most
  int same_ranks = 0;  ///< all ranks wait as long
};
formula_check check_formula(pipe_method method) {
  formula_check found;
  for (const int stages : {2, 4, 8, 16}) {
    for (const int more : {0, 4, 3 * stages}) {
      for (const auto& d : usual) {
        const auto cost = cost_of(method, stages, 2 * stages + more, d);
        ++found.cases;
        found.equal += cost.most_idle == table_idle(method, stages, d) ? 1 : 0;
        found.same_ranks += cost.most_idle == cost.least_idle ? 1 : 0;
      }
    }
  }
  return found;
}

finding find_idle(pipe_method method, const char* why) {
  const auto found = check_formula(method);
  const auto one = cost_of(method, 16, 64, {1, 1, 1, 3});
  return {fmt::format("equal in {} of {} cases; PP = 16, F = W = 1, B = 2, F&B "
                      "= 3: {}",
                      found.equal, found.cases, one.most_idle),
          simulated, holds_if(found.equal == found.cases),
          fmt::format("{} All ranks wait as long in {} cases.", why,
                      found.same_ranks)};
}

/// "51.6 %"
std::string part(double x) { return fmt::format("{:.1f} %", 100 * x); }

double ratio(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

finding find_cost(const evidence&) {
  const double trillions = 14.8, hours = 180e3, gpus = 2048;
  const double days = hours / gpus / 24;
  const double training = hours * trillions;
  const double all = training + 119e3 + 5e3;
  const double operations = v3_shape{}.operations();
  const bool right = std::abs(days - 3.7) < 0.05 && training == 2664e3 &&
                     all == 2788e3 && 2 * all == 5.576e6;
  return {
      fmt::format("{:.2f} days; {:.0f}K + 119K + 5K = {:.0f}K, ${:.3f}M", days,
                  training / 1e3, all / 1e3, 2 * all / 1e6),
      computed, holds_if(right),
      fmt::format("The sums are right. By our count a token takes {:.0f} "
                  "GFLOP: {:.0f} TFLOP/s a GPU.",
                  operations / 1e9, operations * 1e12 / (hours * 3600) / 1e12)};
}

finding find_idle_1f1b(const evidence&) {
  return find_idle(pipe_method::one_f_one_b, "For any durations.");
}

finding find_idle_zb1p(const evidence&) {
  return find_idle(pipe_method::zb1p, "Where W <= F and W <= B - W.");
}

finding find_idle_dual_pipe(const evidence&) {
  return find_idle(pipe_method::dual_pipe,
                   "The rank that waits most, where W <= B - W and F <= B - "
                   "W; in the order of SPEC N28.");
}

finding find_memory(const evidence&) {
  constexpr int stages = 16;
  std::string ours = "PP = 16:";
  bool right = true;
  for (const auto method :
       {pipe_method::one_f_one_b, pipe_method::zb1p, pipe_method::dual_pipe}) {
    const bool dual = method == pipe_method::dual_pipe;
    const auto cost = cost_of(method, stages, 64, usual[0]);
    ours += fmt::format("{} {}x, {}", ours.back() == ':' ? "" : ";",
                        cost.stages_held, cost.activations);
    right = right && cost.stages_held == (dual ? 2 : 1) &&
            cost.activations == stages + (dual ? 1 : 0);
  }
  return {ours, simulated, holds_if(right),
          "An activation is held from its forward pass to its gradients of "
          "weights."};
}

finding find_micro_batches(const evidence&) {
  const auto few = cost_of(pipe_method::dual_pipe, 8, 16, usual[3]);
  bool same = true;
  for (const int count : {32, 64, 256}) {
    const auto more = cost_of(pipe_method::dual_pipe, 8, count, usual[3]);
    same = same && more.most_idle == few.most_idle &&
           more.activations == few.activations;
  }
  return {fmt::format("PP = 8, 16 to 256 micro-batches: idle {}, {} "
                      "activations",
                      few.most_idle, few.activations),
          simulated, holds_if(same), "The same numbers at every count."};
}

finding find_experts(const evidence&) {
  constexpr std::ptrdiff_t tokens = 4096;
  const v3_cluster c;
  const double each = c.nvlink / c.infiniband;
  const auto share = [&](std::ptrdiff_t top) {
    const auto n = count_dispatch({}, c, top, tokens);
    return n.nvlink_share(n.rows, c);
  };
  const auto now = count_dispatch({}, c, 8, tokens);
  const auto most = count_dispatch({}, c, 13, tokens);
  const double at_13 = most.nvlink_share(most.rows, c);
  const bool right = std::lround(4 * each) == 13 &&
                     std::abs(at_13 - 1) < 0.03 && most.most_nodes == 4;
  return {fmt::format("{:.1f}; 4 x 3.2 = {:.1f}", each, 4 * each), computed,
          holds_if(right),
          fmt::format("Rounded up. NVLink's time in InfiniBand's, {} random "
                      "tokens by N8 to N13, a copy an expert: {} at 8 experts "
                      "({:.2f} nodes a token), {} at 12, {} at 13. With a "
                      "copy a GPU, {} at 13.",
                      tokens, part(now.nvlink_share(now.rows, c)), now.nodes,
                      part(share(12)), part(at_13),
                      part(most.nvlink_share(most.gpus, c)))};
}

finding find_cache(const evidence&) {
  const std::int64_t width = v3_shape{}.width, wide = 2 * width;
  const double fp32 = ratio(tile_bytes(width, 8, 4), wide);
  const double power = ratio(tile_bytes(width, 8, 1), wide);
  return {fmt::format("{} of BF16, FP32 scales; {}, scales of a byte",
                      part(fp32), part(power)),
          computed, holds_if(fp32 < 1),
          fmt::format("E4M3 in tiles of 1x128: {} and {} less.", part(1 - fp32),
                      part(1 - power))};
}

finding find_attention_cache(const evidence&) {
  const v3_shape s;
  const std::int64_t width = s.heads * s.values;
  const double packed = ratio(tile_bytes(width, 12, 1), 2 * width);
  return {fmt::format("{} of BF16", part(packed)), computed,
          holds_if(packed < 1),
          fmt::format("12 bits an element, a byte a scale of 1x128: {} less, "
                      "where E4M3 would save {}.",
                      part(1 - packed),
                      part(1 - ratio(tile_bytes(width, 8, 1), 2 * width)))};
}

finding find_dispatch(const evidence&) {
  const std::int64_t width = v3_shape{}.width;
  const std::int64_t fp8 = tile_bytes(width, 8, 1), wide = 2 * width;
  return {fmt::format("{} bytes a token for {}: {}", fp8, wide,
                      part(ratio(fp8, wide))),
          computed, holds_if(fp8 < wide),
          fmt::format("{} less with scales of a byte, {} with FP32 ones. "
                      "Combine stays BF16: {} less over both.",
                      part(1 - ratio(fp8, wide)),
                      part(1 - ratio(tile_bytes(width, 8, 4), wide)),
                      part(1 - ratio(fp8 + wide, 2 * wide)))};
}

finding find_near_memory(const evidence&) {
  // Read in BF16, write in FP8 with an FP32 scale, read that.
  constexpr std::int64_t wide = 256, fp8 = tile_bytes(128, 8, 4);
  constexpr std::int64_t now = wide + 2 * fp8;
  const double saved = 1 - ratio(wide, now);
  return {fmt::format("{}", part(saved)), computed,
          holds_if(std::abs(saved - 0.5) < 0.05),
          fmt::format("Of 128 values: {} bytes, {} if the cast is made as "
                      "they are read.",
                      now, wide)};
}

finding find_parameters(const evidence&) {
  const v3_shape s;
  const auto billions = [](std::int64_t n) {
    return static_cast<double>(n) / 1e9;
  };
  const auto active = s.activated();
  // 37 whether the table of embeddings, of which a token reads a row, counts.
  const bool right = std::lround(billions(s.total())) == 671 &&
                     std::floor(billions(active)) == 37 &&
                     std::lround(billions(active - s.embedding())) == 37;
  return {fmt::format("{:.2f}B; {:.2f}B, or {:.2f}B without the embedding",
                      billions(s.total()), billions(active),
                      billions(active - s.embedding())),
          computed, holds_if(right),
          "61 layers, without multi-token prediction. Vocabulary (129,280) and "
          "dense hidden width (18,432) are those of DeepSeek's "
          "configuration."};
}

}  // namespace zeroulp::study::paper
