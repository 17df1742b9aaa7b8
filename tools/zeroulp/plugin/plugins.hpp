// Defines how the program takes plug-ins: LIB.so, or python:FILE.py, which runs
// on `python3` ($ZEROULP_PYTHON) and finds zeroulp_plugin.py.

#ifndef ZEROULP_TOOLS_ZEROULP_PLUGIN_PLUGINS_HPP_
#define ZEROULP_TOOLS_ZEROULP_PLUGIN_PLUGINS_HPP_

#include <memory>
#include <string>
#include <string_view>

#include "conformance/plugin/plugin.hpp"
#include "fuzz/engine/opponent.hpp"

namespace zeroulp::cli {
class app;
}

namespace zeroulp::program {

/// Returns true iff `name` is a plug-in's: it ends in .so, or begins with
/// python:.
bool is_plugin(std::string_view name);

/// The first 16 digits of its file's SHA-256.
std::string plugin_digest(std::string_view name);

/// The plug-in of a command: one at most.
class plugin_user {
 public:
  /// Adds --limit and --load-limit, and --trust: it is not sealed then.
  void add_options(cli::app* command);

  bool trusts() const { return how_.trusted; }

  /// Starts it, the first time. Throws input_error, also for another one than
  /// the first.
  std::shared_ptr<conformance::plugin::plugin_code> find(std::string_view name);

  /// As fuzz::parse_opponent.
  fuzz::opponent opponent(std::string_view name, fuzz::target t);
  /// What keeps settings to those that it claims.
  fuzz::pins limits(fuzz::target t) const;

  /// nullptr without a plug-in.
  const conformance::plugin::plugin_code* code() const { return code_.get(); }
  /// "NAME answered 4000 requests and refused 12\n"; "" without a plug-in.
  /// Throws input_error if nothing was asked: nothing was held then.
  std::string summary(std::uint64_t answered, std::uint64_t refused) const;

  /// What holds it: "whole", "none: --trust", "all but ...: this kernel cannot
  /// do more".
  std::string seal() const;
  /// The same as a line, if the kernel is to blame; "" otherwise.
  std::string seal_note() const;
  /// Ends its processes. Returns which others it left running, which is a
  /// finding; "" if there were none.
  std::string leftovers();

 private:
  conformance::plugin::worker_options how_;
  std::string name_;
  std::shared_ptr<conformance::plugin::plugin_code> code_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PLUGIN_PLUGINS_HPP_
