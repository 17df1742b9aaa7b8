// Defines the rows of attention in `zeroulp bench gpu`: causal, of sequences
// that lie one after the other, forward or backward, by fused kernels or
// composed of products and kernels between them.
//
//   value = work / median over the rounds of seconds, in TFLOP/s
//
// Work is that of the products, the causal half of each: S and O; or S, dP, dV,
// dQ and dK. Operands rotate through more than twice the L2. Before anything is
// timed, two heads are held against the engine; what all launches wrote is the
// same, bit for bit. No CUDA in this header.

#ifndef ZEROULP_TOOLS_ZEROULP_BENCH_GPU_ATTENTION_ATTENTION_HPP_
#define ZEROULP_TOOLS_ZEROULP_BENCH_GPU_ATTENTION_ATTENTION_HPP_

#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "tools/zeroulp/progress.hpp"
#include "zeroulp/core/model/attention.hpp"

namespace zeroulp::program {

struct attention_row {
  std::string name;
  bool backward;
  bool composed;
  attention_shape is;
  std::ptrdiff_t sequences;
  double must;  ///< TFLOP/s; 0: no goal

  double work() const;
};

std::vector<attention_row> attention_rows();

/// Measures the rows, adds what is found to `list` and returns it as a table; a
/// row that fails is one line there, and in `failures`.
table run_attention(std::vector<attention_row> rows, bool quick, json& list,
                    std::vector<std::string>& failures, const progress& show);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_BENCH_GPU_ATTENTION_ATTENTION_HPP_
