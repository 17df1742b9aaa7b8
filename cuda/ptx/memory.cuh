// Defines loads and stores of global memory that the compiler may neither elide
// nor replace, and one with an L2 policy.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_MEMORY_CUH_
#define ZEROULP_CUDA_PTX_MEMORY_CUH_

#include <cstdint>

namespace zeroulp::cuda::ptx {

/// Loads 8 bytes, again if they have been loaded before.
__device__ inline void load_again(std::uint32_t (&w)[2], const void* at) {
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
               : "=r"(w[0]), "=r"(w[1])
               : "l"(at)
               : "memory");
}
/// Loads 16 bytes, again if they have been loaded before.
__device__ inline void load_again(std::uint32_t (&w)[4], const void* at) {
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "l"(at)
               : "memory");
}
/// Loads 16 bytes if `inside`, without a branch; else zeros.
__device__ inline void load_if(std::uint32_t (&w)[4], bool inside,
                               const void* at) {
  asm volatile(
      "{\n.reg .pred inside;\n"
      "setp.ne.u32 inside, %5, 0;\n"
      "mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
      "@inside ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
      : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
      : "l"(at), "r"(inside ? 1 : 0));
}
/// Loads a word if `inside`, without a branch; else 0.
__device__ inline std::uint32_t load_if(bool inside, const void* at) {
  std::uint32_t w;
  asm volatile(
      "{\n.reg .pred inside;\n"
      "setp.ne.u32 inside, %2, 0;\n"
      "mov.b32 %0, 0;\n"
      "@inside ld.global.u32 %0, [%1];\n}"
      : "=r"(w)
      : "l"(at), "r"(inside ? 1 : 0));
  return w;
}
/// Stores a word that is read again soon: the L2 evicts it last.
__device__ inline void store_evict_last(std::uint32_t* to, std::uint32_t word) {
  asm volatile(
      "{ .reg .b64 policy; "
      "createpolicy.fractional.L2::evict_last.b64 policy, 1.0; "
      "st.global.L2::cache_hint.u32 [%0], %1, policy; }" ::"l"(to),
      "r"(word)
      : "memory");
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_MEMORY_CUH_
