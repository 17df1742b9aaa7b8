// Defines Hopper's tensor-core step on ordinary GPU cores, fast, for the tile
// of outputs that a thread block computes.
//
//   M = 1.5 * 2^(largest + p - F), p the fraction bits of float or double
//   fma.rz(|a|, |b|, M)  cuts |a b| to F bits below 2^largest, toward zero: the
//                        low bits of the result count quanta
//
// Signs are applied to those bits by XOR. The bits that M and the complements
// add are subtracted once a step, by a popcount of the signs. Sums are exact:
// 32 products below 2^(F + 2) quanta. Each result equals that of
// core/accumulate.hpp's `step`. Where the window does not hold, `step` itself
// is called: for Inf and NaN, and in FP32 for |c| >= 2^(104 + F).
//
// Source: SPEC clauses T1 to T12. Not covered: what-if accumulators that vary
// more than F, or have more than 13 fraction bits.

#ifndef ZEROULP_CUDA_EMULATOR_EMULATOR_CUH_
#define ZEROULP_CUDA_EMULATOR_EMULATOR_CUH_

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "cuda/ptx/arithmetic.cuh"
#include "zeroulp/core/path.hpp"

namespace zeroulp::emulator {

/// Rows and columns of outputs that a block of 256 threads computes.
inline constexpr int tile_rows = 64;
inline constexpr int tile_cols = 128;
inline constexpr int threads = 256;
/// A thread's outputs: 4 rows by 2 times 4 columns.
inline constexpr int thread_rows = 4;
inline constexpr int thread_cols = 8;

/// The place (exponent) of zeros. No term has it, so zeros never align the sum.
inline constexpr int nowhere = -8192;

/// The window in FP32: F <= 13, L <= 32.
struct narrow {
  using real = float;
  static __device__ real anchor(int largest, int fraction_bits) {
    const int e = largest + 23 - fraction_bits + 127;
    return __uint_as_float(static_cast<unsigned>(e) << 23 | 0x400000u);
  }
  static __device__ int largest(real anchor, int fraction_bits) {
    return static_cast<int>(__float_as_uint(anchor) >> 23) - 127 - 23 +
           fraction_bits;
  }
  static __device__ real fma_rz(real a, real b, real c) {
    return __fmaf_rz(a, b, c);
  }
  static __device__ std::uint32_t quanta(real x) { return __float_as_uint(x); }
  static __device__ real power(int e) {  // e >= -139
    return e < -126 ? __uint_as_float(1u << (e + 149))
                    : __uint_as_float(static_cast<unsigned>(e + 127) << 23);
  }
};

/// The window in FP64: F <= 25. Only the low words count: they hold 32 bits of
/// quanta, and M has none there.
struct broad {
  using real = double;
  static __device__ real anchor(int largest, int fraction_bits) {
    const int e = largest + 52 - fraction_bits + 1023;
    return __hiloint2double(e << 20 | 0x80000, 0);
  }
  static __device__ int largest(real anchor, int fraction_bits) {
    return (__double2hiint(anchor) >> 20) - 1023 - 52 + fraction_bits;
  }
  static __device__ real fma_rz(real a, real b, real c) {
    return __fma_rz(a, b, c);
  }
  static __device__ std::uint32_t quanta(real x) {
    return static_cast<std::uint32_t>(__double2loint(x));
  }
  static __device__ real power(int e) {
    return __hiloint2double((e + 1023) << 20, 0);
  }
};

/// What becomes of a sum: `window` keeps its leading bits, as many as the
/// window has fraction bits, and one.
enum class result : std::uint8_t { window, fp32, fp16 };

/// A row of SPEC T12 that is one step.
template <class Window, int L, int F, int Floor, result Result>
struct unit {
  using window = Window;
  using real = typename Window::real;
  static constexpr int length = L;
  static constexpr int fraction_bits = F;
  static constexpr int floor = Floor;
  static constexpr result output = Result;
  static constexpr bool is_half = Result == result::fp16;
  /// How many products are summed in 32 bits, with a sign.
  static constexpr int group = L * (1 << F) >= (1 << 29) ? 8 : L;
};

/// what_if_fraction(F), F < 13. It has no floor: no product of FP8 codes, and
/// no sum of such from 0, has a place below this one.
template <int F>
using fp8_what_if = unit<narrow, 32, F, -126, result::window>;
using fp8_f32 = unit<narrow, 32, 13, -126, result::window>;
using fp8_f16 = unit<narrow, 32, 13, -126, result::fp16>;
using half_f32 = unit<broad, 16, 25, -133, result::fp32>;
using half_f16 = unit<broad, 16, 25, -21, result::fp16>;
using tf32_f32 = unit<broad, 8, 25, -133, result::fp32>;

/// The operands of one step, decoded, in shared memory.
template <class Unit>
struct operand_tile {
  using real = typename Unit::real;
  static constexpr int length = Unit::length;

