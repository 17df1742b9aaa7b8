// Defines what a probe found as text and as JSON.

#ifndef ZEROULP_TOOLS_ZEROULP_PROBE_REPORT_HPP_
#define ZEROULP_TOOLS_ZEROULP_PROBE_REPORT_HPP_

#include "fuzz/probe/probe.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

json probe_json(const fuzz::black_box& box, const fuzz::probe_result& r);

/// Prints sentences, a table of the properties, and inputs that show them.
void print_probe(const fuzz::black_box& box, const fuzz::probe_result& r);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PROBE_REPORT_HPP_
