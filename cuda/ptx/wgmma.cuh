// Defines wgmma of operands in shared memory with FP32 results:
//
//   wgmma<types, N>::run(d, a, b, add)      d = (add ? d : 0) + A B^T, FP8
//   wgmma_bf16<N, AMajor, BMajor>::run(d, a, b)              d += A B^T, BF16
//   wgmma_bf16_of_registers<N, BMajor>::run(d, a, b)         A in registers
//
// m64nNk32 of FP8, m64nNk16 of BF16. d is float[N / 2]; b is a descriptor, and
// so is a unless it says otherwise. wgmma is asynchronous:
//
//   fence_registers(d)  begin_wgmma()  wgmma...  commit_wgmma()
//   wait_for_wgmma()  fence_registers(d)
//
// Source: PTX ISA 9.0, "wgmma.mma_async".

#ifndef ZEROULP_CUDA_PTX_WGMMA_CUH_
#define ZEROULP_CUDA_PTX_WGMMA_CUH_

#include "cuda/ptx/barrier.cuh"

namespace zeroulp::cuda::ptx {

/// Required before the first wgmma and after other uses of its registers.
__device__ inline void begin_wgmma() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit_wgmma() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Pending = 0>
__device__ void wait_for_wgmma() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
/// Keeps the compiler from moving uses of the registers d across this point.
template <int Count>
__device__ void fence_registers(float (&d)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

/// The same for operands in registers: they stay until this point.
template <int Steps>
__device__ void fence_registers(std::uint32_t (&a)[Steps][4]) {
#pragma unroll
  for (int i = 0; i < Steps; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("" : "+r"(a[i][j])::"memory");
  }
}

/// The lower word of the descriptor of a K-major operand: rows of 128 bytes in
/// the 128-byte swizzle, as a TMA box leaves them. `tile` is a multiple of
/// 1024, plus 32 for each step along K.
__device__ inline unsigned descriptor_word(shared_address tile) {
  constexpr unsigned leading = 1u << 16;
  return leading | (tile & 0x3ffff) >> 4;
}
/// The descriptor with this lower word.
__device__ inline std::uint64_t descriptor_of(unsigned word) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62;
  constexpr std::uint64_t stride_1024 = std::uint64_t{1024 >> 4} << 32;
  return swizzle_128 | stride_1024 | word;
}
__device__ inline std::uint64_t descriptor(shared_address tile) {
  return descriptor_of(descriptor_word(tile));
}

/// Which elements of a BF16 operand in shared memory are adjacent: those along
/// K or those along M (N).
enum class operand_major : std::uint8_t { k, mn };

/// The descriptor of an operand along M: boxes of 64 elements along M and 64 of
/// K, 8192 bytes each, as TMA leaves them in the 128-byte swizzle. `tile` is a
/// multiple of 1024, plus 2048 for each step of 16 along K.
__device__ inline std::uint64_t mn_major_descriptor(shared_address tile) {
  constexpr unsigned leading_8192 = (8192u >> 4) << 16;
  return descriptor_of(leading_8192 | (tile & 0x3ffff) >> 4);
}

/// Stores four 8 x 8 matrices of 16-bit elements in the layout of wgmma's
/// results (stmatrix). Lane 8 i + r passes the address of row r of matrix i.
__device__ inline void stmatrix_x4(shared_address to,
                                   const std::uint32_t (&word)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
          to),
      "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
      : "memory");
}

enum class fp8_types : std::uint8_t {
  e4m3_e4m3,
  e4m3_e5m2,
  e5m2_e4m3,
  e5m2_e5m2
};

template <fp8_types Types, int N>
struct wgmma;
template <int N, operand_major A, operand_major B>
struct wgmma_bf16;
template <int N, operand_major B>
struct wgmma_bf16_of_registers;

#define ZEROULP_D16 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define ZEROULP_D28 \
  ZEROULP_D16       \
  ", "              \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27"
#define ZEROULP_D32                                                   \
  ZEROULP_D16                                                         \
  ", "                                                                \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, " \
  "%29, %30, %31"
#define ZEROULP_D64                                                   \
  ZEROULP_D32                                                         \
  ", "                                                                \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, " \
  "%45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, " \
  "%58, %59, %60, %61, %62, %63"
#define ZEROULP_D96                                                   \
  ZEROULP_D64                                                         \
  ", "                                                                \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, " \
  "%77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, " \
  "%90, %91, %92, %93, %94, %95"
#define ZEROULP_D4 "%0, %1, %2, %3"
#define ZEROULP_D128                                                     \
  ZEROULP_D64                                                            \
  ", "                                                                   \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, "    \
  "%77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, "    \
  "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, " \
  "%103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, "   \
  "%114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "   \
  "%125, %126, %127"

#define ZEROULP_F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define ZEROULP_F16(i) \
  ZEROULP_F4(i), ZEROULP_F4(i + 4), ZEROULP_F4(i + 8), ZEROULP_F4(i + 12)
#define ZEROULP_F28(i) \
  ZEROULP_F16(i), ZEROULP_F4(i + 16), ZEROULP_F4(i + 20), ZEROULP_F4(i + 24)
#define ZEROULP_F32(i) ZEROULP_F16(i), ZEROULP_F16(i + 16)
#define ZEROULP_F64(i) ZEROULP_F32(i), ZEROULP_F32(i + 32)
#define ZEROULP_F96(i) ZEROULP_F64(i), ZEROULP_F32(i + 64)
#define ZEROULP_F128(i) ZEROULP_F64(i), ZEROULP_F64(i + 64)

