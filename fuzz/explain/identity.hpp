// Defines identifications as the program and the C ABI of the suite have them:
// which search a product is for, and what was found as JSON.

#ifndef ZEROULP_FUZZ_EXPLAIN_IDENTITY_HPP_
#define ZEROULP_FUZZ_EXPLAIN_IDENTITY_HPP_

#include <nlohmann/json.hpp>
#include <variant>

#include "fuzz/identify/blocks/block_gemm.hpp"
#include "fuzz/identify/quantizer.hpp"

namespace zeroulp::fuzz {

/// What an answer says of a D that no Hopper FP8 tensor core made.
inline constexpr const char* fp32_sentence =
    "an FP32-accurate sum, no Hopper FP8 tensor core";

/// The format of a scale as it is stored.
format stored_scale(const quantizer_evidence& e);

/// Whose product this is. Operands with a byte for every 16 or 32 elements of K
/// have block scales; groups of 32 without a second level may also have been
/// promoted in FP32, and the answer that gives more bits is it. Throws
/// input_error if shapes do not fit, or a second level goes with no blocks.
std::variant<gemm_answer, block_gemm_answer> identify_product(
    const gemm_evidence& e, const second_evidence& second,
    const identify_progress& tell = {});

nlohmann::ordered_json answer_json(const quantizer_evidence& e,
                                   const quantizer_answer& a);
nlohmann::ordered_json answer_json(const gemm_evidence& e,
                                   const gemm_answer& a);
nlohmann::ordered_json answer_json(const gemm_evidence& e,
                                   const block_gemm_answer& a);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_IDENTITY_HPP_
