// Defines what the benchmark of promotion intervals calls itself and each
// interval, for who runs it and who reads what it wrote.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_INTERVAL_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_INTERVAL_HPP_

#include <string>
#include <string_view>

namespace zeroulp::program {

inline constexpr const char* interval_bench = "gemm.interval";
inline constexpr std::string_view never_promoted = "never promoted";
inline constexpr std::string_view promoted_every = "promoted every ";

/// Of 0: none.
inline std::string name_of_promotion(int interval) {
  if (interval == 0) return std::string(never_promoted);
  return std::string(promoted_every) + std::to_string(interval);
}

/// Back, as the study has it: "128" or "none"; empty where it is no interval.
inline std::string promotion_of(std::string_view name) {
  if (name == never_promoted) return "none";
  if (!name.starts_with(promoted_every)) return {};
  return std::string(name.substr(promoted_every.size()));
}

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_INTERVAL_HPP_
