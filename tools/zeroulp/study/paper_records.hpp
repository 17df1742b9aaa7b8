// Defines what `zeroulp study --question paper` reads of committed records.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_PAPER_RECORDS_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_PAPER_RECORDS_HPP_

#include <filesystem>

#include "tools/study/paper/claims.hpp"

namespace zeroulp::program {

/// What the records of a folder say: perf_h200.json, perf_h100.json and
/// train/campaign/*parity.json, those that are there. Throws input_error.
study::paper::evidence read_evidence(const std::filesystem::path& records);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_PAPER_RECORDS_HPP_
