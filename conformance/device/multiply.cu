// The instructions of Hopper's tensor cores on batches.

#include "conformance/device/batch.hpp"
#include "conformance/device/wgmma.hpp"

namespace zeroulp::conformance::device {
namespace {

using ptx::type;

/// Where byte `at` of row `i` of K-major tiles lies: core matrices of 8 rows of
/// 16 bytes, two along K, then the next 8 rows.
__device__ int tile_offset(int i, int at) {
  return i / 8 * 256 + at / 16 * 128 + i % 8 * 16 + at % 16;
}

/// Brings one tile's rows to shared memory, in words.
__device__ void load_rows(const unsigned char* from, unsigned char* to,
                          int rows) {
  constexpr int words = row_bytes / 4;
  for (int i = static_cast<int>(threadIdx.x); i < rows * words;
       i += static_cast<int>(blockDim.x)) {
    const int at = i % words * 4;
    *reinterpret_cast<std::uint32_t*>(to + tile_offset(i / words, at)) =
        *reinterpret_cast<const std::uint32_t*>(from + i * 4);
  }
}

__device__ std::uint32_t tile_word(const unsigned char* tile, int i, int at) {
  return *reinterpret_cast<const std::uint32_t*>(tile + tile_offset(i, at));
}

/// A warp's 16 x 8 outputs of which a thread has four.
struct place {
  int row;
  int col;

  __device__ int at(int i) const {
    return (row + i / 2 * 8) * batch_cols + col + i % 2;
  }
};

/// Outputs in the registers of a thread: `n` groups of four, FP32 or FP16.
template <bool Half, int N>
struct registers {
  using word = std::conditional_t<Half, std::uint32_t, float>;
  word d[Half ? 2 * N : 4 * N];

  __device__ void load(int group, const std::uint32_t (&c)[4]) {
    if constexpr (Half) {
      d[2 * group] = c[0] | c[1] << 16;
      d[2 * group + 1] = c[2] | c[3] << 16;
    } else {
      for (int i = 0; i < 4; ++i) d[4 * group + i] = __uint_as_float(c[i]);
    }
  }
  __device__ std::uint32_t read(int group, int i) const {
    if constexpr (Half) {
      return d[2 * group + i / 2] >> (i % 2 * 16) & 0xffff;
    } else {
      return __float_as_uint(d[4 * group + i]);
    }
  }
};

template <int N, bool Half>
__device__ void load(registers<Half, N>& d, const std::uint32_t* c,
                     place first) {
#pragma unroll
  for (int group = 0; group < N; ++group) {
    const place p{first.row, first.col + group * 8};
    d.load(group, {c[p.at(0)], c[p.at(1)], c[p.at(2)], c[p.at(3)]});
  }
}

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
      const int byte = thread % 4 * 4;
      const ptx::fragment_a rows{{tile_word(a, first.row, byte),
                                  tile_word(a, first.row + 8, byte),
                                  tile_word(a, first.row, byte + 16),
                                  tile_word(a, first.row + 8, byte + 16)}};
      for (int group = 0; group < batch_cols / 8; ++group) {
        const int col = group * 8 + thread % 32 / 4;
        const place p{first.row, first.col + group * 8};
        registers<Half, 1> d;
        load(d, c, p);
        ptx::mma<A, B>::run(
            d.d, rows,
            {{tile_word(b, col, byte), tile_word(b, col, byte + 16)}});
        store(d, out, p);
      }
    }
    __syncthreads();
  }
}

/// An instruction, and the path that it is said to follow.
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
  // nvcc makes FP8 mma.sync of two FP16 ones.
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