  // [k][row], so that neighbouring threads read neighbours.
  alignas(16) real magnitude_a[length][tile_rows];
  alignas(16) real magnitude_b[length][tile_cols];
  alignas(16) std::uint32_t sign_a[length][tile_rows];  // 0 or ~0
  alignas(16) std::uint32_t sign_b[length][tile_cols];
  // Two places a word: k even in the low half.
  alignas(16) std::uint32_t place_a[length / 2][tile_rows];
  alignas(16) std::uint32_t place_b[length / 2][tile_cols];
  std::uint32_t minus_a[tile_rows];  // bit k: the sign
  std::uint32_t minus_b[tile_cols];
  std::uint32_t special_a[tile_rows];  // nonzero: has an Inf or NaN
  std::uint32_t special_b[tile_cols];
  using code = std::conditional_t<length == 32, std::uint8_t, std::uint32_t>;
  code code_a[length][tile_rows];
  code code_b[length][tile_cols];
};

/// Decodes an operand of at most 19 bits and stores it as element k of row
/// `row`. Returns bit k of the signs and of the specials.
template <class Unit>
__device__ uint2 store_element(operand_tile<Unit>& t, bool is_a, int row, int k,
                               format f, std::uint32_t code) {
  using real = typename Unit::real;
  const std::uint32_t magnitude =
      code & static_cast<std::uint32_t>(f.magnitude_mask());
  const bool negative = code != magnitude;
  const bool special = magnitude > f.max_code();
  const int e = static_cast<int>(magnitude >> f.man_bits);
  const int place =
      magnitude == 0 || special ? nowhere : (e == 0 ? 1 : e) - f.bias;
  // The exponent field of FP32 is wider: subnormals come out right, too.
  const float wide = __uint_as_float(magnitude << (23 - f.man_bits));
  const real value =
      special ? 0
              : static_cast<real>(__fmul_rn(wide, narrow::power(127 - f.bias)));
  (is_a ? t.magnitude_a[k][row] : t.magnitude_b[k][row]) = value;
  (is_a ? t.sign_a[k][row] : t.sign_b[k][row]) = negative ? ~0u : 0u;
  (is_a ? t.code_a[k][row] : t.code_b[k][row]) =
      static_cast<typename operand_tile<Unit>::code>(code);
  auto* places = reinterpret_cast<std::int16_t*>(is_a ? &t.place_a[k / 2][row]
                                                      : &t.place_b[k / 2][row]);
  places[k % 2] = static_cast<std::int16_t>(place);
  return {negative ? 1u << k : 0u, special ? 1u << k : 0u};
}

/// 32 bytes of a row of operands.
struct row_words {
  std::uint32_t word[8];

  /// Element k, for elements of `Bytes` bytes.
  template <int Bytes>
  __device__ std::uint32_t element(int k) const {
    constexpr int per_word = 4 / Bytes;
    const std::uint32_t w = word[k / per_word] >> (k % per_word * 8 * Bytes);
    return Bytes == 4 ? w : w & ((1u << (8 * Bytes % 32)) - 1);
  }
};

/// Decodes all operands, a thread a row. `fetch(is_a, row)` loads the row's
/// words; `pick(words, is_a, k)` extracts code k.
template <class Unit, class Fetch, class Pick>
__device__ void store_operands(operand_tile<Unit>& t, format a, format b,
                               Fetch fetch, Pick pick) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread >= tile_rows + tile_cols) return;
  const bool is_a = thread < tile_rows;
  const int row = is_a ? thread : thread - tile_rows;
  const row_words words = fetch(is_a, row);
  std::uint32_t minus = 0;
  std::uint32_t special = 0;
