// Defines an explanation as text for a person and as JSON.

#ifndef ZEROULP_FUZZ_EXPLAIN_REPORT_HPP_
#define ZEROULP_FUZZ_EXPLAIN_REPORT_HPP_

#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/explain/explain.hpp"

namespace zeroulp::fuzz {

/// Lines that end with a newline. `claim` names what was claimed: "vllm".
std::string to_text(const explanation& e, const std::string& claim);

nlohmann::ordered_json to_json(const explanation& e, const std::string& claim);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_EXPLAIN_REPORT_HPP_
