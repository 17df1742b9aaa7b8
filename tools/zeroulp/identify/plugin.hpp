// Defines how a plug-in is identified: which definition gives the bits that it
// makes of matrices that tell definitions apart.

#ifndef ZEROULP_TOOLS_ZEROULP_IDENTIFY_PLUGIN_HPP_
#define ZEROULP_TOOLS_ZEROULP_IDENTIFY_PLUGIN_HPP_

#include <memory>
#include <string>
#include <vector>

#include "conformance/plugin/plugin.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

struct plugin_identity {
  bool exact = false;
  bool finite = false;  ///< of finite inputs alone: others part from them all
  std::vector<std::string> names;  ///< the named rows that give every bit
  std::uint64_t words = 0;         ///< compared
  std::string text;
  json as_json;
};

/// Of a claim on quantize or gemm. Throws input_error if the plug-in refuses,
/// call_failure if it fails.
plugin_identity identify_claim(
    const std::shared_ptr<conformance::plugin::plugin_code>& code,
    const conformance::plugin::claim& c);

/// Identifies what is claimed of `t` without a name, and holds it to the name
/// from now on; returns a line on each. Throws input_error where there is none.
std::string adopt_identities(
    const std::shared_ptr<conformance::plugin::plugin_code>& code,
    fuzz::target t);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_IDENTIFY_PLUGIN_HPP_
