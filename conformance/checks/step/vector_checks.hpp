// Defines `check_vectors_in`: an implementation held against recorded files.

#ifndef ZEROULP_CONFORMANCE_CHECKS_STEP_VECTOR_CHECKS_HPP_
#define ZEROULP_CONFORMANCE_CHECKS_STEP_VECTOR_CHECKS_HPP_

#include <filesystem>

#include "conformance/contract/registry.hpp"

namespace zeroulp::conformance {

/// Holds `i` against the files that MANIFEST in `directory` lists, and those
/// against their checksums: a sample at level 0, every record above. Skipped if
/// there is no MANIFEST. What it reads it keeps, for the next implementation.
verdict check_vectors_in(const std::filesystem::path& directory,
                         const implementation& i, const effort& e);

}  // namespace zeroulp::conformance

#endif  // ZEROULP_CONFORMANCE_CHECKS_STEP_VECTOR_CHECKS_HPP_
