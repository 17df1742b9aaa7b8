// The claims.

#include "tools/study/paper/claims.hpp"

#include <limits>

#include "tools/study/paper/findings.hpp"

namespace zeroulp::study::paper {
namespace {

constexpr claim all_claims[] = {
    {"cost", "1, Table 1", "hours of H800 for 10^12 tokens, and for all",
     "180K, 3.7 days on 2048; 2788K, $5.576M", find_cost},
    {"idle_1f1b", "3.2.1, Table 2", "bubble of 1F1B", "(PP - 1)(F + B)",
     find_idle_1f1b},
    {"idle_zb1p", "3.2.1, Table 2", "bubble of ZB1P", "(PP - 1)(F + B - 2W)",
     find_idle_zb1p},
    {"idle_dualpipe", "3.2.1, Table 2", "bubble of DualPipe",
     "(PP/2 - 1)(F&B + B - 3W)", find_idle_dual_pipe},
    {"memory", "3.2.1, Table 2", "parameters and activations by method",
     "1x, PP; 1x, PP; 2x, PP + 1", find_memory},
    {"micro_batches", "3.2.1", "DualPipe with more micro-batches",
     "neither bubbles nor activations grow", find_micro_batches},
    {"experts", "3.2.2", "experts a node at 160 and 50 GB/s; at 4 nodes",
     "3.2; 13", find_experts},
    {"loss", "3.3, B.1", "loss of FP8 beside BF16", "below 0.25 %", find_loss},
    {"speed", "3.3.1", "FP8 GEMMs beside BF16", "theoretically double",
     find_speed},
    {"cache", "3.3.1, 3.3.3", "activations cached in FP8",
     "less memory; no number", find_cache},
    {"accumulator", "3.3.2, 3.5.2", "bits that FP8 accumulation keeps",
     "around 14, the rest is truncated", find_accumulator},
    {"two_percent", "3.3.2", "largest relative error at K = 4096", "nearly 2 %",
     find_two_percent},
    {"wgmmas", "3.3.2", "WGMMAs of N_C = 128 elements", "4", find_wgmmas},
    {"interval", "3.3.2", "least interval without substantial overhead", "128",
     find_interval},
    {"attention_cache", "3.3.3", "inputs of the Linear after attention",
     "E5M6, scales powers of 2", find_attention_cache},
    {"dispatch", "3.3.3", "activations dispatched in FP8",
     "less traffic; no number", find_dispatch},
    {"exact_sum", "3.5.2", "bits for an exact sum of 32 FP8 products",
     "at least 34", find_exact_sum},
    {"near_memory", "3.5.2", "memory traffic saved by a cast at the memory",
     "roughly 50 %", find_near_memory},
    {"parameters", "4.2", "parameters, and activated ones", "671B, 37B",
     find_parameters},
};

}  // namespace

const char* name_of(standing s) {
  constexpr const char* names[] = {"holds", "partly", "DIFFERS",
                                   "not measured yet"};
  return names[static_cast<int>(s)];
}

double bench_record::at(std::string_view name, std::string_view size,
                        std::string_view who) const {
  for (const auto& r : rows) {
    if (r.name == name && r.size == size && r.who == who) return r.tflops;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::span<const claim> claims() { return all_claims; }

}  // namespace zeroulp::study::paper
