// Defines how the library of a plug-in is loaded, and what of its table is
// looked at.

#ifndef ZEROULP_TOOLS_ZEROULP_PLUGIN_LIBRARY_HPP_
#define ZEROULP_TOOLS_ZEROULP_PLUGIN_LIBRARY_HPP_

#include <stdexcept>

#include "zeroulp/plugin.h"

namespace zeroulp::program {

/// What is wrong with the library, for its user to read.
class bad_plugin : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Loads the library for good, and returns its table, as long as this
/// version's; every function that is claimed is there. Throws bad_plugin.
zeroulp_plugin load_plugin(const char* file);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_PLUGIN_LIBRARY_HPP_
