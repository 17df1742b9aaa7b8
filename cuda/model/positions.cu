// Rope: a thread has a pair of elements. What MLA assembles: a block has a
// token, a thread eight elements of it at once, or two.
//
// Source: SPEC clauses N4, N20 (c) and N21 (d).

#include "cuda/common/alignment.hpp"
#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "zeroulp/core/model/rope.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;
using half_view = matrix_view<const std::uint16_t>;
using word_view = matrix_view<const std::uint32_t>;

constexpr int threads = 256;

struct pair_of_codes {
  std::uint16_t first, second;
};

__device__ pair_of_codes turned(pair_of_codes x, std::uint32_t cosine,
                                std::uint32_t sine, bool backward) {
  const float x0 = bf16_number<A>(x.first), x1 = bf16_number<A>(x.second);
  const float c = __uint_as_float(cosine);
  const float s = backward ? -__uint_as_float(sine) : __uint_as_float(sine);
  return {bf16_code<A>(__fmaf_rn(-x1, s, __fmul_rn(x0, c))),
          bf16_code<A>(__fmaf_rn(x0, s, __fmul_rn(x1, c)))};
}

/// Element `at` of as many as the grid's threads; false beyond `count`.
__device__ bool find_element(std::ptrdiff_t count, std::ptrdiff_t& at) {
  at = static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  return at < count;
}

__global__ void turn(const __grid_constant__ rope_rows t) {
  const std::ptrdiff_t half = t.cosines.cols;
  std::ptrdiff_t at;
  if (!find_element(t.x.rows * t.heads * half, at)) return;
  const std::ptrdiff_t k = at % half, head = at / half % t.heads;
  const std::ptrdiff_t row = at / half / t.heads;
  const bool adjacent = t.pairs == rope_pairs::adjacent;
  const std::ptrdiff_t first = 2 * half * head + (adjacent ? 2 * k : k);
  const std::ptrdiff_t second = first + (adjacent ? 1 : half);
  const std::ptrdiff_t position = row % t.cosines.rows;
  const auto y =
      turned({t.x(row, first), t.x(row, second)}, t.cosines(position, k),
             t.sines(position, k), t.backward);
  t.y(row, first) = y.first;
  t.y(row, second) = y.second;
}

/// `Count` neighbours of a row, an even number: read and written at once if
/// there are eight.
template <int Count>
struct neighbours {
  pair_of_codes pairs[Count / 2];

  static __device__ neighbours of(const matrix_view<std::uint16_t>& x,
                                  std::ptrdiff_t row, int at) {
    neighbours out;
    const std::uint16_t* const from = x.data + row * x.row_stride + at;
    if constexpr (Count == 8) {
      const uint4 v = *reinterpret_cast<const uint4*>(from);
      const std::uint32_t words[] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        out.pairs[i] = {static_cast<std::uint16_t>(words[i]),
                        static_cast<std::uint16_t>(words[i] >> 16)};
      }
    } else {
#pragma unroll
      for (int i = 0; i < Count / 2; ++i) {
        out.pairs[i] = {from[2 * i], from[2 * i + 1]};
      }
    }
    return out;
  }
  __device__ void put(const matrix_view<std::uint16_t>& x, std::ptrdiff_t row,
                      int at) const {
    std::uint16_t* const to = x.data + row * x.row_stride + at;
    if constexpr (Count == 8) {
      const auto word = [this](int i) {
        return pairs[i].first | std::uint32_t{pairs[i].second} << 16;
      };
      *reinterpret_cast<uint4*>(to) = {word(0), word(1), word(2), word(3)};
    } else {
#pragma unroll
      for (int i = 0; i < Count / 2; ++i) {
        to[2 * i] = pairs[i].first;
        to[2 * i + 1] = pairs[i].second;
      }
    }
  }
};

/// What both kernels know of a shape, in 32 bits.
struct mla_sizes {
  int heads, plain, depth, value, rank;

  explicit mla_sizes(const mla_shape& s)
      : heads(static_cast<int>(s.heads)),
        plain(static_cast<int>(s.plain)),
        depth(static_cast<int>(s.plain + s.turned)),
        value(static_cast<int>(s.value)),
        rank(static_cast<int>(s.rank)) {}