#pragma unroll
  for (int k = 0; k < Unit::length; ++k) {
    const uint2 bits =
        store_element(t, is_a, row, k, is_a ? a : b, pick(words, is_a, k));
    minus |= bits.x;
    special |= bits.y;
  }
  (is_a ? t.minus_a[row] : t.minus_b[row]) = minus;
  (is_a ? t.special_a[row] : t.special_b[row]) = special;
}

/// The row and column of output (r, c) of this thread.
__device__ inline int row_of(int r) {
  return static_cast<int>(threadIdx.x) / 16 * thread_rows + r;
}
__device__ inline int col_of(int c) {
  return c / 4 * 64 + static_cast<int>(threadIdx.x) % 16 * 4 + c % 4;
}

/// Four neighbours of a row of shared memory.
template <class T>
__device__ void load4(const T* from, T* to) {
  if constexpr (sizeof(T) == 4) {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
  } else {
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    *reinterpret_cast<uint4*>(to + 2) =
        *reinterpret_cast<const uint4*>(from + 2);
  }
}

/// This thread's part of row k of a tile.
template <class T>
struct fragment {
  alignas(16) T a[thread_rows];
  alignas(16) T b[thread_cols];

  __device__ fragment(const T (&row_a)[tile_rows],
                      const T (&row_b)[tile_cols]) {
    load4(&row_a[row_of(0)], a);
    load4(&row_b[col_of(0)], b);
    load4(&row_b[col_of(4)], b + 4);
  }
};

/// A row or column of a tile, as the core reads operands.
template <class Code, int Rows>
struct code_column {
  const Code (*codes)[Rows];
  int row;
  format f;
  __device__ unpacked operator[](std::ptrdiff_t k) const {
    return decode(f, codes[k][row]);
  }
};

/// The core's step.
template <class Unit>
__device__ __noinline__ std::uint32_t core_step(const path& p,
                                                const operand_tile<Unit>& t,
                                                int row, int col,
                                                std::uint32_t c) {
  using code = typename operand_tile<Unit>::code;
  return static_cast<std::uint32_t>(
      step(p, code_column<code, tile_rows>{t.code_a, row, p.a},
           code_column<code, tile_cols>{t.code_b, col, p.b}, Unit::length, c));
}

/// c as a term: FP32 bits, or FP16 for units of that result.
template <class Unit>
struct addend_term {
  using real = typename Unit::real;
  real magnitude;
  int place;
  bool negative;
  bool outside;  // of the window

  __device__ explicit addend_term(std::uint32_t c) {
    constexpr int man = Unit::is_half ? 10 : 23;
    constexpr int exp_mask = Unit::is_half ? 31 : 255;
    constexpr int bias = Unit::is_half ? 15 : 127;
    const int e = static_cast<int>(c >> man) & exp_mask;
    const std::uint32_t m = c & ((1u << man) - 1);
    negative = (c >> (Unit::is_half ? 15 : 31) & 1) != 0;
    place = e == 0 ? (m == 0 ? 2 * nowhere : 1 - bias) : e - bias;
    // Where the anchor would be no FP32 number.
    outside = e == exp_mask ||
              (sizeof(real) == 4 && place > 103 + Unit::fraction_bits);
    const std::uint32_t significand = e == 0 ? m : m | 1u << man;
    if (outside || significand == 0) {
      magnitude = 0;
    } else if constexpr (Unit::is_half || sizeof(real) == 8) {
      magnitude =
          static_cast<real>(significand) * Unit::window::power(place - man);
    } else {
      magnitude = __uint_as_float(c & 0x7fffffffu);
    }
  }
};

/// The sum in quanta of 2^unit, as a code of the result.
template <class Unit>
__device__ std::uint32_t convert(std::int64_t sum, int unit) {
  using window = typename Unit::window;
  if (sum == 0) return 0;
  if constexpr (Unit::output == result::window) {
    // At most 24 bits: exact. Below 2^-126 all bits stay: the quantum is that
    // of the result.
    constexpr std::uint32_t dropped = (1u << (23 - Unit::fraction_bits)) - 1;
    const float whole = static_cast<float>(static_cast<std::int32_t>(sum));
    const float kept = __uint_as_float(__float_as_uint(whole) & ~dropped);
    return __float_as_uint(__fmul_rn(kept, window::power(unit)));
  } else {
    const double exact =
        static_cast<double>(sum) * broad::power(unit);  // exact
    if constexpr (Unit::output == result::fp32) {
      const float cut = __double2float_rz(exact);
      if (exact >= 0x1p128 || exact <= -0x1p128) {
        return exact > 0 ? 0x7f800000u : 0xff800000u;
      }
      return cut == 0 ? 0 : __float_as_uint(cut);
    } else {
      const std::uint16_t half = cuda::ptx::cvt_f16(exact);
      return half == 0x8000 ? 0 : half;
    }
  }
}

