// Defines the checks of a plug-in: for each claim the cases of the engine, then
// every check of the registry in which something is asked that it claims.

#ifndef ZEROULP_TOOLS_ZEROULP_CONFORM_PLUGIN_HPP_
#define ZEROULP_TOOLS_ZEROULP_CONFORM_PLUGIN_HPP_

#include <memory>

#include "conformance/contract/registry.hpp"
#include "conformance/plugin/plugin.hpp"
#include "tools/zeroulp/conform/picture.hpp"

namespace zeroulp::program {

/// `file` is what the commands in a finding call it. The implementation that
/// the checks are given is implementation_of(code). A claim that fails adds its
/// picture to `album`, which lives as long as the checks.
conformance::check_list plugin_checks(
    const std::string& file,
    const std::shared_ptr<conformance::plugin::plugin_code>& code,
    const std::shared_ptr<picture_album>& album);

/// Why a check of the registry says nothing of a plug-in.
inline constexpr const char* asks_nothing = "asks nothing that it claims";

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CONFORM_PLUGIN_HPP_