  /// Elements of a row of `second` before a head's.
  __device__ int second(int head) const { return head * (plain + value); }
  /// Elements of a row of `first` before the key that all heads share.
  __device__ int shared_key() const { return heads * depth + rank; }
};

struct mla_params {
  mla_sizes sizes;
  matrix_view<const std::uint32_t> cosines, sines;
  mla_tensors<std::uint16_t> t;

  /// x, elements [beyond, beyond + Count) of those that are turned.
  template <int Count>
  __device__ neighbours<Count> turned_by(neighbours<Count> x,
                                         std::ptrdiff_t row, int beyond,
                                         bool backward) const {
    const std::ptrdiff_t position = row % cosines.rows;
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) {
      x.pairs[i] = turned(x.pairs[i], cosines(position, beyond / 2 + i),
                          sines(position, beyond / 2 + i), backward);
    }
    return x;
  }
};

/// Calls use(part, head, at) for this block's elements of q (part 0), k and v
/// of a token, `Count` neighbours each.
template <int Count, class Use>
__device__ void for_parts(const mla_sizes& s, Use use) {
  const int of_head = 2 * s.depth + s.value;
  for (int x = Count * static_cast<int>(threadIdx.x); x < s.heads * of_head;
       x += Count * threads) {
    const int head = x / of_head, at = x - head * of_head;
    const int part = at < s.depth ? 0 : at < 2 * s.depth ? 1 : 2;
    use(part, head, at - part * s.depth);
  }
}

/// A block has a token.
template <int Count>
__global__ void assemble(const __grid_constant__ mla_params p) {
  using codes = neighbours<Count>;
  const mla_sizes& s = p.sizes;
  const auto& t = p.t;
  const std::ptrdiff_t row = blockIdx.x;
  for_parts<Count>(s, [&](int part, int head, int at) {
    const int beyond = at - s.plain, depth = head * s.depth;
    if (part == 0) {
      const auto x = codes::of(t.first, row, depth + at);
      (beyond < 0 ? x : p.turned_by(x, row, beyond, false))
          .put(t.q, row, depth + at);
    } else if (part == 1) {
      const auto x =
          beyond < 0
              ? codes::of(t.second, row, s.second(head) + at)
              : p.turned_by(codes::of(t.first, row, s.shared_key() + beyond),
                            row, beyond, false);
      x.put(t.k, row, depth + at);
    } else {
      codes::of(t.second, row, s.second(head) + s.plain + at)
          .put(t.v, row, head * s.value + at);
    }
  });
}

template <int Count>
__global__ void assemble_backward(const __grid_constant__ mla_params p) {
  using codes = neighbours<Count>;
  const mla_sizes& s = p.sizes;
  const auto& d = p.t;
  const std::ptrdiff_t row = blockIdx.x;
  for_parts<Count>(s, [&](int part, int head, int at) {
    const int beyond = at - s.plain, depth = head * s.depth;
    if (part == 0) {
      const auto x = codes::of(d.q, row, depth + at);
      (beyond < 0 ? x : p.turned_by(x, row, beyond, true))
          .put(d.first, row, depth + at);
    } else if (part == 2) {
      codes::of(d.v, row, head * s.value + at)
          .put(d.second, row, s.second(head) + s.plain + at);
    } else if (beyond < 0) {
      codes::of(d.k, row, depth + at).put(d.second, row, s.second(head) + at);
    } else if (head == 0) {
      // The key that all heads share: a chain of additions over heads.
      float sums[Count]{};
      for (int h = 0; h < s.heads; ++h) {
        const auto x = codes::of(d.k, row, h * s.depth + at);
#pragma unroll
        for (int i = 0; i < Count / 2; ++i) {
          sums[2 * i] =
              __fadd_rn(sums[2 * i], bf16_number<A>(x.pairs[i].first));
          sums[2 * i + 1] =
              __fadd_rn(sums[2 * i + 1], bf16_number<A>(x.pairs[i].second));
        }
      }
      codes x;
#pragma unroll
      for (int i = 0; i < Count / 2; ++i) {
        x.pairs[i] = {bf16_code<A>(sums[2 * i]), bf16_code<A>(sums[2 * i + 1])};
      }
      p.turned_by(x, row, beyond, true)
          .put(d.first, row, s.shared_key() + beyond);
    }
  });
}

