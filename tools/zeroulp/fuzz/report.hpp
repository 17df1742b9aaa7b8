// Defines how the fuzzer shows what it found: text for a person, JSON for a
// program.

#ifndef ZEROULP_TOOLS_ZEROULP_FUZZ_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_FUZZ_REPORT_HPP_

#include <string>
#include <vector>

#include "fuzz/engine/finding.hpp"
#include "tools/zeroulp/fuzz/journal.hpp"
#include "tools/zeroulp/ignored.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// The names of the two that were held against each other.
struct sides {
  std::string left;
  std::string right;
  bool trusts = false;  ///< a plug-in: --trust
};

/// The command that replays a token.
std::string replay_command(fuzz::target t, const sides& s,
                           const std::string& token);

/// What a campaign ignores.
difference_set ignored_in(const json& header);

/// A campaign, or as much of it as is done.
struct campaign_report {
  json header;  ///< which campaign: what a journal begins with
  fuzz::campaign_result result;
  std::uint64_t counted = 0;              ///< cases that `result.bins` are of
  std::vector<block_record> mismatching;  ///< blocks of a journal
  std::vector<std::string> claims{};      ///< of a plug-in, if it is there
};

/// How many of these cases are below `covered`: coverage is counted of those.
std::uint64_t counted_in(const fuzz::case_range& cases);

/// What the records of a campaign make together.
campaign_report report_of(const json& header,
                          const std::vector<block_record>& records);

/// Why it says too little of claims, a line each: see fuzz::why_vacuous.
std::vector<std::string> vacuous_claims(const campaign_report& r);

/// 0 held, 1 a mismatch or vacuous. Throws input_error if there was no case, or
/// nothing was asked of the plug-in.
int status_of(const campaign_report& r);

/// Counts, digest, coverage (`all_bins`: every bin), what is ignored, and of a
/// journal the cases that differ.
std::string to_text(const campaign_report& r, bool all_bins);
/// "held: no mismatch", or why it is vacuous; "" where something differs.
std::string verdict_text(const campaign_report& r);
json to_json(const campaign_report& r);

/// Input elements of a problem.
std::size_t size_of(const fuzz::problem& p);

/// Settings and operands, a line each.
std::string inputs_text(const fuzz::problem& p);

/// Where they differ: both bits, both values, ulps.
std::string difference_text(const fuzz::difference& d, const sides& s);
json difference_json(const fuzz::difference& d);

/// Of every kind, a line each.
std::string differences_text(const fuzz::outputs& left,
                             const fuzz::outputs& right,
                             const difference_set& ignored, const sides& s);

/// The case and the kind, and how many more cases differ so; the shrunk case,
/// clauses, causes and the command that replays it.
std::string finding_text(const fuzz::finding& f, const sides& s,
                         std::uint64_t more);
json finding_json(const fuzz::finding& f, const sides& s);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_FUZZ_REPORT_HPP_
