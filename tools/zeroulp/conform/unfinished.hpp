// Defines `unfinished_record`: the checks of a run that a record waits for.
// Each is on the disk, in FILE.part, as it ends, so that a run that was ended
// goes on with the next. Its lines are chained, as a journal's are.

#ifndef ZEROULP_TOOLS_ZEROULP_CONFORM_UNFINISHED_HPP_
#define ZEROULP_TOOLS_ZEROULP_CONFORM_UNFINISHED_HPP_

#include <map>
#include <string>

#include "tools/zeroulp/conform/report.hpp"
#include "tools/zeroulp/journal/growing_file.hpp"
#include "tools/zeroulp/journal/line_chain.hpp"

namespace zeroulp::program {

class unfinished_record {
 public:
  /// `shapes`: the file of --shapes; empty: none. Throws input_error if there
  /// is a part of another run, or somebody else adds to it.
  unfinished_record(const std::string& record, const conform_run& r,
                    const std::string& shapes);

  /// What came of a check before; null: it is still to run.
  const checked* find(const std::string& name) const;
  /// Throws input_error.
  void add(const checked& c);
  /// The record is written: the part is removed.
  void end() const;

 private:
  growing_file file_;
  line_chain chain_{journal_version};
  std::map<std::string, checked> done_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CONFORM_UNFINISHED_HPP_
