// Defines journals of campaigns: a file of lines of JSON that only grows, so
// that a campaign that was killed goes on where it was.
//
//   {"zeroulp_journal":3, target, seed, ..., shard, range, "sha256":"..."}
//   {"first":0, "cases":1048576, "digest":"...", ..., "sha256":"..."}
//
// A record is of a range of cases that is done; it is on the disk before the
// next one begins. What lies behind the last whole line was being written when
// the process died: it is cut off, and done again. Lines are chained: see
// line_chain.hpp. A journal of version 2, whose lines have checksums alone, is
// read, and goes on, as it is.

#ifndef ZEROULP_TOOLS_ZEROULP_FUZZ_JOURNAL_HPP_
#define ZEROULP_TOOLS_ZEROULP_FUZZ_JOURNAL_HPP_

#include <string>
#include <vector>

#include "fuzz/engine/campaign.hpp"
#include "fuzz/engine/shard.hpp"
#include "tools/zeroulp/journal/growing_file.hpp"
#include "tools/zeroulp/journal/line_chain.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// What became of a range of cases.
struct block_record {
  fuzz::case_range range;
  fuzz::campaign_result result;
  /// Of the first case of each kind, shrunk; "" if there is none, or the kind
  /// is ignored.
  fuzz::by_kind<std::string> tokens{};

  /// What is ignored tells no two apart.
  friend bool operator==(const block_record& x, const block_record& y);
};

json to_json(const block_record& r);
/// The content of a record's line.
std::string to_line(const block_record& r);
/// Back. Throws input_error that says which field is wrong.
block_record parse_record(const std::string& content);
/// Of the first line, as it stands; sets the chain behind it. Throws
/// input_error.
json parse_header(const std::string& line, line_chain& chain);

/// Runs a range, until `seconds` (0: never) are over.
block_record run_block(const fuzz::campaign& c, const fuzz::case_range& range,
                       double seconds);

/// A journal as it is on the disk.
struct journal_file {
  std::string path;
  json header;
  std::vector<block_record> records;  ///< as they were written
  std::size_t bytes = 0;              ///< of whole lines
  line_chain chain{journal_version};  ///< behind the last one
};

/// The range that a header claims.
fuzz::case_range range_of(const json& header);

/// Reads a journal. Says if it is of an older version. Throws input_error that
/// says the line.
journal_file read_journal(const std::string& path);

/// A journal to which records are added. Nobody else adds to it meanwhile.
class journal {
 public:
  /// Begins a journal, or goes on with the one that is there. Throws
  /// input_error if that is of another campaign, or somebody's else.
  journal(const std::string& path, const json& header);

  const std::vector<block_record>& records() const { return records_; }
  /// Adds a record; it is on the disk when this returns. Throws input_error.
  void add(const block_record& r);

 private:
  growing_file file_;
  line_chain chain_{journal_version};
  std::vector<block_record> records_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_FUZZ_JOURNAL_HPP_
