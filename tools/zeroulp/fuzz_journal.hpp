// Defines journals of campaigns: a file of lines of JSON that only grows, so
// that a campaign that was killed goes on where it was.
//
//   {"zeroulp_journal":3, target, seed, ..., shard, range, "crc32":"..."}
//   {"first":0, "cases":1048576, "digest":"...", ..., "crc32":"..."}
//
// A record is of a range of cases that is done; it is on the disk before the
// next one begins. What lies behind the last whole line was being written when
// the process died: it is cut off, and done again. A line that was damaged or
// edited later is refused by its CRC-32, of the line without that member; who
// forges one is not found.

#ifndef ZEROULP_TOOLS_FUZZ_JOURNAL_HPP_
#define ZEROULP_TOOLS_FUZZ_JOURNAL_HPP_

#include <string>
#include <vector>

#include "fuzz/campaign.hpp"
#include "fuzz/shard.hpp"
#include "program.hpp"

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

inline constexpr int journal_version = 3;

/// The content of a line, which an object of JSON is, with its checksum.
std::string sealed(std::string content);
/// Back. Throws input_error unless the checksum fits.
std::string opened(const std::string& line);

/// The content of a record's line.
std::string to_line(const block_record& r);
/// Back. Throws input_error that says which field is wrong.
block_record parse_record(const std::string& content);
/// Of a line with its checksum: of other versions there may be none. Throws
/// input_error.
json parse_header(const std::string& line);

/// Runs a range, until `seconds` (0: never) are over.
block_record run_block(const fuzz::campaign& c, const fuzz::case_range& range,
                       double seconds);

/// A journal as it is on the disk.
struct journal_file {
  std::string path;
  json header;
  std::vector<block_record> records;  ///< as they were written
  std::size_t bytes = 0;              ///< of whole lines
};

/// The range that a header claims.
fuzz::case_range range_of(const json& header);

/// Reads a journal. Throws input_error that says the line.
journal_file read_journal(const std::string& path);

/// A journal to which records are added. Nobody else adds to it meanwhile.
class journal {
 public:
  /// Begins a journal, or goes on with the one that is there. Throws
  /// input_error if that is of another campaign, or somebody's else.
  journal(const std::string& path, const json& header);
  ~journal();
  journal(const journal&) = delete;
  journal& operator=(const journal&) = delete;

  const std::vector<block_record>& records() const { return records_; }
  /// Adds a record; it is on the disk when this returns. Throws input_error.
  void add(const block_record& r);

 private:
  void write_line(std::string line);

  std::string path_;
  int file_ = -1;
  std::vector<block_record> records_;
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_FUZZ_JOURNAL_HPP_
