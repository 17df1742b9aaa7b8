// Rope: a block has a row, a thread eight elements of several heads. What MLA
// assembles: a block has a token, a thread eight elements of it at once. Where
// rows are not aligned, they have pairs.
//
// Source: SPEC clauses N4, N20 (c) and N21 (d).

#include <algorithm>

#include "cuda/common/alignment.hpp"
#include "cuda/common/argument_checks.hpp"
#include "cuda/common/arithmetic.cuh"
#include "zeroulp/core/model/rope.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using word_view = matrix_view<const std::uint32_t>;

constexpr int threads = 256;

/// Cosine and sine of a pair.
struct angle {
  float cosine, sine;
};

/// A pair of BF16 codes in a word, turned.
__device__ std::uint32_t turned(std::uint32_t pair, angle by) {
  const float x0 = __uint_as_float(pair << 16);
  const float x1 = __uint_as_float(pair & 0xffff0000);
  return ptx::cvt_bf16x2(__fmaf_rn(-x1, by.sine, __fmul_rn(x0, by.cosine)),
                         __fmaf_rn(x0, by.sine, __fmul_rn(x1, by.cosine)));
}

/// Tables, positions x pairs, whose rows repeat.
struct angles {
  word_view cosines, sines;
  unsigned positions;
  bool backward;

  angles(const word_view& cosines, const word_view& sines, bool backward)
      : cosines(cosines),
        sines(sines),
        // More than there can be rows are not needed.
        positions(static_cast<unsigned>(
            std::min<std::ptrdiff_t>(cosines.rows, 0x7fffffff))),
        backward(backward) {}

  __device__ unsigned position_of_block() const {
    return blockIdx.x % positions;
  }
  /// Those of pairs [k, k + Count); four are read at once.
  template <int Count>
  __device__ void get(std::ptrdiff_t position, std::ptrdiff_t k,
                      angle (&out)[Count]) const {
    const auto put = [&](int i, std::uint32_t cosine, std::uint32_t sine) {
      out[i] = {__uint_as_float(cosine),
                __uint_as_float(backward ? sine ^ 0x80000000 : sine)};
    };
    if constexpr (Count % 4 == 0) {
      const auto fours = [&](const word_view& x) {
        return reinterpret_cast<const uint4*>(x.data + position * x.row_stride +
                                              k);
      };
#pragma unroll
      for (int i = 0; i < Count; i += 4) {
        const uint4 x = fours(cosines)[i / 4], y = fours(sines)[i / 4];
        put(i, x.x, y.x), put(i + 1, x.y, y.y);
        put(i + 2, x.z, y.z), put(i + 3, x.w, y.w);
      }
    } else {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        put(i, cosines(position, k + i), sines(position, k + i));
      }
    }
  }
  /// True if get can read four at once, from any multiple of four on.
  bool in_fours() const {
    return cosines.col_stride == 1 && sines.col_stride == 1 &&
           is_vectorized<4>(cosines.data, cosines.row_stride) &&
           is_vectorized<4>(sines.data, sines.row_stride);
  }
};

/// `Count` neighbours, an even number, in pairs; eight are read and written at
/// once.
template <int Count>
struct neighbours {
  static constexpr int pairs = Count / 2;
  std::uint32_t words[pairs];

  static __device__ neighbours at(const std::uint16_t* from) {
    neighbours x;
    if constexpr (Count == 8) {
      const uint4 v = *reinterpret_cast<const uint4*>(from);
      x.words[0] = v.x, x.words[1] = v.y, x.words[2] = v.z, x.words[3] = v.w;
    } else {
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        x.words[i] = from[2 * i] | std::uint32_t{from[2 * i + 1]} << 16;
      }
    }
    return x;
  }
  __device__ void put(std::uint16_t* to) const {
    if constexpr (Count == 8) {
      *reinterpret_cast<uint4*>(to) = {words[0], words[1], words[2], words[3]};
    } else {
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        to[2 * i] = static_cast<std::uint16_t>(words[i]);
        to[2 * i + 1] = static_cast<std::uint16_t>(words[i] >> 16);
      }
    }
  }
  __device__ void turn(const angle (&by)[pairs]) {
#pragma unroll
    for (int i = 0; i < pairs; ++i) words[i] = turned(words[i], by[i]);
  }
};

