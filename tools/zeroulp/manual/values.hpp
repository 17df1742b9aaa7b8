// Defines what shell completion offers as values: the names in the tables that
// the options are read by.

#ifndef ZEROULP_TOOLS_ZEROULP_MANUAL_VALUES_HPP_
#define ZEROULP_TOOLS_ZEROULP_MANUAL_VALUES_HPP_

#include <span>
#include <string>
#include <vector>

namespace zeroulp::program {

/// The names that an option or an argument takes.
struct value_row {
  const char* command;  ///< "": every command that has it
  const char* option;
  std::vector<std::string> (*values)();
};

/// A row of a command comes before one of every command.
std::span<const value_row> value_rows();

/// Those of an option of a command; nothing where no table has them.
std::vector<std::string> values_of(const std::string& command,
                                   const std::string& option);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_MANUAL_VALUES_HPP_
