// Defines what SPEC N28 to N31 say of integers and sums, by second definitions:
// a pipeline that is run on a clock, counts, sorting. They share no code with
// what they are held against.

#ifndef ZEROULP_CONFORMANCE_ORACLES_MODEL_PIPELINE_ORACLE_HPP_
#define ZEROULP_CONFORMANCE_ORACLES_MODEL_PIPELINE_ORACLE_HPP_

#include <string>
#include <vector>

#include "conformance/oracles/grid.hpp"

namespace zeroulp::oracle {

/// What a rank does at a place of its list.
struct pipe_work {
  int pass;  ///< 0: forward, 1: backward, 2: gradients of weights
  int direction;
  int micro_batch;
};
using pipe_list = std::vector<pipe_work>;

/// Runs the ranks' lists against each other. Returns what is wrong: work that
/// is missing, twice or of another micro-batch, gradients of weights before
/// their backward pass, or ranks that wait for each other for ever; else "".
/// `ends`: when the last rank is done, forward 1, backward 1, weights 1 long.
std::string wrong_pipeline(int micro_batches, const std::vector<pipe_list>& all,
                           int& ends);

// N28: of one element each.
std::uint32_t chained_sum(
    const std::vector<std::vector<std::uint32_t>>& chains);

// N29
grid replicas_of(const grid& experts, const std::vector<int>& counts);

// N30
/// Codes are E4M3; a row of `q` has its heads side by side.
struct indexer_numbers {
  grid q, k, q_scales, k_scales, weights;
  std::ptrdiff_t first;
};
grid index_logits(const indexer_numbers& t);
struct chosen_keys {
  grid keys, ties;
};
chosen_keys keys_of(const grid& logits, std::ptrdiff_t first,
                    std::ptrdiff_t top);

}  // namespace zeroulp::oracle

#endif  // ZEROULP_CONFORMANCE_ORACLES_MODEL_PIPELINE_ORACLE_HPP_
