// Defines what text, CSV and HTML of a table share: its cells, which columns
// hold numbers, and how wide a text is. Internal to this folder.

#ifndef ZEROULP_TOOLS_STUDY_REPORT_CELLS_HPP_
#define ZEROULP_TOOLS_STUDY_REPORT_CELLS_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "tools/study/report/report.hpp"

namespace zeroulp {

/// Cell `i` of a row; empty beyond its end.
const std::string& cell(const std::vector<std::string>& row, std::size_t i);

/// Which columns hold numbers alone. Empty cells, and the marks that stand for
/// "no number", are numbers too.
std::vector<bool> numeric_columns(const table& t);

/// Code points: exact for the scripts that reports are written in.
std::size_t width_of(std::string_view text);

}  // namespace zeroulp

#endif  // ZEROULP_TOOLS_STUDY_REPORT_CELLS_HPP_
