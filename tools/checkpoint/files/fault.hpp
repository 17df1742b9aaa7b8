// Defines how a checkpoint is found wrong: `fault`, one line that names file,
// tensor, what was expected and what was found.

#ifndef ZEROULP_TOOLS_CHECKPOINT_FILES_FAULT_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_FILES_FAULT_HPP_

#include <string>
#include <string_view>

#include "zeroulp/io.hpp"

namespace zeroulp::checkpoint {

struct fault {
  std::string check;  ///< its name in reports, such as "grid"
  std::string file;
  std::string tensor;  ///< empty: the file itself
  std::string expected;
  std::string found;

  std::string text() const {
    return file + (tensor.empty() ? "" : ": tensor " + tensor) + ": expected " +
           expected + ", found " + found;
  }
};

[[noreturn]] inline void refuse(const fault& f) { throw input_error(f.text()); }

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_FILES_FAULT_HPP_
