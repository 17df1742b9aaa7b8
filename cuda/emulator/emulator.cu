// The emulator: the promoted GEMM of every recipe on ordinary GPU cores. A
// thread block computes 64 x 128 outputs, step by step (emulator.cuh).

#include <string>
#include <utility>

#include "cuda/common/argument_checks.hpp"
#include "cuda/emulator/emulator.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {
namespace {

using emulator::operand_tile;
using emulator::thread_cols;
using emulator::thread_rows;

/// A GEMM as a kernel's parameters.
struct params {
  recipe r;
  path p;
  operand a;
  operand b;
  const_matrix c;
  matrix d;

  /// C at (row, col), FP32 bits; 0 without C.
  ZEROULP_HD std::uint32_t addend(std::ptrdiff_t row,
                                  std::ptrdiff_t col) const {
    if (c.data == nullptr) return 0;
    return static_cast<const std::uint32_t*>(c.data)[row * c.stride + col];
  }
  ZEROULP_HD void put(std::ptrdiff_t row, std::ptrdiff_t col,
                      std::uint32_t code) const {
    const std::ptrdiff_t at = row * d.stride + col;
    const int bits = r.output.bits();
    if (bits <= 8) {
      static_cast<std::uint8_t*>(d.data)[at] = static_cast<std::uint8_t>(code);
    } else if (bits <= 16) {
      static_cast<std::uint16_t*>(d.data)[at] =
          static_cast<std::uint16_t>(code);
    } else {
      static_cast<std::uint32_t*>(d.data)[at] = code;
    }
  }
};

ZEROULP_HD std::uint32_t code_at(const operand& x, std::ptrdiff_t row,
                                 std::ptrdiff_t k) {
  const std::ptrdiff_t at = row * x.stride + k;
  const int bits = x.element.bits();
  return bits <= 8    ? static_cast<const std::uint8_t*>(x.codes)[at]
         : bits <= 16 ? static_cast<const std::uint16_t*>(x.codes)[at]
                      : static_cast<const std::uint32_t*>(x.codes)[at];
}

/// Decodes elements [k0, end) of K into the tile; zeros up to the step's length
/// and beyond the matrices.
template <class Unit>
__device__ void load_step(const params& j, std::ptrdiff_t row0,
                          std::ptrdiff_t col0, std::ptrdiff_t k0,
                          std::ptrdiff_t end, operand_tile<Unit>& t) {
  constexpr int bytes = 32 / Unit::length;  // bytes of an element
  const auto fetch = [&](bool is_a, int in_tile) {
    const operand& x = is_a ? j.a : j.b;
    const std::ptrdiff_t row = (is_a ? row0 : col0) + in_tile;
    emulator::row_words w = {};
    if (row >= x.rows) return w;
    const auto* from = static_cast<const unsigned char*>(x.codes) +
                       (row * x.stride + k0) * bytes;
    const bool is_full = end - k0 >= Unit::length;
    if (is_full && reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
      const uint4 low = reinterpret_cast<const uint4*>(from)[0];
      const uint4 high = reinterpret_cast<const uint4*>(from)[1];
      return emulator::row_words{
          {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
    }
#pragma unroll
    for (int k = 0; k < Unit::length; ++k) {
      if (k0 + k >= end) break;
      w.word[k * bytes / 4] |= code_at(x, row, k0 + k) << (k * bytes % 4 * 8);
    }
    return w;
  };
  emulator::store_operands(t, j.a.element, j.b.element, fetch,
                           [](const emulator::row_words& w, bool, int k) {
                             return w.element<bytes>(k);
                           });
}

using outputs = std::uint32_t[thread_rows][thread_cols];

/// Calls use(r, c, i, j) for this thread's outputs within D.
template <class Use>
__device__ void for_each_output(const params& j, std::ptrdiff_t row0,
                                std::ptrdiff_t col0, Use use) {
#pragma unroll
  for (int r = 0; r < thread_rows; ++r) {
#pragma unroll
    for (int c = 0; c < thread_cols; ++c) {
      const std::ptrdiff_t row = row0 + emulator::row_of(r);
      const std::ptrdiff_t col = col0 + emulator::col_of(c);
      if (row < j.d.rows && col < j.d.cols) use(r, c, row, col);
    }
  }
}

/// FP32 operations. The hardware's equal the core's, bit for bit.
__device__ std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  return __float_as_uint(__fmul_rn(__uint_as_float(a), __uint_as_float(b)));
}
__device__ std::uint32_t add(std::uint32_t a, std::uint32_t b) {
  return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
}
__device__ std::uint32_t fma(std::uint32_t a, std::uint32_t b,
                             std::uint32_t c) {
  return __float_as_uint(
      __fmaf_rn(__uint_as_float(a), __uint_as_float(b), __uint_as_float(c)));
}

__device__ std::uint32_t join_partial(promotion update, std::uint32_t acc,
                                      std::uint32_t p, std::uint32_t sa,
                                      std::uint32_t sb) {
  return update == promotion::product_of_scales ? fma(p, multiply(sa, sb), acc)
         : update == promotion::one_then_other  ? fma(multiply(p, sa), sb, acc)
         : update == promotion::other_then_one  ? fma(multiply(p, sb), sa, acc)
                                                : add(acc, p);
}

/// The epilogue for FP32 and BF16 outputs.
__device__ std::uint32_t to_output(const recipe& r, std::uint32_t acc,
                                   std::uint32_t c) {
  if (r.end == epilogue::accumulate) acc = add(acc, c);
  if (r.output == fp32) return acc;
  return cuda::ptx::cvt_bf16(__uint_as_float(acc));
}

template <class Unit>
__global__ void __launch_bounds__(emulator::threads, 2)
    multiply_tile(params j) {
  extern __shared__ unsigned char memory[];
  auto& t = *reinterpret_cast<operand_tile<Unit>*>(memory);
  const recipe& r = j.r;
  const std::ptrdiff_t row0 = std::ptrdiff_t{blockIdx.y} * emulator::tile_rows;
  const std::ptrdiff_t col0 = std::ptrdiff_t{blockIdx.x} * emulator::tile_cols;
  const std::ptrdiff_t k = j.a.cols;
  const std::ptrdiff_t interval = r.interval > 0 ? r.interval : k;
  const std::ptrdiff_t span = split_span(r, k);
  const bool chained = r.interval == 0 && r.update == promotion::add;
  const auto scales = [&](std::ptrdiff_t row, std::ptrdiff_t col,
                          std::ptrdiff_t at) {
    return uint2{scales_of_row(j.a.scales, r.a, row).at(at),
                 scales_of_row(j.b.scales, r.b, col).at(at)};
  };
  outputs total = {};
  for (std::ptrdiff_t begin = 0; begin < k; begin += span) {
    const std::ptrdiff_t end = k - begin < span ? k : begin + span;
    outputs acc = {};
    for (std::ptrdiff_t at = begin; at < end; at += interval) {
      const std::ptrdiff_t stop = end - at < interval ? end : at + interval;
      outputs d = {};
      for (std::ptrdiff_t step = at; step < stop; step += Unit::length) {
        __syncthreads();
        load_step(j, row0, col0, step, stop, t);
        __syncthreads();
        emulator::step_tile<Unit>(j.p, t, d);
      }
      for_each_output(j, row0, col0, [&](int y, int x, auto row, auto col) {
        const uint2 s = scales(row, col, at);
        acc[y][x] = chained
                        ? d[y][x]
                        : join_partial(r.update, acc[y][x], d[y][x], s.x, s.y);
      });
    }
    for_each_output(j, row0, col0, [&](int y, int x, auto, auto) {
      total[y][x] = begin == 0 ? acc[y][x] : add(total[y][x], acc[y][x]);
    });
  }
  const bool scaled = j.a.scales.data != nullptr || j.b.scales.data != nullptr;
  for_each_output(j, row0, col0, [&](int y, int x, auto row, auto col) {
    std::uint32_t sum = total[y][x];
    if (r.update == promotion::add && scaled && k > 0) {
      const uint2 s = scales(row, col, 0);
      sum = fma(sum, multiply(s.x, s.y), 0);
    }
    j.put(row, col, to_output(r, sum, j.addend(row, col)));
  });
}

/// A row of codes, as the core reads it.
struct device_row {
  operand x;
  std::ptrdiff_t row;
  ZEROULP_HD unpacked operator[](std::ptrdiff_t k) const {
    return decode(x.element, code_at(x, row, k));
  }
};

/// The chain of steps of one output.
struct core_chain {
  const params& j;
  std::ptrdiff_t row;
  std::ptrdiff_t col;
  ZEROULP_HD std::uint32_t operator()(std::ptrdiff_t begin,
                                      std::ptrdiff_t end) const {
    return static_cast<std::uint32_t>(
        chain(j.p, device_row{j.a, row}, device_row{j.b, col}, begin, end, 0));
  }
};

/// Any accumulator and output format; one thread computes one output.
__global__ void multiply_by_core(params j) {
  const std::ptrdiff_t size = j.d.rows * j.d.cols;
  const std::ptrdiff_t threads = std::ptrdiff_t{gridDim.x} * blockDim.x;
  std::ptrdiff_t at = std::ptrdiff_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; at < size; at += threads) {
    const std::ptrdiff_t row = at / j.d.cols;
    const std::ptrdiff_t col = at % j.d.cols;
    const core_chain partial{j, row, col};
    const std::uint32_t sum = promoted_sum(
        j.r, partial, j.a.cols, scales_of_row(j.a.scales, j.r.a, row),
        scales_of_row(j.b.scales, j.r.b, col));
    j.put(row, col, zeroulp::finish(j.r, sum, j.addend(row, col)));
  }
}

template <class Unit>
void launch(const argument_checks& q, const params& j, cudaStream_t stream) {
  constexpr int bytes = sizeof(operand_tile<Unit>);
  const auto kernel = multiply_tile<Unit>;
  q.require(cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const auto blocks = [](std::ptrdiff_t length, int tile) {
    return static_cast<unsigned>(ceil_div(length, tile));
  };
  const dim3 grid(blocks(j.d.cols, emulator::tile_cols),
                  blocks(j.d.rows, emulator::tile_rows));
  kernel<<<grid, emulator::threads, bytes, stream>>>(j);
}

/// Launches the unit of what_if_fraction(F) for one of these F. Returns false
/// if the accumulator is none of them.
template <int... F>
bool launch_what_if(const argument_checks& q, const params& j,
                    cudaStream_t stream,
                    std::integer_sequence<int, F...> /*fraction_bits*/) {
  const auto try_one = [&]<int One>() {
    if (j.r.acc != what_if_fraction(One)) return false;
    launch<emulator::fp8_what_if<One>>(q, j, stream);
    return true;
  };
  return (try_one.template operator()<F>() || ...);
}

void check(const argument_checks& q, const recipe& r, const operand& a,
           const operand& b, const const_matrix& c, const matrix& d) {
  q.need(is_valid(r), "the recipe is not valid: see is_valid()");
  const auto check_operand = [&](const operand& x, granularity g,
                                 const char* name) {
    q.need_matrix({x.codes, x.rows, x.cols, x.stride}, storage_bytes(x.element),
                  name);
    const auto groups = [](std::ptrdiff_t length, std::int32_t by) {
      return by == 0 ? 1 : ceil_div(length, by);
    };
    if (x.scales.data == nullptr) return;
    const std::string scales = std::string("the scales of ") + name;
    q.need_shape({x.scales.data, x.scales.rows, x.scales.cols},
                 groups(x.rows, g.mn), groups(x.cols, g.k), scales.c_str());
    q.need_words(x.scales, scales.c_str());
  };
  check_operand(a, r.a, "A");
  check_operand(b, r.b, "B");
  q.need(a.cols == b.cols, "A and B must have the same K");
  q.need_shape(d, a.rows, b.rows, "D");
  q.need_matrix(d, storage_bytes(r.output), "D");
  const bool reads_c = r.end == epilogue::accumulate;
  q.need(!reads_c || c.data != nullptr, "this recipe adds to C: give one");
  if (c.data != nullptr) {
    q.need_shape(c, d.rows, d.cols, "C");
    q.need_matrix(c, 4, "C");
  }
  constexpr std::ptrdiff_t most_rows = 65535 * emulator::tile_rows;
  q.need(d.rows <= most_rows, "M is beyond 4194240 rows: cut it");
}

}  // namespace

void emulate_gemm(const recipe& r, const operand& a, const operand& b,
                  const const_matrix& c, const matrix& d, CUstream_st* stream) {
  const argument_checks q("cuda::emulate_gemm");
  check(q, r, a, b, c, d);
  if (d.rows == 0 || d.cols == 0) return;
  q.need_gpu();
  const params j{r, {a.element, b.element, r.acc}, a, b, c, d};
  constexpr std::integer_sequence<int, 8, 9, 10, 11, 12> what_ifs;
  const auto fp8 = [](format f) { return f == e4m3 || f == e5m2; };
  const auto half = [](format f) { return f == bf16 || f == fp16; };
  if (!(r.output == fp32 || r.output == bf16)) {
    multiply_by_core<<<132 * 8, 128, 0, stream>>>(j);
  } else if (r.acc == hopper_fp8_f32 && fp8(a.element) && fp8(b.element)) {
    launch<emulator::fp8_f32>(q, j, stream);
  } else if (r.acc == hopper_half_f32 && half(a.element) && half(b.element)) {
    launch<emulator::half_f32>(q, j, stream);
  } else if (r.acc == hopper_tf32_f32 && a.element == tf32 &&
             b.element == tf32) {
    launch<emulator::tf32_f32>(q, j, stream);
  } else if (!fp8(a.element) || !fp8(b.element) ||
             !launch_what_if(q, j, stream, what_ifs)) {
    multiply_by_core<<<132 * 8, 128, 0, stream>>>(j);
  }
  q.launched();
}

}  // namespace zeroulp::cuda
