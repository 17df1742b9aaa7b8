// Defines how a kernel is compiled for several sets of vector instructions:
//
//   kernel.cpp      #define HWY_TARGET_INCLUDE "kernel.cpp", the code between
//                   HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE, then in its
//                   HWY_ONCE part ZEROULP_SIMD_DISPATCH(function)(arguments)
//
// Highway's headers alone: its library is not needed, so that the program needs
// none. Internal.

#ifndef ZEROULP_SRC_BASE_SIMD_HPP_
#define ZEROULP_SRC_BASE_SIMD_HPP_

// g++ before 12.3 miscompiles high halves of products (GCC bug 106322), which
// no kernel here takes: vectors of 16 bytes in portable code with g++, too.
#define HWY_BROKEN_EMU128 0
// Portable code, AVX2 and AVX-512 are the sets that there are.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

#include <hwy/detect_targets.h>

#include "zeroulp/simd.hpp"

// Built for a newer processor, a set's predecessors do not exist.
#if HWY_TARGETS & HWY_AVX3
#define ZEROULP_SIMD_AVX512(FUNCTION) N_AVX3::FUNCTION
#else
#define ZEROULP_SIMD_AVX512(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#endif
#if HWY_TARGETS & HWY_AVX2
#define ZEROULP_SIMD_AVX2(FUNCTION) N_AVX2::FUNCTION
#else
#define ZEROULP_SIMD_AVX2(FUNCTION) HWY_STATIC_DISPATCH(FUNCTION)
#endif

/// The function of the enclosing namespace that was compiled for the set in
/// use.
#define ZEROULP_SIMD_DISPATCH(FUNCTION)           \
  (engine::current_simd() == engine::simd::avx512 \
       ? &ZEROULP_SIMD_AVX512(FUNCTION)           \
   : engine::current_simd() == engine::simd::avx2 \
       ? &ZEROULP_SIMD_AVX2(FUNCTION)             \
       : &HWY_STATIC_DISPATCH(FUNCTION))

#endif  // ZEROULP_SRC_BASE_SIMD_HPP_
