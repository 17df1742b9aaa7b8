// Defines how the program takes plug-ins: LIB.so, or python:FILE.py, which runs
// on `python3` ($ZEROULP_PYTHON).

#ifndef ZEROULP_TOOLS_PLUGINS_HPP_
#define ZEROULP_TOOLS_PLUGINS_HPP_

#include <memory>
#include <string_view>

#include "conformance/plugin/plugin.hpp"
#include "fuzz/opponent.hpp"

namespace CLI {
class App;
}

namespace zeroulp::program {

/// Returns true iff `name` is a plug-in's: it ends in .so, or begins with
/// python:.
bool is_plugin(std::string_view name);

/// Adds --limit: seconds that a call of a plug-in may take.
void add_plugin_limit(CLI::App* command);

/// Starts it, the first time. Throws input_error, also for another one than the
/// first.
std::shared_ptr<conformance::plugin::plugin_code> find_plugin(
    std::string_view name);

/// The first 16 digits of its file's SHA-256.
std::string plugin_digest(std::string_view name);

/// As fuzz::parse_opponent.
fuzz::opponent plugin_opponent(std::string_view name, fuzz::target t);
fuzz::pins limits_of_plugin(fuzz::target t);

/// "4000 requests were answered by NAME, 12 refused": throws input_error if
/// none was answered though it must be, since nothing was held then.
std::string plugin_summary(bool must_answer = true);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_PLUGINS_HPP_
