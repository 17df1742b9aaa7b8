// Defines who answered: the requests that cases make of an implementation that
// may refuse them, a plug-in, and what they say of each of its claims.
//
//   a case -> requests (request_log) -> claim_answers -> why_vacuous
//
// What is refused the core answers, so that a case can go on; it is no more
// than the core held against itself, and must not count.

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
  std::size_t claim = 0;  ///< by number, under which it was made
  bool answered = true;
  request_size size;
  /// The outputs of the case that it makes, by name.
  std::span<const char* const> outputs;
};

/// Hears the requests that this thread makes, as long as it lives.
class request_log {
 public:
  request_log();
  ~request_log();
  request_log(const request_log&) = delete;
  request_log& operator=(const request_log&) = delete;

  /// Tells the log of this thread, if there is one.
  static void tell(const request& r);
  /// What was told last, was refused.
  static void refuse_last();

  const std::vector<request>& requests() const { return requests_; }
  /// Returns true iff every request was answered, and there was one.
  bool all_answered() const;
  /// Returns true iff a request that was answered made this output.
  bool made(std::string_view output) const;

 private:
  std::vector<request> requests_;
};

/// What became of the requests under one claim.
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
  std::vector<bool> asked;    ///< of cases that made a request
  std::vector<bool> reached;  ///< of those of which all was answered

  void add(const request& r);
  /// Counts the bins of a case that made a request.
  void cover(std::span<const std::uint64_t> hits, bool all_answered);
  void join(const claim_answers& part);
};

/// By claim, as far as one was asked.
using all_answers = std::vector<claim_answers>;

void join(all_answers& all, const all_answers& part);

/// Returns why what holds under a claim says too little: less than half of its
/// requests answered, none but small sizes, bins that its cases have and no
/// answered one does, and fewer cases than the `standard` run, of which the
/// bins are. "" if it says enough, or nothing was asked.
std::string why_vacuous(const claim_answers& a,
                        const std::vector<std::string>& bins,
                        std::uint64_t cases, std::uint64_t standard);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_ENGINE_ANSWERS_HPP_
