// Defines `sweep_floats`: all FP32 codes, or every so many, through a
// function, held against what is expected of them.

#ifndef ZEROULP_CONFORMANCE_CHECKS_CONVERSION_FLOAT_SWEEP_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_CONVERSION_FLOAT_SWEEP_HPP_

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "conformance/checks/conversion/conversion.hpp"
#include "conformance/oracles/conversion_table.hpp"
#include "src/base/threads.hpp"

namespace zeroulp::conformance {

/// What to sweep: every `stride`-th code, from `offset` < stride.
struct sweep {
  format to;
  rounder r;
  policy p;
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;
};

/// The stride of a level: 2^32 codes at 3, 2^28 at 2, 2^24 at 1, 2^16 at 0.
/// Odd, so that no bit pattern is left out.
inline std::uint64_t sweep_stride(int level) {
  return level >= 3 ? 1 : level == 2 ? 17 : level == 1 ? 257 : 65537;
}

/// Reads a table at ascending codes.
class table_reader {
 public:
  explicit table_reader(const oracle::conversion_table& table)
      : table_(table) {}

  std::uint64_t operator()(std::uint32_t code) {
    if (code < first_ || code >= end_) find(code);
    return result_;
  }

 private:
  void find(std::uint32_t code) {
    const auto next = std::upper_bound(
        table_.begin(), table_.end(), code,
        [](std::uint32_t c, const oracle::run& r) { return c < r.first; });
    first_ = std::prev(next)->first;
    result_ = std::prev(next)->result;
    end_ = next == table_.end() ? std::uint64_t{1} << 32 : next->first;
  }

  const oracle::conversion_table& table_;
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t result_ = 0;
};

/// Adds to `v` the codes for which `convert(code)` is not what a function that
/// `make_expected()` makes returns. Threads share nothing but the count, and
/// the failure that is told is the one with the lowest code, however many
/// threads there are.
template <class Convert, class MakeExpected>
void sweep_floats(verdict& v, const effort& e, const sweep& s, Convert convert,
                  MakeExpected make_expected) {
  constexpr std::uint64_t end = std::uint64_t{1} << 32;
  constexpr std::uint64_t chunk = end >> 10;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex guard;
  std::uint64_t first_bad = end;

  const auto work = [&] {
    auto expected = make_expected();
    for (std::uint64_t from = next.fetch_add(chunk); from < end && !stop;
         from = next.fetch_add(chunk)) {
      std::uint64_t cases = 0;
      std::uint64_t failures = 0;
      output_digest got, right;
      std::uint64_t bad = end;
      const std::uint64_t before = from + s.stride - 1 - s.offset;
      for (std::uint64_t code = before / s.stride * s.stride + s.offset;
           code < from + chunk; code += s.stride) {
        ++cases;
        const auto x = static_cast<std::uint32_t>(code);
        const auto result = convert(x);
        const auto wanted = expected(x);
        got.add(result), right.add(wanted);
        if (result == wanted) continue;
        ++failures;
        bad = std::min(bad, code);
      }
      const std::lock_guard<std::mutex> lock(guard);
      v.cases += cases;
      v.failures += failures;
      v.got.add_sum(got.sum()), v.expected.add_sum(right.sum());
      first_bad = std::min(first_bad, bad);
      if (failures != 0 && e.stop_early) stop = true;
    }
  };
  const unsigned count =
      e.level == 0 ? 1 : std::max(1u, std::thread::hardware_concurrency());
  on_threads(count, work);
  if (first_bad == end || !v.first_failure.empty()) return;
  const auto x = static_cast<std::uint32_t>(first_bad);
  v.first_failure = describe_conversion(fp32, x, s.to, s.r, s.p, convert(x),
                                        make_expected()(x));
}

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_CONVERSION_FLOAT_SWEEP_HPP_