/// A thread has a pair.
__global__ void turn_pairs(const __grid_constant__ rope_rows t,
                           const __grid_constant__ angles by) {
  const std::ptrdiff_t half = t.cosines.cols;
  const auto at =
      static_cast<std::ptrdiff_t>(blockIdx.x) * threads + threadIdx.x;
  if (at >= t.x.rows * t.heads * half) return;
  const std::ptrdiff_t k = at % half, head = at / half % t.heads;
  const std::ptrdiff_t row = at / half / t.heads;
  const bool adjacent = t.pairs == rope_pairs::adjacent;
  const std::ptrdiff_t first = 2 * half * head + (adjacent ? 2 * k : k);
  const std::ptrdiff_t second = first + (adjacent ? 1 : half);
  angle a[1];
  by.get(row % t.cosines.rows, k, a);
  const std::uint32_t y =
      turned(t.x(row, first) | std::uint32_t{t.x(row, second)} << 16, a[0]);
  t.y(row, first) = static_cast<std::uint16_t>(y);
  t.y(row, second) = static_cast<std::uint16_t>(y >> 16);
}

/// A block has a row. A thread has the same elements of several heads, and
/// their angles in registers: eight neighbours, or twice eight half a head
/// apart.
template <rope_pairs Pairs>
__global__ void turn_eights(const __grid_constant__ rope_rows t,
                            const __grid_constant__ angles by) {
  constexpr bool adjacent = Pairs == rope_pairs::adjacent;
  constexpr int pairs = adjacent ? 4 : 8;
  using codes = neighbours<8>;
  const int half = static_cast<int>(t.cosines.cols), of_head = half / pairs;
  const int heads_at_once = threads / of_head;
  const int first_head = static_cast<int>(threadIdx.x) / of_head;
  const int at = static_cast<int>(threadIdx.x) - first_head * of_head;
  if (first_head >= heads_at_once) return;
  angle a[pairs];
  by.get(by.position_of_block(), pairs * at, a);
  const std::uint16_t* const x =
      t.x.data + std::ptrdiff_t{blockIdx.x} * t.x.row_stride + 8 * at;
  std::uint16_t* const y =
      t.y.data + std::ptrdiff_t{blockIdx.x} * t.y.row_stride + 8 * at;
  for (std::ptrdiff_t h = first_head; h < t.heads; h += heads_at_once) {
    codes first = codes::at(x + 2 * half * h);
    if constexpr (adjacent) {
      first.turn(a);
    } else {
      codes second = codes::at(x + 2 * half * h + half);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        // Pairs 2i and 2i + 1 lie across both.
        const std::uint32_t u = turned(
            __byte_perm(first.words[i], second.words[i], 0x5410), a[2 * i]);
        const std::uint32_t v = turned(
            __byte_perm(first.words[i], second.words[i], 0x7632), a[2 * i + 1]);
        first.words[i] = __byte_perm(u, v, 0x5410);
        second.words[i] = __byte_perm(u, v, 0x7632);
      }
      second.put(y + 2 * half * h + half);
    }
    first.put(y + 2 * half * h);
  }
}

/// What both kernels know of a shape, in 32 bits.
struct mla_sizes {
  int heads, plain, turned, depth, value, rank;

  explicit mla_sizes(const mla_shape& s)
      : heads(static_cast<int>(s.heads)),
        plain(static_cast<int>(s.plain)),
        turned(static_cast<int>(s.turned)),
        depth(static_cast<int>(s.plain + s.turned)),
        value(static_cast<int>(s.value)),
        rank(static_cast<int>(s.rank)) {}

