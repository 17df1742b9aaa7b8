// Runs the instructions of Hopper's tensor cores on batches.

#include "conformance/device/silicon/wgmma.hpp"
#include "conformance/device/support/batch.hpp"
#include "conformance/device/support/tile.hpp"

namespace zeroulp::conformance::device {
namespace {

using ptx::type;

template <int N, bool Half>
__device__ void store(const registers<Half, N>& d, std::uint32_t* out,
                      place first) {
#pragma unroll
  for (int group = 0; group < N; ++group) {
    const place p{first.row, first.col + group * 8};
    for (int i = 0; i < 4; ++i) out[p.at(i)] = d.read(group, i);
  }
}

template <bool IsWgmma, type A, type B, bool Half>
__global__ void __launch_bounds__(128) multiply_tiles(batch x) {
  __shared__ alignas(128) unsigned char a[batch_rows * row_bytes];
  __shared__ alignas(128) unsigned char b[batch_cols * row_bytes];
  const int thread = static_cast<int>(threadIdx.x);
  for (int tile = static_cast<int>(blockIdx.x); tile < x.tiles;
       tile += static_cast<int>(gridDim.x)) {
    load_rows(x.a + tile * (batch_rows * row_bytes), a, batch_rows);
    load_rows(x.b + tile * (batch_cols * row_bytes), b, batch_cols);
    ptx::fence_shared_for_wgmma();
    __syncthreads();
    const std::uint32_t* c = x.c + std::ptrdiff_t{tile} * batch_outputs;
    std::uint32_t* out = x.d + std::ptrdiff_t{tile} * batch_outputs;
    const place first{thread / 32 * 16 + thread % 32 / 4, thread % 4 * 2};
    if constexpr (IsWgmma) {
      registers<Half, 16> d;
      load(d, c, first);
      ptx::wgmma<128>::run<A, B>(d.d, ptx::matrix_descriptor(a, 128, 256),
                                 ptx::matrix_descriptor(b, 128, 256), 1);
      store(d, out, first);
    } else {
      const ptx::fragment_a rows = load_a(a, first.row);
      for (int group = 0; group < batch_cols / 8; ++group) {
        const int col = group * 8 + thread % 32 / 4;
        const place p{first.row, first.col + group * 8};
        registers<Half, 1> d;
        load(d, c, p);
        ptx::mma<A, B>::run(d.d, rows, load_b(b, col));
        store(d, out, p);
      }
    }
    __syncthreads();
  }
}

/// An instruction, and the path that it is claimed to follow.
struct instruction {
  path follows;
  void (*kernel)(batch);
};

constexpr format format_of(type t) {
  return t == type::e4m3   ? e4m3
         : t == type::e5m2 ? e5m2
         : t == type::bf16 ? bf16
         : t == type::fp16 ? fp16
                           : tf32;
}

template <bool IsWgmma, type A, type B, bool Half>
instruction make() {
  constexpr bool fp8 = A == type::e4m3 || A == type::e5m2;
  const auto half = Half ? hopper_half_f16 : hopper_half_f32;
  const auto fp8_unit = Half ? hopper_fp8_f16 : hopper_fp8_f32;
  path p{format_of(A), format_of(B),
         A == type::tf32  ? hopper_tf32_f32
         : fp8 && IsWgmma ? fp8_unit
                          : half};
  // nvcc compiles an FP8 mma.sync to two FP16 ones.
  if (fp8 && !IsWgmma) p.lowering = lowering::hmma_chained;
  return {p, multiply_tiles<IsWgmma, A, B, Half>};
}

template <bool IsWgmma, bool Half>
void add_fp8(std::vector<instruction>& all) {
  all.push_back(make<IsWgmma, type::e4m3, type::e4m3, Half>());
  all.push_back(make<IsWgmma, type::e4m3, type::e5m2, Half>());
  all.push_back(make<IsWgmma, type::e5m2, type::e4m3, Half>());
  all.push_back(make<IsWgmma, type::e5m2, type::e5m2, Half>());
}

template <bool IsWgmma>
std::vector<instruction> instructions() {
  std::vector<instruction> all;
  add_fp8<IsWgmma, false>(all);
  add_fp8<IsWgmma, true>(all);
  all.push_back(make<IsWgmma, type::bf16, type::bf16, false>());
  all.push_back(make<IsWgmma, type::fp16, type::fp16, false>());
  all.push_back(make<IsWgmma, type::fp16, type::fp16, true>());
  all.push_back(make<IsWgmma, type::tf32, type::tf32, false>());
  return all;
}

}  // namespace

const std::vector<path>& wgmma_paths() {
  static const auto paths = [] {
    std::vector<path> all;
    for (const auto& i : instructions<true>()) all.push_back(i.follows);
    return all;
  }();
  return paths;
}

const std::vector<path>& mma_paths() {
  static const auto paths = [] {
    std::vector<path> all;
    for (const auto& i : instructions<false>()) all.push_back(i.follows);
    return all;
  }();
  return paths;
}

void multiply(const batch& x, unit by) {
  static const auto wgmma = instructions<true>();
  static const auto mma = instructions<false>();
  for (const auto& i : by == unit::wgmma ? wgmma : mma) {
    if (!(i.follows == x.p)) continue;
    i.kernel<<<132 * 8, 128>>>(x);
    return require(cudaGetLastError());
  }
  throw std::logic_error("no instruction follows this path");
}

}  // namespace zeroulp::conformance::device
