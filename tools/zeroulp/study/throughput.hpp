// Defines what `zeroulp study --throughput` reads: how fast promotion at each
// interval is, as `zeroulp bench gpu gemm.interval --json` writes it.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_THROUGHPUT_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_THROUGHPUT_HPP_

#include "tools/study/error/questions.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// In the order of the file; other benchmarks in it, and rows that failed, are
/// left out. Throws input_error that says which row is bad, or if none is left.
std::vector<study::rate> read_throughput(const std::string& file);

/// A row for each interval, a column for each size, TFLOP/s.
table throughput_table(const std::vector<study::rate>& rates);
plot throughput_plot(const std::vector<study::rate>& rates);
json to_json(const std::vector<study::rate>& rates);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_THROUGHPUT_HPP_
