// Defines what `zeroulp conform` reports: a run of checks, and its forms: text,
// JSON, CSV, JUnit's XML, a page, a record to commit.

#ifndef ZEROULP_TOOLS_ZEROULP_CONFORM_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_CONFORM_REPORT_HPP_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/contract/registry.hpp"
#include "tools/zeroulp/conform/picture.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/record.hpp"

namespace zeroulp::program {

/// A check and what came of it.
struct checked {
  conformance::check what;
  conformance::verdict found;
  double seconds = 0;
  /// Of its first failure, if the check has more than its text.
  std::optional<failure_picture> picture{};

  bool failed() const { return found.failures > 0; }
  bool skipped() const { return !found.skipped.empty(); }
  bool vacuous() const { return !failed() && !found.vacuous.empty(); }
};

/// A run of checks and all that its result may depend on.
struct conform_run {
  bool gpu = false;
  std::string plugin;          ///< its file; empty: none
  bool trusts = false;         ///< --trust
  std::string implementation;  ///< that was held against the oracles
  conformance::effort effort;
  std::string only;  ///< part of the checks' names; empty: all
  platform_text platform;
  std::vector<checked> checks;
};

/// "proved, 256 cases", "sampled, 4096 cases", "FAILED, 3 of 256 cases",
/// "VACUOUS, 52 cases" or "skipped: why".
std::string verdict_text(const checked& c);

/// A row a check: name, clauses, oracle, verdict, cases, seconds.
table to_table(const conform_run& r);

/// "71 held, 0 failed, 0 skipped", and ", 1 vacuous" where there are such.
std::string summary(const conform_run& r);

/// Returns true iff something held, and nothing failed or is vacuous.
bool held(const conform_run& r);

/// A paragraph for each failure: the inputs, and the command that repeats it;
/// for each vacuous check: why; for a run in which nothing held: that.
std::vector<std::string> failures(const conform_run& r);

/// What checks found besides, a paragraph each.
std::vector<std::string> notes(const conform_run& r);

json to_json(const conform_run& r);

/// A test case for each check.
std::string to_junit(const conform_run& r);

/// The title of a section of the SPEC by the letter of its clauses; "" if there
/// is none.
std::string_view title_of_section(char letter);

/// One self-contained page: verdicts, then each failure with its picture.
std::string to_html(const conform_run& r);

/// The command that makes the same run again.
std::string command_of(const conform_run& r);

/// What conformance/records/ keeps.
std::string to_record(const conform_run& r);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CONFORM_REPORT_HPP_
