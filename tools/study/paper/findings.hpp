// Declares how each number in claims.cpp is found. Internal.

#ifndef ZEROULP_TOOLS_STUDY_PAPER_FINDINGS_HPP_
#define ZEROULP_TOOLS_STUDY_PAPER_FINDINGS_HPP_

#include "tools/study/paper/claims.hpp"
#include "zeroulp/core/path.hpp"

namespace zeroulp::study::paper {

inline constexpr const char* computed = "computed now";
inline constexpr const char* simulated = "simulated now";

constexpr standing holds_if(bool it_does) {
  return it_does ? standing::holds : standing::differs;
}

/// The most fraction bits below the largest term that one step keeps: it adds
/// 1, -1 and 2^-n. SPEC T5.
int fraction_bits_kept(const accumulator& acc);
/// The least fraction bits with which a step of E4M3 keeps its least product
/// beside its largest one.
int fraction_bits_of_exact_e4m3();

finding find_cost(const evidence& e);
finding find_idle_1f1b(const evidence& e);
finding find_idle_zb1p(const evidence& e);
finding find_idle_dual_pipe(const evidence& e);
finding find_memory(const evidence& e);
finding find_micro_batches(const evidence& e);
finding find_experts(const evidence& e);
finding find_loss(const evidence& e);
finding find_speed(const evidence& e);
finding find_cache(const evidence& e);
finding find_accumulator(const evidence& e);
finding find_two_percent(const evidence& e);
finding find_wgmmas(const evidence& e);
finding find_interval(const evidence& e);
finding find_attention_cache(const evidence& e);
finding find_dispatch(const evidence& e);
finding find_exact_sum(const evidence& e);
finding find_near_memory(const evidence& e);
finding find_parameters(const evidence& e);

}  // namespace zeroulp::study::paper

#endif  // ZEROULP_TOOLS_STUDY_PAPER_FINDINGS_HPP_
