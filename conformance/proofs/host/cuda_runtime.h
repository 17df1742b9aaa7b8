// Defines, for the host's compiler, what emulator.cuh takes from CUDA: each
// instruction as IEEE 754 or the PTX ISA defines it. With ZEROULP_FAULT, fma.rz
// rounds to nearest.

#ifndef ZEROULP_CONFORMANCE_PROOFS_HOST_CUDA_RUNTIME_H_
#define ZEROULP_CONFORMANCE_PROOFS_HOST_CUDA_RUNTIME_H_

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>

#define __device__
#define __noinline__

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct thread_index {
  unsigned x;
};
inline thread_index threadIdx;

using std::max;

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(
      static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
      static_cast<unsigned>(low));
}
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x));
}
inline int __popc(unsigned x) { return std::popcount(x); }

/// Each half: max(a + b, c), signed.
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
  unsigned result = 0;
  for (int at = 0; at < 32; at += 16) {
    const auto sum = static_cast<std::int16_t>((a >> at) + (b >> at));
    const auto other = static_cast<std::int16_t>(c >> at);
    result |=
        static_cast<unsigned>(static_cast<std::uint16_t>(std::max(sum, other)))
        << at;
  }
  return result;
}

/// Rounds toward zero while it lives.
class toward_zero {
 public:
  toward_zero() {
#ifndef ZEROULP_FAULT
    std::fesetround(FE_TOWARDZERO);
#endif
  }
  ~toward_zero() { std::fesetround(FE_TONEAREST); }
  toward_zero(const toward_zero&) = delete;
  toward_zero& operator=(const toward_zero&) = delete;
};

// Operands and results are volatile: nothing moves out of the rounding mode.
inline float __fmaf_rz(float a, float b, float c) {
  const toward_zero mode;
  volatile float x = a;
  volatile float result = std::fma(x, b, c);
  return result;
}
inline double __fma_rz(double a, double b, double c) {
  const toward_zero mode;
  volatile double x = a;
  volatile double result = std::fma(x, b, c);
  return result;
}
inline float __double2float_rz(double a) {
  const toward_zero mode;
  volatile double x = a;
  volatile float result = static_cast<float>(x);
  return result;
}
inline float __fmul_rn(float a, float b) { return a * b; }

#endif  // ZEROULP_CONFORMANCE_PROOFS_HOST_CUDA_RUNTIME_H_
