// Defines what conformance/records/ keeps of a run: the command, what it ran on
// and followed from, and the results.

#ifndef ZEROULP_TOOLS_ZEROULP_RECORD_HPP_
#define ZEROULP_TOOLS_ZEROULP_RECORD_HPP_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::cli {
class app;
}

namespace zeroulp::program {

/// Device, driver, compiler, clocks, by name.
using platform_text = std::vector<std::pair<std::string, std::string>>;

json to_json(const platform_text& platform);

/// A record of `results`, members of a JSON object, with the commit and the
/// SHA-256 of this program, and a digest of each source of `set` ("gpu peers":
/// of two). Nothing in it depends on when it was made. Members that are arrays,
/// and the sources, have an element a line.
std::string to_record(const std::string& command, const std::string& set,
                      const platform_text& platform, const json& results);

/// The file that a run is recorded in; nothing happens if it has no name. That
/// it can be written is known before the run, which may take minutes.
class record_file {
 public:
  explicit record_file(const std::string& file);
  bool wanted() const { return !file_.empty(); }
  void write(const std::string& record);

 private:
  std::string file_;
  output_set set_;
};

/// The digests of the sources of a set, or of several, by path.
json sources_as_json(std::string_view set);

/// The SHA-256 of this program.
std::string digest_of_program();

/// The sources that results of `set` follow from, as they were when this was
/// built: `hash path` lines. Made by conformance/records/check.sh.
const char* sources_of(std::string_view set);
/// The commit that this was built from, with "-dirty" where files differ from
/// it; "unknown" outside a clone. Made there, too.
const char* commit_of_sources();

/// Adds --record FILE.
cli::option* add_record(cli::app* command, std::string& file);

/// The compiler, and the processor's model where the system names it.
platform_text host_platform();

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_RECORD_HPP_
