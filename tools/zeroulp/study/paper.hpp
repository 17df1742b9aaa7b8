// Defines the question `paper` of `zeroulp study`: each number of DeepSeek-V3's
// technical report that can be made again here, ours, and a verdict.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_PAPER_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_PAPER_HPP_

#include <string>

namespace zeroulp::program {

inline constexpr const char* paper_question = "paper";

struct paper_request {
  std::string records = "conformance/records";  ///< committed ones
  std::string settings;                         ///< of its cells
  std::string out;
  bool as_json = false;
};

/// Writes paper.csv and paper.json to `out` and prints them. Returns the exit
/// status: 1 if a number differs.
int run_paper(const paper_request& q);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_PAPER_HPP_
