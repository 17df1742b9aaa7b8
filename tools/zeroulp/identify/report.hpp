// Defines how an identification is shown to a person. As JSON it is fuzz's
// answer_json.

#ifndef ZEROULP_TOOLS_ZEROULP_IDENTIFY_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_IDENTIFY_REPORT_HPP_

#include <string>

#include "fuzz/explain/identity.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

std::string answer_text(const fuzz::quantizer_evidence& e,
                        const fuzz::quantizer_answer& a);
std::string answer_text(const fuzz::gemm_evidence& e,
                        const fuzz::gemm_answer& a);
std::string answer_text(const fuzz::gemm_evidence& e,
                        const fuzz::block_gemm_answer& a);

/// identify plugin: plugin.cpp.
void add_identify_plugin(cli::app& identify, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_IDENTIFY_REPORT_HPP_
