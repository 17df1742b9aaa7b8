// Defines the kernels of the compiled GEMM: what one thread does with a tile of
// outputs. Lanes are columns.
//
//   M = 2^(largest + p - F), p the fraction bits of float or double
//   toward zero:  pos = M + c+ + sum |a||b| over products >= 0
//                 neg = M + c- + sum |a||b| over products < 0
//                 D   = convert(pos - neg)
//
// Each FMA cuts its product to the quantum 2^(largest - F), the unit in the
// last place of M, and adds it exactly; both sums stay below 2 M. Signs cost
// nothing: B is kept as its positive and its negative part, and the sign of a
// chooses which of them goes where. float holds F <= 15 with 32 products,
// double all others. Internal.

#ifndef ZEROULP_SRC_GEMM_TILE_HPP_
#define ZEROULP_SRC_GEMM_TILE_HPP_

#include <cstddef>
#include <cstdint>

#include "zeroulp/core/convention.hpp"

namespace zeroulp {

/// Rows of a block of a packed operand.
inline constexpr int block_rows = 64;
/// Blocks of a tile on each side, and the stride of its rows.
inline constexpr int tile_blocks = 2;
inline constexpr int tile_rows = tile_blocks * block_rows;
/// Products that a step of a kernel can take.
inline constexpr int max_step = 32;

/// Bytes that a kernel works in, on a multiple of 64.
inline constexpr int kernel_scratch = 112 << 10;

/// How the elements of a packed operand are stored, exactly: BF16 or FP32.
enum class storage : std::uint8_t { two_bytes, four_bytes };

/// Up to 64 rows of a packed operand: element (i, k) at data[k * height + i].
struct operand_block {
  const void* data;
  int height;  ///< a multiple of 16; rows beyond the real ones are zero
};

/// One side of a tile.
struct tile_side {
  storage stored;
  operand_block blocks[tile_blocks];
  int rows;  ///< real ones, 1 to tile_rows
  /// A product's place counts from here: subnormals have this exponent.
  int min_exponent;
};

/// How steps find their elements: number k of step s is element first + (s /
/// parts) * advance + order[s % parts][k].
struct step_order {
  int parts = 1;
  std::ptrdiff_t advance = 0;
  std::uint8_t order[2][max_step] = {};
};

/// What a step does.
struct step_rule {
  int length;
  int fraction_bits;
  int floor;           ///< exponent; far below any number if there is none
  int c_min_exponent;  ///< where a subnormal c stands
  bool wide;           ///< double instead of float
  bool half;           ///< result: FP16, nearest-even; else FP32, cut
  std::uint32_t kept;  ///< mask of the bits of an FP32 result
};

/// Places of products in float: -64 or higher; of zeros: -97 or lower. A
/// smaller c would be taken for one of these.
inline constexpr int narrow_least_exponent = -96;

/// `steps` steps on all outputs of a tile, `c` holding their values (FP16 ones
/// as floats), row-major with stride tile_rows. `part` is the first of the
/// order. Values must be finite, or c infinite; in float, c is 0 or
/// 2^narrow_least_exponent <= |c| < 2^(103 + F).
struct tile_steps {
  tile_side a;
  tile_side b;
  step_rule rule;
  step_order order;
  std::ptrdiff_t first;
  int part;
  std::ptrdiff_t steps;
  float* c;
  void* scratch;
};

/// Computes them. The calling thread rounds toward zero.
void run_steps(const tile_steps& job);

/// c = fma(a, b, c) in k order, in float, or in double where all is exact.
/// The calling thread rounds to nearest.
struct tile_sums {
  tile_side a;
  tile_side b;
  std::ptrdiff_t first;
  std::ptrdiff_t count;
  float* c;  ///< null: use exact
  double* exact;
  void* scratch;
};
void run_sums(const tile_sums& job);

/// acc = promote(update, acc, p, scale_a[row], scale_b[column]), all with
/// stride tile_rows. The calling thread rounds to nearest; a NaN is any NaN.
struct tile_promotion {
  promotion update;
  int rows;
  int cols;
  const float* p;
  float* acc;
  const float* scale_a;  ///< [tile_rows]
  const float* scale_b;  ///< [tile_rows]
};
void promote_tile(const tile_promotion& job);

/// c = fl(c + p), to FP32 or, with `half`, to FP16, all with stride tile_rows.
/// The calling thread rounds to nearest.
struct tile_addition {
  int rows;
  int cols;
  bool half;
  const float* p;
  float* c;
};
void add_tile(const tile_addition& job);

}  // namespace zeroulp

#endif  // ZEROULP_SRC_GEMM_TILE_HPP_
