// Defines the Linears of DeepSeek-V3 as shapes of a cell. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_SHAPES_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_SHAPES_HPP_

#include "tools/study/error/cell.hpp"
#include "tools/study/error/choices.hpp"

namespace zeroulp::study {

/// A Linear of DeepSeek-V3: Fprop's K is its inputs, Dgrad's its outputs.
struct linear {
  const char* name;
  std::ptrdiff_t outputs;
  std::ptrdiff_t inputs;
};
inline constexpr linear linears[] = {
    {"qkv_a", 2112, 7168},     {"q_b", 24576, 1536},
    {"kv_b", 32768, 512},      {"attention_out", 7168, 16384},
    {"expert_up", 4096, 7168}, {"expert_down", 7168, 2048},
    {"dense_up", 36864, 7168}, {"dense_down", 7168, 18432},
};
inline constexpr std::ptrdiff_t tokens = 4096;

inline constexpr choice<gemm_pass> passes[] = {
    {"fprop", gemm_pass::fprop},
    {"dgrad", gemm_pass::dgrad},
    {"wgrad", gemm_pass::wgrad},
};

/// All outputs of the cell's shape, a batch of 4096 tokens; of a free one those
/// it has.
void take_all_outputs(cell& c);

/// The shape LINEAR.PASS, or free: the cell's pass, K and groups. Throws
/// input_error.
void set_shape(cell& c, std::string_view text);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_SHAPES_HPP_
