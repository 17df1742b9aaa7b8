// Defines `wgmma<N>`: wgmma.mma_async of every shape m64nNkK, with A in shared
// memory or in registers, FP32 or FP16 results, and negation of both operands.
//
//   wgmma<128>::run<type::e4m3, type::e5m2>(d, a, b, add);   d = (add ? d : 0)
//                                                              + a b
//
// K is 32 bytes of operands. d is float[N / 2] or, for FP16 results, N / 4
// words with two results each. B is a descriptor (ptx.hpp), A a descriptor or
// four words. Source: PTX ISA 9.0, "wgmma.mma_async".

#ifndef ZEROULP_CONFORMANCE_DEVICE_SILICON_WGMMA_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SILICON_WGMMA_HPP_

#include <boost/preprocessor/arithmetic/add.hpp>
#include <boost/preprocessor/arithmetic/div.hpp>
#include <boost/preprocessor/repetition/enum.hpp>
#include <boost/preprocessor/repetition/repeat_from_to.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <cstdint>

#include "conformance/device/silicon/ptx.hpp"

namespace zeroulp::conformance::device::ptx {

template <int N>
struct wgmma;

// Operands 0 to REGS - 1 are the result's registers.
#define ZEROULP_MORE(z, i, data) ", %" BOOST_PP_STRINGIZE(i)
#define ZEROULP_REGISTERS(REGS) \
  "{%0" BOOST_PP_REPEAT_FROM_TO(1, REGS, ZEROULP_MORE, ~) "}"
#define ZEROULP_OPERAND(REGS, i) "%" BOOST_PP_STRINGIZE(BOOST_PP_ADD(REGS, i))
#define ZEROULP_F32(z, i, data) "+f"(d[i])
#define ZEROULP_F16(z, i, data) "+r"(d[i])

// The immediate operands for "not transposed". Only 16-bit types take them; A
// has one only in shared memory.
#define ZEROULP_SHARED_16BIT ", 0, 0"
#define ZEROULP_REGISTER_16BIT ", 0"

#define ZEROULP_BEGIN(ADD)                    \
  "{\n.reg .pred add;\nsetp.ne.b32 add, " ADD \
  ", 0;\nwgmma.fence.sync.aligned;\n"
#define ZEROULP_END                       \
  ";\nwgmma.commit_group.sync.aligned;\n" \
  "wgmma.wait_group.sync.aligned 0;\n}"

#define ZEROULP_SHARED(N, REGS, K, D, TYPES, LAYOUT, REGISTER) \
  asm volatile(                                                                \
      ZEROULP_BEGIN(ZEROULP_OPERAND(REGS, 2))                                  \
      "wgmma.mma_async.sync.aligned.m64n" BOOST_PP_STRINGIZE(N) K D TYPES " "  \
      ZEROULP_REGISTERS(REGS) ", " ZEROULP_OPERAND(REGS, 0) ", "               \
      ZEROULP_OPERAND(REGS, 1) ", add, " ZEROULP_OPERAND(REGS, 3) ", "         \
      ZEROULP_OPERAND(REGS, 4) LAYOUT ZEROULP_END                              \
      : BOOST_PP_ENUM(REGS, REGISTER, ~)                                       \
      : "l"(a), "l"(b), "r"(add), "n"(SignA), "n"(SignB)                       \
      : "memory")

#define ZEROULP_FROM_REGISTERS(N, REGS, K, D, TYPES, LAYOUT, REGISTER) \
  asm volatile(                                                                \
      ZEROULP_BEGIN(ZEROULP_OPERAND(REGS, 5))                                  \
      "wgmma.mma_async.sync.aligned.m64n" BOOST_PP_STRINGIZE(N) K D TYPES " "  \
      ZEROULP_REGISTERS(REGS) ", {" ZEROULP_OPERAND(REGS, 0) ", "              \
      ZEROULP_OPERAND(REGS, 1) ", " ZEROULP_OPERAND(REGS, 2) ", "              \
      ZEROULP_OPERAND(REGS, 3) "}, " ZEROULP_OPERAND(REGS, 4) ", add, "        \
      ZEROULP_OPERAND(REGS, 6) ", " ZEROULP_OPERAND(REGS, 7) LAYOUT            \
      ZEROULP_END                                                              \
      : BOOST_PP_ENUM(REGS, REGISTER, ~)                                       \
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]),        \
        "l"(b), "r"(add), "n"(SignA), "n"(SignB)                               \
      : "memory")

// One instruction for each pair of types. FP16 results exist for FP8 and FP16.
#define ZEROULP_FP8_TYPES(ASM, N, REGS, D, REGISTER)         \
  if constexpr (A == type::e4m3 && B == type::e4m3) {        \
    ASM(N, REGS, "k32", D, ".e4m3.e4m3", "", REGISTER);      \
  } else if constexpr (A == type::e4m3 && B == type::e5m2) { \
    ASM(N, REGS, "k32", D, ".e4m3.e5m2", "", REGISTER);      \
  } else if constexpr (A == type::e5m2 && B == type::e4m3) { \
    ASM(N, REGS, "k32", D, ".e5m2.e4m3", "", REGISTER);      \
  } else if constexpr (A == type::e5m2 && B == type::e5m2) { \
    ASM(N, REGS, "k32", D, ".e5m2.e5m2", "", REGISTER);      \
  }
