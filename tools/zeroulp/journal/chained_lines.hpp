// Defines what files of chained lines have in common: a header first, then a
// line for each result; what lies behind the last whole line was being written.

#ifndef ZEROULP_TOOLS_ZEROULP_JOURNAL_CHAINED_LINES_HPP_
#define ZEROULP_TOOLS_ZEROULP_JOURNAL_CHAINED_LINES_HPP_

#include <string>
#include <vector>

#include "tools/zeroulp/journal/growing_file.hpp"
#include "tools/zeroulp/journal/line_chain.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// The lines of a file that have an end, and how many bytes of it they are.
struct whole_lines {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
};

whole_lines split_lines(const std::string& text);

/// Writes the header if no more than a part of its line is in the file, whose
/// content is `text`. Returns whether it did. Throws input_error.
bool begin_lines(growing_file& file, const std::string& text,
                 const json& header, line_chain& chain);

/// Which field of two headers differs first, "x is 1, not 2"; "" if none does.
std::string first_change(const json& is, const json& should);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_JOURNAL_CHAINED_LINES_HPP_
