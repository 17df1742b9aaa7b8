// Defines the PTX that checks compare with the core, each instruction wrapped
// once:
//
//   mma<A, B>::run(d, a, b)   mma.sync.m16n8kK: one warp, A and B in registers
//   short_mma<A, B>           the same for half of K; it reads a.word[0..1] and
//                             b.word[0]
//   rcp_approx, div_full
//
// wgmma is in wgmma.hpp, cvt in ptx_conversions.hpp. K is 32 bytes of operands.
// d is float[4] or, for FP16 results, two words with two results each. Source:
// PTX ISA 9.0, "mma", "rcp", "div".

#ifndef ZEROULP_CONFORMANCE_DEVICE_SILICON_PTX_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SILICON_PTX_HPP_

#include <cstdint>

namespace zeroulp::conformance::device::ptx {

enum class type : std::uint8_t { e4m3, e5m2, bf16, fp16, tf32 };

/// The registers of one thread for an operand of mma.sync.
struct fragment_a {
  std::uint32_t word[4];
};
struct fragment_b {
  std::uint32_t word[2];
};

/// Makes ordinary stores to shared memory visible to wgmma.
__device__ inline void fence_shared_for_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Returns the descriptor of a K-major matrix in shared memory without swizzle:
/// core matrices of 8 rows of 16 bytes, `k_bytes` apart along K and `row_bytes`
/// apart along M or N.
__device__ inline std::uint64_t matrix_descriptor(const void* matrix,
                                                  unsigned k_bytes,
                                                  unsigned row_bytes) {
  const auto address =
      static_cast<std::uint64_t>(__cvta_generic_to_shared(matrix));
  return ((address & 0x3ffff) >> 4) |
         (static_cast<std::uint64_t>(k_bytes >> 4) << 16) |
         (static_cast<std::uint64_t>(row_bytes >> 4) << 32);
}

template <type A, type B>
struct mma;
template <type A, type B>
struct short_mma;

// `SHAPE` and `TYPES` are spelled as in PTX.
#define ZEROULP_MMA_F32(SHAPE, TYPES)                                  \
  __device__ static void run(float(&d)[4], const fragment_a& a,        \
                             const fragment_b& b) {                    \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPES       \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
                 "{%0, %1, %2, %3};"                                   \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])      \
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]),     \
                   "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));    \
  }

#define ZEROULP_MMA_F16(SHAPE, TYPES)                                   \
  __device__ static void run(std::uint32_t(&d)[2], const fragment_a& a, \
                             const fragment_b& b) {                     \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f16." TYPES        \
                 ".f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};" \
                 : "+r"(d[0]), "+r"(d[1])                               \
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]),      \
                   "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]));     \
  }

#define ZEROULP_SHORT_MMA_F32(SHAPE, TYPES)                         \
  __device__ static void run(float(&d)[4], const fragment_a& a,     \
                             const fragment_b& b) {                 \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPES    \
                 ".f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "          \
                 "{%0, %1, %2, %3};"                                \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])   \
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(b.word[0])); \
  }

#define ZEROULP_SHORT_MMA_F16(SHAPE, TYPES)                             \
  __device__ static void run(std::uint32_t(&d)[2], const fragment_a& a, \
                             const fragment_b& b) {                     \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f16." TYPES        \
                 ".f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"             \
                 : "+r"(d[0]), "+r"(d[1])                               \
                 : "r"(a.word[0]), "r"(a.word[1]), "r"(b.word[0]));     \
  }

// Both lengths of K; the shapes are spelled as in PTX.
#define ZEROULP_F32(A, B, LONG, SHORT, TYPES) \
  template <>                                 \
  struct mma<type::A, type::B> {              \
    ZEROULP_MMA_F32(LONG, TYPES)              \
  };                                          \
  template <>                                 \
  struct short_mma<type::A, type::B> {        \
    ZEROULP_SHORT_MMA_F32(SHORT, TYPES)       \
  };

#define ZEROULP_F32_AND_F16(A, B, LONG, SHORT, TYPES) \
  template <>                                         \
  struct mma<type::A, type::B> {                      \
    ZEROULP_MMA_F32(LONG, TYPES)                      \
    ZEROULP_MMA_F16(LONG, TYPES)                      \
  };                                                  \
  template <>                                         \
  struct short_mma<type::A, type::B> {                \
    ZEROULP_SHORT_MMA_F32(SHORT, TYPES)               \
    ZEROULP_SHORT_MMA_F16(SHORT, TYPES)               \
  };

ZEROULP_F32_AND_F16(e4m3, e4m3, "m16n8k32", "m16n8k16", "e4m3.e4m3")
ZEROULP_F32_AND_F16(e4m3, e5m2, "m16n8k32", "m16n8k16", "e4m3.e5m2")
ZEROULP_F32_AND_F16(e5m2, e4m3, "m16n8k32", "m16n8k16", "e5m2.e4m3")
ZEROULP_F32_AND_F16(e5m2, e5m2, "m16n8k32", "m16n8k16", "e5m2.e5m2")
ZEROULP_F32_AND_F16(fp16, fp16, "m16n8k16", "m16n8k8", "f16.f16")
ZEROULP_F32(bf16, bf16, "m16n8k16", "m16n8k8", "bf16.bf16")
ZEROULP_F32(tf32, tf32, "m16n8k8", "m16n8k4", "tf32.tf32")

#undef ZEROULP_F32_AND_F16
#undef ZEROULP_F32
#undef ZEROULP_SHORT_MMA_F16
#undef ZEROULP_SHORT_MMA_F32
#undef ZEROULP_MMA_F16
#undef ZEROULP_MMA_F32

__device__ inline float rcp_approx(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

__device__ inline float div_full(float a, float b) {
  float r;
  asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}

}  // namespace zeroulp::conformance::device::ptx

#endif  // ZEROULP_CONFORMANCE_DEVICE_SILICON_PTX_HPP_