// asm operands 0 to REGS - 1 are the result; P0 to P2 number the others.
#define ZEROULP_WGMMA(N, REGS, P0, P1, P2, TYPES, SUFFIX)                      \
  template <>                                                                  \
  struct wgmma<fp8_types::TYPES, N> {                                          \
    __device__ static void run(float (&d)[REGS], std::uint64_t a,              \
                               std::uint64_t b, int add) {                     \
      asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #P2                \
                   ", 0;\n"                                                    \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32" SUFFIX     \
                   " {" ZEROULP_D##REGS "}, %" #P0 ", %" #P1 ", add, 1, 1;\n}" \
                   : ZEROULP_F##REGS(0)                                        \
                   : "l"(a), "l"(b), "r"(add)                                  \
                   : "memory");                                                \
    }                                                                          \
  };
#define ZEROULP_WGMMA_TYPES(N, REGS, P0, P1, P2)              \
  ZEROULP_WGMMA(N, REGS, P0, P1, P2, e4m3_e4m3, ".e4m3.e4m3") \
  ZEROULP_WGMMA(N, REGS, P0, P1, P2, e4m3_e5m2, ".e4m3.e5m2") \
  ZEROULP_WGMMA(N, REGS, P0, P1, P2, e5m2_e4m3, ".e5m2.e4m3") \
  ZEROULP_WGMMA(N, REGS, P0, P1, P2, e5m2_e5m2, ".e5m2.e5m2")

ZEROULP_WGMMA_TYPES(32, 16, 16, 17, 18)
ZEROULP_WGMMA_TYPES(56, 28, 28, 29, 30)
ZEROULP_WGMMA_TYPES(64, 32, 32, 33, 34)
ZEROULP_WGMMA_TYPES(128, 64, 64, 65, 66)
ZEROULP_WGMMA_TYPES(256, 128, 128, 129, 130)

// The last two immediates say which operands are along M (N). `add`: as of FP8.
#define ZEROULP_WGMMA_BF16(N, REGS, P0, P1, P2, P3, P4)                       \
  template <operand_major A, operand_major B>                                 \
  struct wgmma_bf16<N, A, B> {                                                \
    __device__ static void run(float (&d)[REGS], std::uint64_t a,             \
                               std::uint64_t b, int add = 1) {                \
      asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #P4               \
                   ", 0;\n"                                                   \
                   "wgmma.mma_async.sync.aligned.m64n" #N                     \
                   "k16.f32.bf16.bf16 {" ZEROULP_D##REGS                      \
                   "}, %" #P0 ", %" #P1 ", add, 1, 1, %" #P2 ", %" #P3 ";\n}" \
                   : ZEROULP_F##REGS(0)                                       \
                   : "l"(a), "l"(b), "n"(A == operand_major::mn),             \
                     "n"(B == operand_major::mn), "r"(add)                    \
                   : "memory");                                               \
    }                                                                         \
  };
ZEROULP_WGMMA_BF16(8, 4, 4, 5, 6, 7, 8)
ZEROULP_WGMMA_BF16(64, 32, 32, 33, 34, 35, 36)
ZEROULP_WGMMA_BF16(128, 64, 64, 65, 66, 67, 68)
ZEROULP_WGMMA_BF16(192, 96, 96, 97, 98, 99, 100)
ZEROULP_WGMMA_BF16(256, 128, 128, 129, 130, 131, 132)

// A lies in registers as D does: a thread has elements 2 q, 2 q + 1 and those
// plus 8 of rows r and r + 8, q = lane mod 4; a[1] and a[3] are of row r + 8,
// a[2] and a[3] of the second eight columns.
#define ZEROULP_WGMMA_BF16_RS(N, REGS, P0, P1, P2, P3, P4, P5)                 \
  template <operand_major B>                                                   \
  struct wgmma_bf16_of_registers<N, B> {                                       \
    __device__ static void run(float (&d)[REGS], const std::uint32_t (&a)[4],  \
                               std::uint64_t b) {                              \
      asm volatile(                                                            \
          "{\n.reg .pred add;\nsetp.eq.b32 add, 0, 0;\n"                       \
          "wgmma.mma_async.sync.aligned.m64n" #N                               \
          "k16.f32.bf16.bf16 {" ZEROULP_D##REGS "}, {%" #P0 ", %" #P1          \
                                                ", %" #P2 ", %" #P3 "}, %" #P4 \
                                                ", add, 1, 1, %" #P5 ";\n}"    \
          : ZEROULP_F##REGS(0)                                                 \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),                \
            "n"(B == operand_major::mn)                                        \
          : "memory");                                                         \
    }                                                                          \
  };
ZEROULP_WGMMA_BF16_RS(8, 4, 4, 5, 6, 7, 8, 9)
ZEROULP_WGMMA_BF16_RS(64, 32, 32, 33, 34, 35, 36, 37)
ZEROULP_WGMMA_BF16_RS(128, 64, 64, 65, 66, 67, 68, 69)
ZEROULP_WGMMA_BF16_RS(192, 96, 96, 97, 98, 99, 100, 101)

#undef ZEROULP_WGMMA_BF16_RS
#undef ZEROULP_WGMMA_BF16
#undef ZEROULP_WGMMA_TYPES
#undef ZEROULP_WGMMA
#undef ZEROULP_F128
#undef ZEROULP_F96
#undef ZEROULP_F64
#undef ZEROULP_F32
#undef ZEROULP_F28
#undef ZEROULP_F16
#undef ZEROULP_F4
#undef ZEROULP_D128
#undef ZEROULP_D96
#undef ZEROULP_D64
#undef ZEROULP_D32
#undef ZEROULP_D28
#undef ZEROULP_D16
#undef ZEROULP_D4

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_WGMMA_CUH_