/// One step for this thread's outputs: d = c on entry. `p` is the path whose
/// operands the tile holds. Not inlined, so that the registers of its loops are
/// not spilled for what the caller keeps.
template <class Unit>
__device__ __noinline__ void step_tile(
    const path& p, const operand_tile<Unit>& t,
    std::uint32_t (&d)[thread_rows][thread_cols]) {
  using window = typename Unit::window;
  using real = typename Unit::real;
  std::uint32_t places[thread_rows][thread_cols];
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
    for (int c = 0; c < thread_cols; ++c) places[r][c] = 0xc000c000u;  // -16384
  }
#pragma unroll 4
  for (int k = 0; k < Unit::length / 2; ++k) {
    const fragment<std::uint32_t> x(t.place_a[k], t.place_b[k]);
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
      for (int c = 0; c < thread_cols; ++c) {
        places[r][c] = __viaddmax_s16x2(x.a[r], x.b[c], places[r][c]);
      }
    }
  }
  real anchor[thread_rows][thread_cols];
  std::uint32_t sum[thread_rows][thread_cols];
  std::int64_t before[thread_rows][thread_cols];
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
    for (int c = 0; c < thread_cols; ++c) {
      const addend_term<Unit> term(d[r][c]);
      const int low = static_cast<std::int16_t>(places[r][c] & 0xffff);
      const int high = static_cast<std::int16_t>(places[r][c] >> 16);
      const int largest =
          max(max(low, high), max(term.outside ? 0 : term.place, Unit::floor));
      anchor[r][c] = window::anchor(largest, Unit::fraction_bits);
      const std::uint32_t cut =
          window::quanta(window::fma_rz(term.magnitude, 1, anchor[r][c]));
      sum[r][c] = term.negative ? ~cut : cut;
      before[r][c] = 0;
    }
  }
#pragma unroll
  for (int group = 0; group < Unit::length; group += Unit::group) {
#pragma unroll 2
    for (int k = group; k < group + Unit::group; ++k) {
      const fragment<real> x(t.magnitude_a[k], t.magnitude_b[k]);
      const fragment<std::uint32_t> s(t.sign_a[k], t.sign_b[k]);
#pragma unroll
      for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
        for (int c = 0; c < thread_cols; ++c) {
          const std::uint32_t cut =
              window::quanta(window::fma_rz(x.a[r], x.b[c], anchor[r][c]));
          sum[r][c] += cut ^ s.a[r] ^ s.b[c];
        }
      }
    }
    if constexpr (Unit::group < Unit::length) {
#pragma unroll
      for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
        for (int c = 0; c < thread_cols; ++c) {
          before[r][c] += static_cast<std::int32_t>(sum[r][c]);
          sum[r][c] = 0;
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
    for (int c = 0; c < thread_cols; ++c) {
      const int row = row_of(r);
      const int col = col_of(c);
      const addend_term<Unit> term(d[r][c]);
      if (term.outside || (t.special_a[row] | t.special_b[col]) != 0) {
        d[r][c] = core_step<Unit>(p, t, row, col, d[r][c]);
        continue;
      }
      const int minus =
          __popc(t.minus_a[row] ^ t.minus_b[col]) + (term.negative ? 1 : 0);
      // Each + term added the anchor's bits; each - one subtracted them and 1
      // more.
      const std::uint32_t bias = window::quanta(anchor[r][c]);
      const std::uint32_t surplus =
          bias * static_cast<std::uint32_t>(Unit::length + 1 - 2 * minus) -
          static_cast<std::uint32_t>(minus);
      std::int64_t total = 0;
      if constexpr (Unit::group < Unit::length) {
        total = before[r][c] + minus;  // bias is 0
      } else {
        total = static_cast<std::int32_t>(sum[r][c] - surplus);
      }
      d[r][c] = convert<Unit>(
          total, window::largest(anchor[r][c], Unit::fraction_bits) -
                     Unit::fraction_bits);
    }
  }
}

}  // namespace zeroulp::emulator

#endif  // ZEROULP_CUDA_EMULATOR_EMULATOR_CUH_
