// Defines what an identification found as JSON: for the program, and for the C
// ABI of the suite.

#ifndef ZEROULP_FUZZ_EXPLAIN_IDENTITY_HPP_
#define ZEROULP_FUZZ_EXPLAIN_IDENTITY_HPP_

#include <nlohmann/json.hpp>

#include "fuzz/identify/blocks/block_gemm.hpp"
#include "fuzz/identify/quantizer.hpp"

namespace zeroulp::fuzz {

/// What an answer says of a D that no Hopper FP8 tensor core made.
inline constexpr const char* fp32_sentence =
    "an FP32-accurate sum, no Hopper FP8 tensor core";

/// The format of a scale as it is stored.
format stored_scale(const quantizer_evidence& e);

nlohmann::ordered_json answer_json(const quantizer_evidence& e,
                                   const quantizer_answer& a);
nlohmann::ordered_json answer_json(const gemm_evidence& e,
                                   const gemm_answer& a);
nlohmann::ordered_json answer_json(const gemm_evidence& e,
                                   const block_gemm_answer& a);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_IDENTITY_HPP_
