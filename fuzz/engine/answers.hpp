// Defines who answered: the requests that cases make of a plug-in, which may
// refuse them, and what the answers say about each of its claims.
//
//   a case -> requests (request_log) -> claim_answers -> why_vacuous
//
// The core answers a refused request, so that the case can go on. Such a result
// compares the core with itself, and must not count.

#ifndef ZEROULP_FUZZ_ENGINE_ANSWERS_HPP_
#define ZEROULP_FUZZ_ENGINE_ANSWERS_HPP_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zeroulp::fuzz {

/// How large a request is: its largest matrix.
struct request_size {
  std::ptrdiff_t elements = 0;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
};

/// A request that a case made.
struct request {
  std::size_t claim = 0;  ///< number of the claim under which it was made
  bool answered = true;
  request_size size;
  /// Names of the case's outputs that it makes.
  std::span<const char* const> outputs;
};

/// Records the requests that this thread makes while the log lives.
class request_log {
 public:
  request_log();
  ~request_log();
  request_log(const request_log&) = delete;
  request_log& operator=(const request_log&) = delete;

  /// Adds to the log of this thread, if there is one.
  static void tell(const request& r);
  /// Marks the last request as refused.
  static void refuse_last();

  const std::vector<request>& requests() const { return requests_; }
  /// Returns true iff every request was answered, and there was one.
  bool all_answered() const;
  /// Returns true iff a request that was answered made this output.
  bool made(std::string_view output) const;

 private:
  std::vector<request> requests_;
};

/// The outcome of the requests under one claim.
struct claim_answers {
  /// One measure of size, over the requests.
  struct range {
    std::ptrdiff_t most_asked = 0;
    std::ptrdiff_t most_answered = 0;
    std::ptrdiff_t least_refused = 0;  ///< if any was
  };
  static constexpr std::array<const char*, 3> measures = {"elements", "rows",
                                                          "columns"};

  std::uint64_t answered = 0;
  std::uint64_t refused = 0;
  std::array<range, measures.size()> sizes;
  // Coverage bins, by index; empty beyond `covered`.
  std::vector<bool> asked;    ///< hit by a case that made a request
  std::vector<bool> reached;  ///< hit by a case with every request answered

  void add(const request& r);
  /// Counts the bins of a case that made a request.
  void cover(std::span<const std::uint64_t> hits, bool all_answered);
  void join(const claim_answers& part);
};

/// By claim number, up to the last claim that was asked.
using all_answers = std::vector<claim_answers>;

void join(all_answers& all, const all_answers& part);

/// Returns why a result that holds under a claim proves too little; "" if it
/// proves enough, or if nothing was asked. The reasons:
///
///   - less than half of the requests were answered;
///   - only small sizes were answered;
///   - a bin of its cases is hit by no case that was answered;
///   - there were fewer cases than in a `standard` run, which hits all bins.
std::string why_vacuous(const claim_answers& a,
                        const std::vector<std::string>& bins,
                        std::uint64_t cases, std::uint64_t standard);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_ANSWERS_HPP_
