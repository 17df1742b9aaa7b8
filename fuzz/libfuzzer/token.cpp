// Fuzzes replay tokens: a token that parses can be printed, parses again to the
// same problem, and runs on the core.

#include "fuzz/cases/token.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/libfuzzer/contract.hpp"

namespace zeroulp::fuzz {
namespace {

/// Bounds the time of one input; parsing has no such limit.
bool is_small(const problem& p) {
  std::ptrdiff_t work = 1;
  for (const char dimension : {'m', 'n', 'k'}) {
    const auto length = length_of(p, dimension);
    if (length > 1) work *= length;
    // Each token sees those before it.
    const bool squared = p.what == target::attention && dimension == 'm';
    if (length > 1 && squared) work *= length;
  }
  return work <= 4096;
}

void check(std::string_view text) {
  problem p;
  if (!accepts([&] { p = parse_token(text); })) return;
  const std::string token = to_token(p);
  const problem again = parse_token(token);
  demand(again.what == p.what && again.in == p.in && to_token(again) == token,
         "a token is read as the problem that it was made of");
  if (!is_small(p)) return;
  static const implementation core = conformance::core_implementation();
  const auto run = info_of(p.what).run;
  demand(run(core, p) == run(core, again), "a problem has one result");
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  zeroulp::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
