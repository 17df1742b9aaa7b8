// Defines `probe`: from the outputs of an instruction alone, the mechanism that
// gives them, or why none does.
//
//   black_box hopper{...};
//   const probe_result r = probe(hopper, {});
//   r.found.acc.fraction_bits        // 13
//
// Source: the experiments are ours; the mechanisms are SPEC T1 to T11. Left
// out: block scales, and sums in trees, which "do not fit".

#ifndef ZEROULP_FUZZ_PROBE_PROBE_HPP_
#define ZEROULP_FUZZ_PROBE_PROBE_HPP_

#include <optional>
#include <string>
#include <vector>

#include "fuzz/probe/black_box.hpp"
#include "fuzz/probe/mechanism.hpp"

namespace zeroulp::fuzz {

struct probe_options {
  int random_steps = 20'000;  ///< on which the mechanism is held at the end
  std::uint64_t seed = 1;
};

/// An experiment, and what a mechanism gives instead of the box's output.
struct evidence_of {
  step_case inputs;
  std::uint64_t d = 0;        ///< the box's
  std::uint64_t instead = 0;  ///< the mechanism's
};

/// A property of the mechanism: its value, and what is known of its others.
struct found_property {
  std::string name;   ///< e.g. "fraction bits"
  std::string value;  ///< e.g. "13"
  /// Values that agree with every output as well.
  std::vector<std::string> equal;
  /// The nearest other value that an output refutes, and that output.
  std::string other;
  std::optional<evidence_of> shown_by;
};

struct probe_result {
  bool fits = false;
  /// The mechanism; if none fits, the one that comes closest.
  mechanism found;
  /// Paths that agree with every output, such as hopper.wgmma.e4m3.e4m3.f32.
  std::vector<std::string> names;
  std::vector<found_property> properties;  ///< if it fits
  std::size_t outputs = 0;                 ///< that the box gave
  /// If none fits: how many of them contradict `found`, and outputs that no
  /// mechanism of the search has together.
  std::size_t contradicting = 0;
  std::vector<evidence_of> because;
  std::string why;  ///< in words; empty if it fits
};

/// Asks the box some ten thousand steps, and options.random_steps more. Throws
/// what the box throws, and input_error if its outputs differ when it is asked
/// again.
probe_result probe(const black_box& box, const probe_options& options);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_PROBE_HPP_
