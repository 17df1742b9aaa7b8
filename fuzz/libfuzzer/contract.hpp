// Defines the contract of every parser under a libFuzzer target: it takes an
// input, or refuses it with an input_error of one readable line. Anything else
// (another exception, a crash, a leak) ends the process, and libFuzzer keeps
// the input.

#ifndef ZEROULP_FUZZ_LIBFUZZER_CONTRACT_HPP_
#define ZEROULP_FUZZ_LIBFUZZER_CONTRACT_HPP_

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {

/// Ends the process unless `holds`.
inline void demand(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()),
               what.data());
  std::abort();
}

/// Ends the process unless `message` is one line that a person can read.
inline void demand_one_line(std::string_view message) {
  demand(!message.empty(), "an error says something");
  for (const char c : message) {
    demand(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f,
           "an error has no control characters");
  }
}

/// Calls `parse`; returns whether it took its input.
template <class Parse>
bool accepts(const Parse& parse) {
  try {
    parse();
    return true;
  } catch (const input_error& e) {
    demand_one_line(e.what());
    return false;
  }
}

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_LIBFUZZER_CONTRACT_HPP_
