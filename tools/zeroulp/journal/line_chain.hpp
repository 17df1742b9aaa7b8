// Defines how the lines of a journal are sealed: each ends with a digest, so
// that what was damaged or edited is refused.
//
//   version 3   ,"sha256":"..."}   SHA-256 of the digest before and the content
//   version 2   ,"crc32":"..."}    CRC-32 of the content
//
// The content is the line without that member. By a chain a line cannot be
// edited, removed, moved or put in either, without all digests behind it being
// written anew: it is no signature, and whoever does that is found only by the
// digest of the last line, kept elsewhere. Nor does it say that lines are
// missing at the end.

#ifndef ZEROULP_TOOLS_ZEROULP_JOURNAL_LINE_CHAIN_HPP_
#define ZEROULP_TOOLS_ZEROULP_JOURNAL_LINE_CHAIN_HPP_

#include <string>
#include <string_view>

namespace zeroulp::program {

/// The version of journals that are begun, and of the oldest that are read.
inline constexpr int journal_version = 3;
inline constexpr int oldest_journal_version = 2;

/// The lines so far, first to last.
class line_chain {
 public:
  explicit line_chain(int version) : version_(version) {}

  /// The next line, of its content, an object of JSON.
  std::string seal(std::string_view content);
  /// The content of the next line. Throws input_error unless it follows.
  std::string open(std::string_view line);

 private:
  std::string digest_of(std::string_view content) const;
  /// The end of a line.
  std::string end_with(std::string_view digest) const;

  int version_;
  std::string last_;  ///< digest of the last line
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_JOURNAL_LINE_CHAIN_HPP_
