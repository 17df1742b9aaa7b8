// Defines the commands of the program as data: what shell completion and man
// pages are made of. One walk over CLI11's App tree makes it, so that nothing
// is written twice.

#ifndef ZEROULP_TOOLS_ZEROULP_MANUAL_TREE_HPP_
#define ZEROULP_TOOLS_ZEROULP_MANUAL_TREE_HPP_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace zeroulp::program {

/// An option, or an argument without a name of its own.
struct shown_option {
  std::vector<std::string> names;  ///< "-h", "--help"; of an argument "FILE"
  std::string type;                ///< of its value, such as TEXT; "": a flag
  std::string given;               ///< the value if nothing is said, or ""
  std::string what;
  bool is_required = false;
  bool is_repeated = false;
  std::vector<std::string> needs, excludes;
  std::vector<std::string> values;  ///< that are known, of a table
};

struct shown_command {
  std::string name;  ///< "fuzz quantize"; "" is the program
  std::string what;
  std::string example;  ///< lines, or ""
  std::vector<shown_option> options, arguments;
  std::vector<shown_command> commands;
};

/// The values of an option or argument of a command that a table knows.
using known_values = std::function<std::vector<std::string>(
    const std::string& command, const std::string& option)>;

shown_command tree_of(const CLI::App& app, const known_values& values);

/// All commands, the one that is given first, each before its own.
std::vector<const shown_command*> all_of(const shown_command& top);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_MANUAL_TREE_HPP_
