// Defines what is said of paired gaps: an estimate with intervals, and the
// verdict of two one-sided tests (TOST) with its power. Internal.
//
//   interval   mean +- t sd / sqrt(n), Student's t of n - 1 degrees of freedom
//   within     the interval lies inside (-bound, bound): the gap is smaller
//   beyond     it lies outside
//   undecided  neither
//
// Source: D. Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987) 657.

#ifndef ZEROULP_TOOLS_STUDY_PARITY_STATISTICS_HPP_
#define ZEROULP_TOOLS_STUDY_PARITY_STATISTICS_HPP_

#include <span>

namespace zeroulp::parity {

struct estimate {
  int n = 0;
  double mean = 0;
  double low = 0;
  double high = 0;
  double sd = 0;
  double sd_low = 0;  ///< 90 %, of normal gaps
  double sd_high = 0;
};

/// Of two gaps or more; `level`: of the two-sided interval, such as 0.9.
estimate estimate_of(std::span<const double> gaps, double level);

enum class verdict { within, beyond, undecided };
/// "within", "beyond", "undecided".
const char* name_of(verdict v);

verdict verdict_of(const estimate& e, double bound);

/// The probability that n normal gaps of this mean and deviation are within:
/// exact up to the quadrature.
double power_within(int n, double mean, double sd, double bound, double level);

}  // namespace zeroulp::parity

#endif  // ZEROULP_TOOLS_STUDY_PARITY_STATISTICS_HPP_
