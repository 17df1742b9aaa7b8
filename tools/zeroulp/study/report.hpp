// Defines how answers of the study are written: CSV, JSON, text and a page.

#ifndef ZEROULP_TOOLS_ZEROULP_STUDY_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_STUDY_REPORT_HPP_

#include <optional>
#include <string>
#include <vector>

#include "tools/study/error/questions.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// A question, its answer and, where there is one, its verdict.
struct asked {
  study::question what;
  study::answer given;
  std::optional<study::verdict> judged;
  std::optional<std::string> figure;  ///< an <svg> element, by gnuplot
};

struct study_run {
  std::string preset;
  std::string settings;  ///< of every cell, beyond the preset
  json loss;             ///< what loss.json holds, or null
  std::string device;    ///< the GPU that computed; empty: the CPU alone
  std::optional<study::verdict> same_bits{};  ///< of the GPU and the CPU
  std::string real{};                         ///< the folder of --real
};

/// What makes a question's answer again.
std::string command_of(const study_run& run, const asked& one);
/// Cells of one's own: a row each, a column for each metric, in percent.
table own_table(const asked& one);
/// A row a cell: question, row, series, every field, why it is impossible,
/// every metric (fractions), what computed D, D's SHA-256.
table cells_table(const std::vector<asked>& all);
/// "held: ..." or "FAILED: ...".
std::string to_text(const study::verdict& v);
json to_json(const study_run& run, const std::vector<asked>& all);
/// A question's table and verdict.
std::string to_text(const asked& one);
/// A figure as a file of its own, light and dark.
std::string standalone(std::string svg);
std::string questions_page(const study_run& run, const std::vector<asked>& all);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STUDY_REPORT_HPP_