#define ZEROULP_F32_TYPES(ASM, N, REGS, LAYOUT)                     \
  ZEROULP_FP8_TYPES(ASM, N, REGS, ".f32", ZEROULP_F32)              \
  else if constexpr (A == type::bf16) {                             \
    ASM(N, REGS, "k16", ".f32", ".bf16.bf16", LAYOUT, ZEROULP_F32); \
  }                                                                 \
  else if constexpr (A == type::fp16) {                             \
    ASM(N, REGS, "k16", ".f32", ".f16.f16", LAYOUT, ZEROULP_F32);   \
  }                                                                 \
  else {                                                            \
    ASM(N, REGS, "k8", ".f32", ".tf32.tf32", "", ZEROULP_F32);      \
  }
#define ZEROULP_F16_TYPES(ASM, N, REGS, LAYOUT)                   \
  ZEROULP_FP8_TYPES(ASM, N, REGS, ".f16", ZEROULP_F16)            \
  else {                                                          \
    ASM(N, REGS, "k16", ".f16", ".f16.f16", LAYOUT, ZEROULP_F16); \
  }

#define ZEROULP_WGMMA(N, REGS, HALVES)                                      \
  template <>                                                               \
  struct wgmma<N> {                                                         \
    template <type A, type B, int SignA = 1, int SignB = 1>                 \
    __device__ static void run(float (&d)[REGS], std::uint64_t a,           \
                               std::uint64_t b, int add) {                  \
      ZEROULP_F32_TYPES(ZEROULP_SHARED, N, REGS, ZEROULP_SHARED_16BIT)      \
    }                                                                       \
    template <type A, type B, int SignA = 1, int SignB = 1>                 \
    __device__ static void run(float (&d)[REGS], const fragment_a& a,       \
                               std::uint64_t b, int add) {                  \
      ZEROULP_F32_TYPES(ZEROULP_FROM_REGISTERS, N, REGS,                    \
                        ZEROULP_REGISTER_16BIT)                             \
    }                                                                       \
    template <type A, type B, int SignA = 1, int SignB = 1>                 \
    __device__ static void run(std::uint32_t (&d)[HALVES], std::uint64_t a, \
                               std::uint64_t b, int add) {                  \
      ZEROULP_F16_TYPES(ZEROULP_SHARED, N, HALVES, ZEROULP_SHARED_16BIT)    \
    }                                                                       \
    template <type A, type B, int SignA = 1, int SignB = 1>                 \
    __device__ static void run(std::uint32_t (&d)[HALVES],                  \
                               const fragment_a& a, std::uint64_t b,        \
                               int add) {                                   \
      ZEROULP_F16_TYPES(ZEROULP_FROM_REGISTERS, N, HALVES,                  \
                        ZEROULP_REGISTER_16BIT)                             \
    }                                                                       \
  };

ZEROULP_WGMMA(8, 4, 2)
ZEROULP_WGMMA(16, 8, 4)
ZEROULP_WGMMA(24, 12, 6)
ZEROULP_WGMMA(32, 16, 8)
ZEROULP_WGMMA(40, 20, 10)
ZEROULP_WGMMA(48, 24, 12)
ZEROULP_WGMMA(56, 28, 14)
ZEROULP_WGMMA(64, 32, 16)
ZEROULP_WGMMA(72, 36, 18)
ZEROULP_WGMMA(80, 40, 20)
ZEROULP_WGMMA(88, 44, 22)
ZEROULP_WGMMA(96, 48, 24)
ZEROULP_WGMMA(104, 52, 26)
ZEROULP_WGMMA(112, 56, 28)
ZEROULP_WGMMA(120, 60, 30)
ZEROULP_WGMMA(128, 64, 32)
ZEROULP_WGMMA(136, 68, 34)
ZEROULP_WGMMA(144, 72, 36)
ZEROULP_WGMMA(152, 76, 38)
ZEROULP_WGMMA(160, 80, 40)
ZEROULP_WGMMA(168, 84, 42)
ZEROULP_WGMMA(176, 88, 44)
ZEROULP_WGMMA(184, 92, 46)
ZEROULP_WGMMA(192, 96, 48)
ZEROULP_WGMMA(200, 100, 50)
ZEROULP_WGMMA(208, 104, 52)
ZEROULP_WGMMA(216, 108, 54)
ZEROULP_WGMMA(224, 112, 56)
ZEROULP_WGMMA(232, 116, 58)
ZEROULP_WGMMA(240, 120, 60)
ZEROULP_WGMMA(248, 124, 62)
ZEROULP_WGMMA(256, 128, 64)

#undef ZEROULP_WGMMA
#undef ZEROULP_F16_TYPES
#undef ZEROULP_F32_TYPES
#undef ZEROULP_FP8_TYPES
#undef ZEROULP_FROM_REGISTERS
#undef ZEROULP_SHARED
#undef ZEROULP_END
#undef ZEROULP_BEGIN
#undef ZEROULP_REGISTER_16BIT
#undef ZEROULP_SHARED_16BIT
#undef ZEROULP_F16
#undef ZEROULP_F32
#undef ZEROULP_OPERAND
#undef ZEROULP_REGISTERS
#undef ZEROULP_MORE

}  // namespace zeroulp::conformance::device::ptx

#endif  // ZEROULP_CONFORMANCE_DEVICE_SILICON_WGMMA_HPP_
