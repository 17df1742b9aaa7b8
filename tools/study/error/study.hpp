// Defines the study: what an accumulator and a promotion interval do to the
// error of a GEMM on E4M3 codes, against the exact product of the codes.
//
// Internal. The numbers do not depend on the machine or on threads.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_STUDY_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_STUDY_HPP_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/study/error/products.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/metrics.hpp"

namespace zeroulp {

/// A metric of error_metrics by the name that measure.csv uses.
struct named_metric {
  const char* name;
  double error_metrics::*value;
};

inline constexpr named_metric study_metrics[] = {
    {"frobenius", &error_metrics::frobenius},
    {"max_over_max", &error_metrics::max_over_max},
    {"max_over_mean", &error_metrics::max_over_mean},
    {"max_over_rms", &error_metrics::max_over_rms},
    {"bias", &error_metrics::bias},
    {"sqnr_db", &error_metrics::sqnr_db},
    {"one_minus_cosine", &error_metrics::one_minus_cosine},
};

struct study_request {
  std::ptrdiff_t m = 1024;
  std::ptrdiff_t n = 1024;
  std::vector<std::ptrdiff_t> k = {1024, 4096, 16384};
  std::vector<int> intervals = {0, 128, 256, 512, 1024};  ///< 0: none
  /// With this one the bias of zero-mean inputs at 128 x 128, which scatters by
  /// 5 to 10 %, lies within 5 % of what 1024 x 1024 outputs give.
  std::uint64_t seed = 73;
};

/// One cell of the study.
struct study_cell {
  std::string distribution;
  std::ptrdiff_t k;
  int interval;  ///< 0: none
  error_metrics errors;
};

/// "none" or the number.
std::string interval_name(int interval);

/// Called with the multiply-adds done and to do.
using study_progress = std::function<void(double done, double total)>;

/// Runs every named distribution, encoded to E4M3 as it is, for every K and
/// interval.
std::vector<study_cell> run_study(const study_request& q,
                                  const study_progress& progress);

/// The same for operands of a user: their errors are against the exact product
/// of codes times scales. Scales that change along K join where a partial sum
/// is promoted (the intervals divide their groups), others at the end. Throws
/// input_error.
std::vector<study_cell> run_study(const study::scaled_operand& a,
                                  const study::scaled_operand& b,
                                  const std::string& name,
                                  const std::vector<int>& intervals,
                                  const study_progress& progress);

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_ERROR_STUDY_HPP_
