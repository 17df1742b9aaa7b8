// Defines the questions of `zeroulp study`: it runs their cells and writes
// study.csv, study.json and measure.html.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_QUESTIONS_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_QUESTIONS_HPP_

#include <string>
#include <vector>

#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/study/report.hpp"

namespace zeroulp::program {

struct questions_request {
  std::string preset;
  std::vector<std::string> names;  ///< empty: all
  std::vector<std::string> cells;  ///< FIELD=V1,V2,...: an axis each
  std::vector<std::string> with;   ///< FIELD=VALUE, for every cell
  std::string real;                ///< a folder of captured products
  std::string throughput;          ///< a file of `zeroulp bench gpu`
  std::string out;
  bool as_json = false;

  bool asks() const {
    return !preset.empty() || !names.empty() || !cells.empty() || !real.empty();
  }
};

/// Adds the options that fill it in.
void add_questions(cli::app* command, questions_request& q);

/// What is asked, before anything is computed.
struct prepared_questions {
  std::vector<asked> all;
  study_run run;
  study::multiplier by{};  ///< of a GPU, or none
};

/// Throws input_error for whatever cannot be asked, or not here.
prepared_questions prepare_questions(const questions_request& q);

/// Returns the exit status: 1 if a verdict does not hold.
int run_questions(const questions_request& q, prepared_questions prepared);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_QUESTIONS_HPP_
