// Defines the version of conformance/SPEC.md that this library follows.

#ifndef ZEROULP_SPEC_VERSION_HPP_
#define ZEROULP_SPEC_VERSION_HPP_

namespace zeroulp {

/// Tensors, vectors, tokens and journals name it. What they hold is read under
/// this version and those before it; a later one is refused.
inline constexpr int spec_version = 2;

/// Whether what is of version `v` can be read.
constexpr bool is_known_spec(int v) { return v >= 1 && v <= spec_version; }

}  // namespace zeroulp

#endif  // ZEROULP_SPEC_VERSION_HPP_