using mla_kernel = void (*)(mla_params);

/// True if eight neighbours of any matrix lie together, in one part of a head.
bool has_eights(const mla_shape& s, const mla_tensors<std::uint16_t>& t) {
  for (const std::ptrdiff_t n : {s.plain, s.turned, s.value, s.rank}) {
    if (n % 8 != 0) return false;
  }
  for (const auto& x : {t.first, t.second, t.q, t.k, t.v}) {
    if (!is_vectorized<2>(x.data, x.row_stride)) return false;
  }
  return true;
}

void launch_mla(const char* function, mla_kernel pairs, mla_kernel eights,
                const mla_shape& s, const mla_tensors<std::uint16_t>& t,
                CUstream_st* stream) {
  const argument_checks r(function);
  const std::ptrdiff_t m = t.first.rows, depth = s.plain + s.turned;
  r.need(s.heads > 0 && s.plain >= 0 && s.plain % 2 == 0 && s.turned >= 0 &&
             s.turned % 2 == 0 && s.value >= 0 && s.value % 2 == 0 &&
             s.rank >= 0,
         "heads are above 0, widths even");
  r.need(s.cosines.rows > 0 && s.cosines.cols == s.turned / 2 &&
             s.sines.rows == s.cosines.rows && s.sines.cols == s.cosines.cols,
         "tables are positions x turned / 2");
  const auto need = [&](const auto& x, std::ptrdiff_t cols, const char* what) {
    if (x.rows != m || x.cols < cols || (m > 0 && x.col_stride != 1)) {
      r.refuse(std::string(what) + " has another shape");
    }
  };
  need(t.first, s.heads * depth + s.rank + s.turned, "first");
  need(t.second, s.heads * (s.plain + s.value), "second");
  need(t.q, s.heads * depth, "q");
  need(t.k, s.heads * depth, "k");
  need(t.v, s.heads * s.value, "v");
  const std::ptrdiff_t width = s.heads * (2 * depth + s.value);
  r.need(width < std::ptrdiff_t{1} << 30, "heads are too many or too wide");
  if (m == 0 || width == 0) return;
  r.need_gpu();
  (has_eights(s, t) ? eights : pairs)<<<r.blocks(m), threads, 0, stream>>>(
      {mla_sizes(s), s.cosines, s.sines, t});
  r.launched();
}

}  // namespace

void rope(const rope_rows& t, CUstream_st* stream) {
  const argument_checks r("cuda::rope");
  const std::ptrdiff_t half = t.cosines.cols;
  r.need(t.heads >= 0 && t.x.cols == 2 * half * t.heads &&
             t.y.rows == t.x.rows && t.y.cols == t.x.cols,
         "x and y are rows of heads as wide as the table's pairs");
  r.need(t.sines.rows == t.cosines.rows && t.sines.cols == half &&
             (t.x.rows == 0 || t.cosines.rows > 0),
         "tables are positions x n / 2");
  const std::ptrdiff_t count = t.x.rows * t.heads * half;
  if (count == 0) return;
  r.need_gpu();
  turn<<<r.blocks(ceil_div(count, threads)), threads, 0, stream>>>(t);
  r.launched();
}

void mla_assemble(const mla_shape& s, const mla_tensors<std::uint16_t>& t,
                  CUstream_st* stream) {
  launch_mla("cuda::mla_assemble", assemble<2>, assemble<8>, s, t, stream);
}

void mla_assemble_backward(const mla_shape& s,
                           const mla_tensors<std::uint16_t>& d,
                           CUstream_st* stream) {
  launch_mla("cuda::mla_assemble_backward", assemble_backward<2>,
             assemble_backward<8>, s, d, stream);
}

}  // namespace zeroulp::cuda
