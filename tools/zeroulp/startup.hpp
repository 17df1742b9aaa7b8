// Defines what is done before main(), and what main() does of it: the standard
// streams are open, whoever started the program, and what the runtime of OpenMP
// says against its environment variables becomes one line.
//
// GCC's runtime reads them in a constructor, of a shared library before any of
// the program's: only .preinit_array comes earlier. Clang's does when it is
// first called.

#ifndef ZEROULP_TOOLS_ZEROULP_STARTUP_HPP_
#define ZEROULP_TOOLS_ZEROULP_STARTUP_HPP_

#include <string>

namespace zeroulp::program {

/// Returns what is wrong with the environment, in one line, or "". From now on
/// standard error is the user's.
std::string finish_startup();

/// The same for a signal's handler: what was held back is printed.
void release_standard_error() noexcept;

/// For the handler of SIGABRT: returns true iff the runtime of OpenMP gave up
/// on its variables, as Clang's does on some. That is said, in one line.
bool is_refused_by_openmp() noexcept;

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_STARTUP_HPP_
