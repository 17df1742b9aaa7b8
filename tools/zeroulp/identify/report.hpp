// Defines how an identification is shown: text for a person, JSON for a
// program.

#ifndef ZEROULP_TOOLS_ZEROULP_IDENTIFY_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_IDENTIFY_REPORT_HPP_

#include <string>

#include "fuzz/identify/gemm.hpp"
#include "fuzz/identify/quantizer.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

std::string answer_text(const fuzz::quantizer_evidence& e,
                        const fuzz::quantizer_answer& a);
json answer_json(const fuzz::quantizer_evidence& e,
                 const fuzz::quantizer_answer& a);
std::string answer_text(const fuzz::gemm_evidence& e,
                        const fuzz::gemm_answer& a);
json answer_json(const fuzz::gemm_evidence& e, const fuzz::gemm_answer& a);

/// identify plugin: plugin.cpp.
void add_identify_plugin(CLI::App& identify, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_IDENTIFY_REPORT_HPP_
