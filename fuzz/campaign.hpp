// Defines a campaign: many cases of one target, an implementation held against
// another, on all cores; the same result on any number of them.

#ifndef ZEROULP_FUZZ_CAMPAIGN_HPP_
#define ZEROULP_FUZZ_CAMPAIGN_HPP_

#include <optional>

#include "fuzz/opponent.hpp"

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
  /// Count every mismatch, up to a case that breaks off; else end at the first.
  bool keep_going = false;
  pins pinned;
  opponent left;
  opponent right;
};

struct campaign_result {
  std::uint64_t cases = 0;
  std::uint64_t elements = 0;  ///< of outputs compared, without guards
  /// Of inputs and of what `left` makes of them; depends on the cases alone.
  std::uint64_t digest = 0;
  std::uint64_t mismatches = 0;                 ///< cases
  std::optional<std::uint64_t> first_mismatch;  ///< the lowest case number
  std::string failure;  ///< of `right` in that case, if it failed
  /// In the last case `right` hung, or altered its process: the end of it all.
  bool broke_off = false;
  std::vector<std::uint64_t> bins;  ///< of case numbers below `covered`
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

/// Returns true iff two results are the same bits.
bool same(const outputs& x, const outputs& y);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_CAMPAIGN_HPP_
