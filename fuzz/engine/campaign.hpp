// Defines a campaign: many cases of one target, an implementation held against
// another, on all cores; the same result on any number of them.

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
  /// Count every mismatch, up to a case that breaks off; else end soon after
  /// one.
  bool keep_going = false;
  /// How many cases after the first mismatch are looked through for one of
  /// another kind. A call that failed ends the campaign at once.
  std::uint64_t further = 2000;
  difference_set ignored;  ///< count as no mismatch
  pins pinned;
  opponent left;
  opponent right;
};

/// Returns case number `index`. For who may answer small ones alone, now and
/// then one has some ten thousand elements.
problem case_of(const campaign& c, std::uint64_t index);

/// Where one kind of difference was seen.
struct sighting {
  std::uint64_t cases = 0;
  std::uint64_t elements = 0;
  std::optional<std::uint64_t> first;  ///< the lowest case number
};

struct campaign_result {
  std::uint64_t cases = 0;
  /// Of outputs that both computed, without guards.
  std::uint64_t elements = 0;
  /// Of inputs and of what `left` makes of them, where both computed it;
  /// without what tells ignored differences apart.
  std::uint64_t digest = 0;
  std::uint64_t mismatches = 0;                 ///< cases; ignored: none
  std::optional<std::uint64_t> first_mismatch;  ///< the lowest case number
  by_kind<sighting> seen;                       ///< ignored ones, too
  std::string failure;  ///< of `right` in the first case in which it failed
  /// In the last case `right` hung, or altered its process: the end of it all.
  bool broke_off = false;
  /// Of case numbers below `covered` of which all was answered.
  std::vector<std::uint64_t> bins;
  all_answers claims;  ///< of an opponent that may refuse
  double seconds = 0;
};

/// Coverage is counted over so many cases: a standard run.
inline constexpr std::uint64_t covered = 20000;

/// What is done so far: cases and elements.
using on_progress = std::function<void(std::uint64_t, std::uint64_t)>;

/// Adds what other cases of the same campaign gave.
void join(campaign_result& all, const campaign_result& part);

/// Runs a campaign. `progress` is called from one thread, now and then.
campaign_result run(const campaign& c, const on_progress& progress = {});

/// Returns the kinds that were seen, but for ignored ones.
kind_set kinds_seen(const campaign_result& r, const difference_set& ignored);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_CAMPAIGN_HPP_
