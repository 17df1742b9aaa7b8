// Defines which vector instructions the compiled library uses: the best that
// this processor has, unless the caller chooses another set or the core itself.
// The choice changes no bit.

#ifndef ZEROULP_SIMD_HPP_
#define ZEROULP_SIMD_HPP_

#include <cstdint>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace zeroulp::engine {

enum class simd : std::uint8_t {
  reference,  ///< none of the library's kernels: the core, element by element
  portable,
  avx2,
  avx512,
};

struct named_simd {
  const char* name;
  simd value;
};

inline constexpr named_simd named_simds[] = {
    {"reference", simd::reference},
    {"portable", simd::portable},
    {"avx2", simd::avx2},
    {"avx512", simd::avx512},
};

/// The sets that this build has and this processor runs, slowest first; the
/// reference is not among them.
const std::vector<simd>& supported_simd();

/// The set that every thread uses.
simd current_simd();

/// The whole process uses `set` (the reference is allowed) from now on. Throws
/// std::invalid_argument if it is not supported.
void use_simd(simd set);

}  // namespace zeroulp::engine
#pragma GCC visibility pop

#endif  // ZEROULP_SIMD_HPP_