  /// Of q, k and v.
  __host__ __device__ int of_head() const { return 2 * depth + value; }
  /// Elements of a row of `second` before a head's.
  __device__ int second(int head) const { return head * (plain + value); }
  /// Elements of a row of `first` before the key that all heads share.
  __device__ int shared_key() const { return heads * depth + rank; }
};

struct mla_params {
  mla_sizes sizes;
  angles by;
  mla_tensors<std::uint16_t> t;
};

/// Neighbours of a row that are copied, and turned from element `beyond` of
/// those that are, unless it is negative. Without `to` there are none.
struct moved {
  const std::uint16_t* from = nullptr;
  std::uint16_t* to = nullptr;
  int beyond = -1;
};

/// find(part, head, at) says where element `at` of q (part 0), k or v of a head
/// goes. This block moves its token's, `Count` neighbours a thread, those of
/// some steps at once.
template <int Count, class Find>
__device__ void move_parts(const mla_params& p, Find find) {
  constexpr int at_once = 4;
  const int depth = p.sizes.depth, of_head = p.sizes.of_head() / Count;
  const int heads_a_step = threads / of_head;
  const int rest_of_step = threads - heads_a_step * of_head;
  int head = static_cast<int>(threadIdx.x) / of_head;
  int at = static_cast<int>(threadIdx.x) - head * of_head;
  while (head < p.sizes.heads) {
    moved where[at_once];
    neighbours<Count> x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (head < p.sizes.heads) {
        const int element = Count * at;
        const int part = element < depth ? 0 : element < 2 * depth ? 1 : 2;
        where[i] = find(part, head, element - part * depth);
        if (where[i].to != nullptr) {
          x[i] = neighbours<Count>::at(where[i].from);
        }
      }
      head += heads_a_step, at += rest_of_step;
      if (at >= of_head) ++head, at -= of_head;
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (where[i].to == nullptr) continue;
      if (where[i].beyond >= 0) {
        angle a[Count / 2];
        p.by.get(p.by.position_of_block(), where[i].beyond / 2, a);
        x[i].turn(a);
      }
      x[i].put(where[i].to);
    }
  }
}

template <class T>
__device__ T* row_of_block(const matrix_view<T>& x) {
  return x.data + std::ptrdiff_t{blockIdx.x} * x.row_stride;
}

/// A block has a token.
template <int Count>
__global__ void assemble(const __grid_constant__ mla_params p) {
  const mla_sizes& s = p.sizes;
  const std::uint16_t* const first = row_of_block(p.t.first);
  const std::uint16_t* const second = row_of_block(p.t.second);
  std::uint16_t* const q = row_of_block(p.t.q);
  std::uint16_t* const k = row_of_block(p.t.k);
  std::uint16_t* const v = row_of_block(p.t.v);
  move_parts<Count>(p, [=](int part, int head, int at) -> moved {
    const int beyond = at - s.plain, place = head * s.depth + at;
    if (part == 0) return {first + place, q + place, beyond};
    const std::uint16_t* const own = second + s.second(head) + at;
    if (part == 2) return {own + s.plain, v + head * s.value + at, -1};
    return {beyond < 0 ? own : first + s.shared_key() + beyond, k + place,
            beyond};
  });
}

