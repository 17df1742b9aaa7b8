// Runs the emulator on batches.

#include "conformance/device/support/batch.hpp"
#include "cuda/emulator/emulator.cuh"

namespace zeroulp::conformance::device {
namespace {

static_assert(batch_rows == emulator::tile_rows);
static_assert(batch_cols == emulator::tile_cols);

using emulator::operand_tile;
using emulator::thread_cols;
using emulator::thread_rows;

/// Unpacks a tile's rows. With `Fp16`, converts FP8 codes to FP16: those with k
/// mod 4 equal to `first` or first + 1.
template <class Unit, bool Fp16>
__device__ void load_operands(const batch& x, int tile, int first,
                              const path& p, operand_tile<Unit>& t) {
  const auto fetch = [&](bool is_a, int row) {
    const unsigned char* from =
        is_a ? x.a + (tile * batch_rows + row) * row_bytes
             : x.b + (tile * batch_cols + row) * row_bytes;
    return *reinterpret_cast<const emulator::row_words*>(from);
  };
  const auto pick = [&](const emulator::row_words& w, bool is_a, int k) {
    if constexpr (Fp16) {
      const int low = k / 2 * 4 + k % 2;
      const std::uint32_t code =
          first == 0 ? w.element<1>(low) : w.element<1>(low + 2);
      const format half{5, 10, 15, specials::ieee};
      return static_cast<std::uint32_t>(
          recode(is_a ? x.p.a : x.p.b, code, half, {}, cuda_nosat));
    } else {
      constexpr int bytes = row_bytes / Unit::length;
      return w.element<bytes>(k) >> (bytes == 4 ? 13 : 0);  // TF32
    }
  };
  emulator::store_operands(t, p.a, p.b, fetch, pick);
}

__device__ std::ptrdiff_t output_at(int tile, int r, int c) {
  return std::ptrdiff_t{tile} * batch_outputs +
         emulator::row_of(r) * batch_cols + emulator::col_of(c);
}

/// Returns D of the chained lowering: c + T2 (T10).
__device__ std::uint32_t join(bool half, std::uint32_t c, std::uint32_t t) {
  if (!half)
    return __float_as_uint(__fadd_rn(__uint_as_float(c), __uint_as_float(t)));
  std::uint16_t d;
  asm("add.rn.f16 %0, %1, %2;"
      : "=h"(d)
      : "h"(static_cast<std::uint16_t>(c)), "h"(static_cast<std::uint16_t>(t)));
  return d;
}

__device__ void keep(const batch& x, int tile, int row, int col,
                     std::uint32_t emulated, mismatch_record* found) {
  const element_layout ea = layout_of(x.p.a);
  const element_layout eb = layout_of(x.p.b);
  for (int k = 0; k < ea.length(); ++k) {
    found->a[k] = ea.code(x.a + (tile * batch_rows + row) * row_bytes, k);
    found->b[k] = eb.code(x.b + (tile * batch_cols + col) * row_bytes, k);
  }
  const auto at = std::ptrdiff_t{tile} * batch_outputs + row * batch_cols + col;
  found->c = x.c[at];
  found->silicon = x.d[at];
  found->emulated = emulated;
}

/// If `found` is null, the results replace d.
template <class Unit, bool Lowered>
__global__ void __launch_bounds__(emulator::threads, 2)
    emulate_tiles(batch x, path p, mismatch_record* found) {
  extern __shared__ unsigned char memory[];
  auto& t = *reinterpret_cast<operand_tile<Unit>*>(memory);
  thread_sums sums;
  for (int tile = static_cast<int>(blockIdx.x); tile < x.tiles;
       tile += static_cast<int>(gridDim.x)) {
    std::uint32_t d[thread_rows][thread_cols];
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
      for (int c = 0; c < thread_cols; ++c) {
        d[r][c] = Lowered ? 0 : x.c[output_at(tile, r, c)];
      }
    }
    load_operands<Unit, Lowered>(x, tile, 0, p, t);
    __syncthreads();
    emulator::step_tile<Unit>(p, t, d);
    __syncthreads();
    if constexpr (Lowered) {
      load_operands<Unit, Lowered>(x, tile, 2, p, t);
      __syncthreads();
      emulator::step_tile<Unit>(p, t, d);
      __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
      for (int c = 0; c < thread_cols; ++c) {
        const auto at = output_at(tile, r, c);
        if (Lowered) d[r][c] = join(Unit::is_half, x.c[at], d[r][c]);
        if (found == nullptr) {
          x.d[at] = d[r][c];
          continue;
        }
        sums.add(x.d[at], d[r][c]);
        if (x.d[at] != d[r][c] && atomicAdd(&found->count, 1ull) == 0) {
          keep(x, tile, emulator::row_of(r), emulator::col_of(c), d[r][c],
               found);
        }
      }
    }
  }
  if (found != nullptr) sums.add_to(found->sums);
}

template <class Unit, bool Lowered = false>
void launch(const batch& x, const path& p, mismatch_record* found) {
  constexpr int bytes = sizeof(operand_tile<Unit>);
  const auto kernel = emulate_tiles<Unit, Lowered>;
  require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<132 * 2, emulator::threads, bytes>>>(x, p, found);
  require(cudaGetLastError());
}

void run(const batch& x, mismatch_record* found) {
  const path& p = x.p;
  const bool half = p.acc.stored == fp16;
  if (p.lowering == lowering::hmma_chained) {
    const path hmma{fp16, fp16, p.acc};
    return half ? launch<emulator::half_f16, true>(x, hmma, found)
                : launch<emulator::half_f32, true>(x, hmma, found);
  }
  if (p.acc == hopper_fp8_f32) return launch<emulator::fp8_f32>(x, p, found);
  if (p.acc == hopper_fp8_f16) return launch<emulator::fp8_f16>(x, p, found);
  if (p.acc == hopper_half_f32) return launch<emulator::half_f32>(x, p, found);
  if (p.acc == hopper_half_f16) return launch<emulator::half_f16>(x, p, found);
  if (p.acc == hopper_tf32_f32) return launch<emulator::tf32_f32>(x, p, found);
  throw std::logic_error("the emulator has no such unit");
}

}  // namespace

void compare(const batch& x, mismatch_record* found) { run(x, found); }

void emulate(const batch& x) { run(x, nullptr); }

}  // namespace zeroulp::conformance::device
