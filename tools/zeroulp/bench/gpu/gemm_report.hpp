// Defines the run of the GEMM rows, with its table and JSON.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_REPORT_HPP_

#include "tools/zeroulp/bench/gpu/gemm.hpp"
#include "tools/zeroulp/progress.hpp"

namespace zeroulp::program {

/// Measures the rows, adds what is found to `list` and returns it as a table; a
/// row that fails is one line there, and in `failures`.
table run_gemms(const std::vector<gemm_row>& rows, bool quick, json& list,
                std::vector<std::string>& failures, const progress& show);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_GEMM_REPORT_HPP_
