// Defines what is said of a mechanism: its properties, and their other values.

#ifndef ZEROULP_FUZZ_PROBE_PROPERTIES_HPP_
#define ZEROULP_FUZZ_PROBE_PROPERTIES_HPP_

#include <vector>

#include "fuzz/probe/probe.hpp"

namespace zeroulp::fuzz {

/// The experiment beside what `m` gives for it.
evidence_of evidence_for(const experiment& e, const mechanism& m);

/// Every property of `m`, held against all that was asked.
std::vector<found_property> properties_of(const experiments& asked,
                                          const mechanism& m);

}  // namespace zeroulp::fuzz

#endif  // ZEROULP_FUZZ_PROBE_PROPERTIES_HPP_
