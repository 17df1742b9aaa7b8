// Declares the verdicts of the questions in catalog.cpp, each from the
// answer to its own. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_VERDICTS_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_VERDICTS_HPP_

#include "tools/study/error/questions.hpp"

namespace zeroulp::study {

verdict judge_k(const answer& a);
verdict judge_interval(const answer& a);
verdict judge_two_percent(const answer& a);
verdict judge_bias(const answer& a);
verdict judge_parts(const answer& a);
verdict judge_hybrid(const answer& a);
verdict judge_outliers(const answer& a);
verdict judge_delayed(const answer& a);
verdict judge_retile(const answer& a);
verdict judge_e5m6(const answer& a);
verdict judge_bits(const answer& a);
verdict judge_smooth(const answer& a);
verdict judge_floor(const answer& a);
verdict judge_scales(const answer& a);
verdict judge_formats(const answer& a);
verdict judge_accumulators(const answer& a);
verdict judge_shapes(const answer& a);
verdict judge_combinations(const answer& a);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_VERDICTS_HPP_
