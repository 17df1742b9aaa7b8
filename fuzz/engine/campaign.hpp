// Defines a campaign: many cases of one target that compare one implementation
// with another, on all cores. The result does not depend on their number.

#ifndef ZEROULP_FUZZ_ENGINE_CAMPAIGN_HPP_
#define ZEROULP_FUZZ_ENGINE_CAMPAIGN_HPP_

#include <optional>

#include "fuzz/engine/answers.hpp"
#include "fuzz/engine/difference.hpp"
#include "fuzz/engine/opponent.hpp"

namespace zeroulp::fuzz {

/// `cases` cases from number `first` on.
struct campaign {
  target what = target::encode;
  int profile = -1;
  std::uint64_t seed = 1;
  std::uint64_t cases = 20000;
  std::uint64_t first = 0;
  double seconds = 0;  ///< end when this time is over; 0: never
  int threads = 0;     ///< 0: all cores
  /// Count every mismatch, up to a case that breaks off. Otherwise stop soon
  /// after the first.
  bool keep_going = false;
  /// So many cases after the first mismatch are searched for mismatches of
  /// other kinds. A failed call ends the campaign at once.
  std::uint64_t further = 2000;
  difference_set ignored;  ///< do not count as mismatches
  pins pinned;
  opponent left;
  opponent right;
};

/// Returns case number `index`. If `right` may refuse, it might answer small
/// cases alone: now and then a case has some ten thousand elements.
problem case_of(const campaign& c, std::uint64_t index);

/// Where one kind of difference was seen.
struct sighting {
  std::uint64_t cases = 0;
  std::uint64_t elements = 0;
  std::optional<std::uint64_t> first;  ///< the lowest case number
};

struct campaign_result {
  std::uint64_t cases = 0;
  /// Elements of the outputs that both sides computed, without guards.
  std::uint64_t elements = 0;
  /// Over inputs, and those outputs of `left` that both sides computed. Ignored
  /// differences leave it unchanged.
  std::uint64_t digest = 0;
  std::uint64_t mismatches = 0;                 ///< cases; ignored: not counted
  std::optional<std::uint64_t> first_mismatch;  ///< the lowest case number
  by_kind<sighting> seen;                       ///< ignored ones, too
  std::string failure;  ///< of `right` in the first case in which it failed
  /// `right` hung, or altered its process, in the last case: the campaign
  /// ended.
  bool broke_off = false;
  /// Hits by bin, over cases below `covered` with every request answered.
  std::vector<std::uint64_t> bins;
  all_answers claims;  ///< of an opponent that may refuse
  double seconds = 0;
};

/// Coverage is counted over the first so many cases: a standard run.
inline constexpr std::uint64_t covered = 20000;

/// Receives the number of cases and elements done so far.
using on_progress = std::function<void(std::uint64_t, std::uint64_t)>;

/// Adds the result of other cases of the same campaign.
void join(campaign_result& all, const campaign_result& part);

/// Runs a campaign. `progress` is called from one thread, now and then.
campaign_result run(const campaign& c, const on_progress& progress = {});

/// Returns the kinds that were seen, without ignored ones.
kind_set kinds_seen(const campaign_result& r, const difference_set& ignored);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_CAMPAIGN_HPP_