/// The gradient of the key that all heads share: a chain of additions over
/// heads, then turned back. The block's last threads have `Count` of its
/// elements each.
template <int Count>
__device__ void add_shared_keys(const mla_params& p, const std::uint16_t* k,
                                std::uint16_t* first) {
  constexpr int at_once = 8;
  const mla_sizes& s = p.sizes;
  for (int at = Count * (threads - 1 - static_cast<int>(threadIdx.x));
       at < s.turned; at += Count * threads) {
    float sums[Count]{};
    for (int h = 0; h < s.heads; h += at_once) {
      neighbours<Count> x[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (h + i < s.heads) {
          x[i] = neighbours<Count>::at(k + (h + i) * s.depth + s.plain + at);
        }
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (h + i >= s.heads) break;
#pragma unroll
        for (int j = 0; j < Count / 2; ++j) {
          const std::uint32_t pair = x[i].words[j];
          sums[2 * j] = __fadd_rn(sums[2 * j], __uint_as_float(pair << 16));
          sums[2 * j + 1] =
              __fadd_rn(sums[2 * j + 1], __uint_as_float(pair & 0xffff0000));
        }
      }
    }
    neighbours<Count> sum;
#pragma unroll
    for (int j = 0; j < Count / 2; ++j) {
      sum.words[j] = ptx::cvt_bf16x2(sums[2 * j], sums[2 * j + 1]);
    }
    angle a[Count / 2];
    p.by.get(p.by.position_of_block(), at / 2, a);
    sum.turn(a);
    sum.put(first + s.shared_key() + at);
  }
}

template <int Count>
__global__ void assemble_backward(const __grid_constant__ mla_params p) {
  const mla_sizes& s = p.sizes;
  std::uint16_t* const first = row_of_block(p.t.first);
  std::uint16_t* const second = row_of_block(p.t.second);
  const std::uint16_t* const q = row_of_block(p.t.q);
  const std::uint16_t* const k = row_of_block(p.t.k);
  const std::uint16_t* const v = row_of_block(p.t.v);
  add_shared_keys<Count>(p, k, first);
  move_parts<Count>(p, [=](int part, int head, int at) -> moved {
    const int beyond = at - s.plain, place = head * s.depth + at;
    if (part == 0) return {q + place, first + place, beyond};
    std::uint16_t* const own = second + s.second(head) + at;
    if (part == 2) return {v + head * s.value + at, own + s.plain, -1};
    if (beyond >= 0) return {};
    return {k + place, own, -1};
  });
}

using mla_kernel = void (*)(mla_params);

/// True if eight neighbours of any matrix lie together, in one part of a head.
bool has_eights(const mla_shape& s, const mla_tensors<std::uint16_t>& t,
                const angles& by) {
  if (!by.in_fours()) return false;
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
                bool backward, CUstream_st* stream) {
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
  const angles by(s.cosines, s.sines, backward);
  (has_eights(s, t, by) ? eights : pairs)<<<r.blocks(m), threads, 0, stream>>>(
      {mla_sizes(s), by, t});
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
  const angles by(t.cosines, t.sines, t.backward);
  const bool adjacent = t.pairs == rope_pairs::adjacent;
  const std::ptrdiff_t pairs = adjacent ? 4 : 8;
  const auto in_eights = [](const auto& x) {
    return x.col_stride == 1 && is_vectorized<2>(x.data, x.row_stride);
  };
  r.need_gpu();
  if (half % pairs == 0 && half / pairs <= threads && by.in_fours() &&
      in_eights(t.x) && in_eights(t.y)) {
    const auto kernel = adjacent ? turn_eights<rope_pairs::adjacent>
                                 : turn_eights<rope_pairs::halves>;
    kernel<<<r.blocks(t.x.rows), threads, 0, stream>>>(t, by);
  } else {
    turn_pairs<<<r.blocks(ceil_div(count, threads)), threads, 0, stream>>>(t,
                                                                           by);
  }
  r.launched();
}

void mla_assemble(const mla_shape& s, const mla_tensors<std::uint16_t>& t,
                  CUstream_st* stream) {
  launch_mla("cuda::mla_assemble", assemble<2>, assemble<8>, s, t, false,
             stream);
}

void mla_assemble_backward(const mla_shape& s,
                           const mla_tensors<std::uint16_t>& d,
                           CUstream_st* stream) {
  launch_mla("cuda::mla_assemble_backward", assemble_backward<2>,
             assemble_backward<8>, s, d, true, stream);
}

}  // namespace zeroulp::cuda
