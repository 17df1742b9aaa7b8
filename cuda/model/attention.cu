// Causal attention: which way a request goes, and the composed one: exact
// softmax and gradients of scores between products, which are gemm_bf16's. A
// warp has a query of a head.
//
//   S = q k^T -> largest, e -> o = e v, l = e 1 -> O      dP = dO v^T -> P, dS
//
// Source: SPEC clauses N5 to N7.

#include <algorithm>

#include "cuda/common/argument_checks.hpp"
#include "cuda/common/row_eights.cuh"
#include "cuda/model/attention.hpp"
#include "cuda/model/row_sum.cuh"
#include "zeroulp/core/model/attention.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::cuda {
namespace {

using A = device_fp32;
using half_view = matrix_view<const std::uint16_t>;

constexpr const char* forward_name = "cuda::attention_forward";
constexpr const char* backward_name = "cuda::attention_backward";

constexpr int warps = 8;
/// Rows of P and e have +0 up to a multiple of it: gemm_bf16 reads no further.
constexpr std::ptrdiff_t zeros_to = 128;

/// Rows of scores start on multiples of 16 bytes.
constexpr std::ptrdiff_t stride_of(std::ptrdiff_t length) {
  return ceil_div(length, 8) * 8;
}

/// Some sequences of one call. Scores and what becomes of them are matrices of
/// a head and sequence, T x T, one after the other.
struct attention_part {
  std::ptrdiff_t length, stride, heads, sequences;
  std::uint32_t scale;
  std::uint32_t* scores;  ///< also dP
  std::uint16_t* e;       ///< then P
  std::uint16_t* ds;
  std::uint32_t* sums;  ///< T x value_depth of a head and sequence
  std::uint32_t* l;
  std::ptrdiff_t value_depth;
  matrix_view<std::uint32_t> largest, inverse;  ///< tokens x heads
};

/// The query of this warp: a row of T of a head of a sequence.
struct query {
  std::ptrdiff_t i, head, token, of_scores, row;

  __device__ explicit query(const attention_part& p) {
    row = static_cast<std::ptrdiff_t>(blockIdx.x) * warps + threadIdx.x / 32;
    i = row % p.length;
    const std::ptrdiff_t matrix = row / p.length;
    head = matrix % p.heads;
    token = matrix / p.heads * p.length + i;
    of_scores = row * p.stride;
  }
  __device__ bool is_in(const attention_part& p) const {
    return row < p.length * p.heads * p.sequences;
  }
};

/// Calls use(j) for this lane's runs of eight of [0, end).
template <class Use>
__device__ void for_eights(int end, Use use) {
  for (int j = 8 * static_cast<int>(threadIdx.x % 32); j < end; j += 256) {
    use(j);
  }
}
/// Keys that a query sees, and where what it writes ends.
struct seen_keys {
  int seen, end;

  __device__ seen_keys(const attention_part& p, const query& q)
      : seen(static_cast<int>(q.i) + 1),
        end(static_cast<int>(
            min(p.length, ceil_div(q.i + 1, zeros_to) * zeros_to))) {}
};

/// e, and where `Finds` the largest score, which is read otherwise. Rows of
/// scores, e, P and dS start on multiples of 16 bytes.
template <bool Finds>
__global__ void make_weights(const __grid_constant__ attention_part p) {
  const query q(p);
  if (!q.is_in(p)) return;
  const std::uint32_t* const scores = p.scores + q.of_scores;
  std::uint16_t* const e = p.e + q.of_scores;
  const seen_keys keys(p, q);
  const float c = __uint_as_float(p.scale);
  std::uint32_t& kept = p.largest(q.token, q.head);
  float m;
  if constexpr (Finds) {
    float best = __uint_as_float(minus_infinity);
    for_eights(keys.seen, [&](int j) {
      const auto s = load<4>(scores, j, keys.seen, true);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float z = __fmul_rn(number_in(s, k), c);
        if (j + k < keys.seen) best = ptx::max_nan(best, z);
      }
    });
    m = maximum_of_threads<32>(best);
    if (threadIdx.x % 32 == 0) kept = __float_as_uint(m);
  } else {
    m = __uint_as_float(kept);
  }
  for_eights(keys.end, [&](int j) {
    const auto s = load<4>(scores, j, keys.seen, true);
    store<2>(e, j, keys.end, true, bf16_codes([&](int k) {
               const float z = __fmul_rn(number_in(s, k), c);
               return j + k < keys.seen ? exp<A>(__fsub_rn(z, m)) : 0.0f;
             }));
  });
}

__global__ void make_outputs(
    const __grid_constant__ attention_part p,
    const __grid_constant__ eights_matrix<std::uint16_t> o) {
  const query q(p);
  if (!q.is_in(p)) return;
  const float r = __fdiv_rn(1.0f, __uint_as_float(p.l[q.row]));
  if (threadIdx.x % 32 == 0) {
    p.inverse(q.token, q.head) = __float_as_uint(r);
  }
  const std::uint32_t* const sums = p.sums + q.row * p.value_depth;
  for_eights(static_cast<int>(p.value_depth), [&](int j) {
    const auto s = load<4>(sums, j, p.value_depth, true);
    o.put(q.token, q.head * p.value_depth + j,
          bf16_codes([&](int k) { return __fmul_rn(number_in(s, k), r); }));
  });
}

/// P and dS from e and dP; D is found on the way.
__global__ void make_gradients(
    const __grid_constant__ attention_part p,
    const __grid_constant__ eights_matrix<const std::uint16_t> d_o,
    const __grid_constant__ eights_matrix<const std::uint32_t> kept) {
  const query q(p);
  if (!q.is_in(p)) return;
  const std::ptrdiff_t at = q.head * p.value_depth;
  // Rows of more than 256 values take several partial sums a thread.
  float d = 0;
  if (p.value_depth <= row_of_warp) {
    for_runs<32>(p.value_depth, [&](std::ptrdiff_t first) {
      const auto g = d_o.get(q.token, at + first);
      const auto o = kept.get(q.token, at + first);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        d = __fmaf_rn(number_in(g, k), number_in(o, k), d);
      }
    });
    d = tree_of_threads<32, A>(d);
  } else {
    d = __uint_as_float(attention_dot<A>(d_o.data + q.token * d_o.stride + at,
                                         kept.data + q.token * kept.stride + at,
                                         p.value_depth));
  }
  const float inverse = __uint_as_float(p.inverse(q.token, q.head));
  const seen_keys keys(p, q);
  std::uint16_t* const e = p.e + q.of_scores;
  const std::uint32_t* const dp = p.scores + q.of_scores;
  for_eights(keys.end, [&](int j) {
    const auto weights = load<2>(e, j, keys.seen, true);
    const auto from = load<4>(dp, j, keys.seen, true);
    float weight[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      weight[k] = __fmul_rn(number_in(weights, k), inverse);
    }
    const auto seen = [&](int k, float x) {
      return j + k < keys.seen ? x : 0.0f;
    };
    store<2>(e, j, keys.end, true,
             bf16_codes([&](int k) { return seen(k, weight[k]); }));
    store<2>(p.ds + q.of_scores, j, keys.end, true, bf16_codes([&](int k) {
               return seen(
                   k, __fmul_rn(weight[k], __fsub_rn(number_in(from, k), d)));
             }));
  });
}

/// One call: how many sequences at once, and where they work. `one`: bytes of
/// work of a sequence.
class attention_call {
 public:
  attention_call(const char* function, const attention_shape& s,
                 std::ptrdiff_t tokens, std::span<std::byte> work,
                 std::size_t one)
      : r(function), s_(s), work_(work) {
    r.need(s.length > 0 && s.heads > 0 && s.depth > 0 && s.value_depth > 0,
           "a length, heads or widths are not above 0");
    r.need(s.depth % 8 == 0 && s.value_depth % 8 == 0,
           "widths of a head are multiples of 8");
    r.need(s.heads < 65536, "there are more than 65535 heads");
    r.need(tokens >= 0 && tokens % s.length == 0,
           "tokens are no multiple of the length");
    sequences_ = tokens / s.length;
    if (sequences_ == 0) return;
    r.need(work.size() >= one, "`work` holds no sequence");
    r.need(reinterpret_cast<std::uintptr_t>(work.data()) % 256 == 0,
           "`work` is not aligned to 256 bytes");
    at_once_ = std::min<std::ptrdiff_t>(
        {sequences_, static_cast<std::ptrdiff_t>(work.size() / one), 65535});
  }

  void need(half_view x, std::ptrdiff_t cols, const char* what) const {
    if (x.rows != sequences_ * s_.length || x.cols != cols ||
        (x.rows > 0 && x.col_stride != 1)) {
      r.refuse(std::string(what) + " has another shape");
    }
  }

  void need_inputs(const engine::attention_inputs& t) const {
    need(t.q, s_.heads * s_.depth, "q");
    need(t.k, s_.heads * s_.depth, "k");
    need(t.v, s_.heads * s_.value_depth, "v");
  }
  void need_forward(const engine::attention_inputs& t, half_view o) const {
    need_inputs(t);
    need(o, s_.heads * s_.value_depth, "o");
  }
  void need_backward(const engine::attention_inputs& t, half_view d_o,
                     const engine::attention_gradients_out& out) const {
    need_inputs(t);
    need(d_o, s_.heads * s_.value_depth, "d_o");
    need(out.dq, s_.heads * s_.depth, "dq");
    need(out.dk, s_.heads * s_.depth, "dk");
    need(out.dv, s_.heads * s_.value_depth, "dv");
  }

  /// use(part, first token, tokens) for some sequences after the others.
  template <class Use>
  void for_parts(matrix_view<std::uint32_t> largest,
                 matrix_view<std::uint32_t> inverse, Use use) const {
    r.need_gpu();
    for (std::ptrdiff_t at = 0; at < sequences_; at += at_once_) {
      const std::ptrdiff_t count = std::min(at_once_, sequences_ - at);
      const std::ptrdiff_t token = at * s_.length;
      const std::ptrdiff_t tokens = count * s_.length;
      attention_part p{};
      p.length = s_.length;
      p.stride = stride_of(s_.length);
      p.heads = s_.heads;
      p.sequences = count;
      p.scale = s_.scale;
      p.value_depth = s_.value_depth;
      const auto all = static_cast<std::size_t>(count * s_.heads * s_.length);
      const auto square = all * static_cast<std::size_t>(p.stride);
      auto* place = work_.data();
      const auto take = [&place](auto*& to, std::size_t n) {
        to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(place);
        place += (n * sizeof *to + 255) / 256 * 256;
      };
      take(p.scores, square);
      take(p.e, square);
      take(p.ds, square);
      take(p.sums, all * static_cast<std::size_t>(s_.value_depth));
      take(p.l, all);
      p.largest = largest.block(token, 0, tokens, s_.heads);
      p.inverse = inverse.block(token, 0, tokens, s_.heads);
      use(p, token, tokens);
    }
  }

  unsigned blocks(const attention_part& p) const {
    return r.blocks(ceil_div(p.length * p.heads * p.sequences, warps));
  }

  /// A product of every head and sequence: by heads of `width` elements beside
  /// each other, or T x T matrices.
  bf16_gemm product(const attention_part& p) const {
    bf16_gemm g;
    g.outer = p.sequences;
    g.inner = p.heads;
    return g;
  }
  batch_strides square() const {
    const std::ptrdiff_t n = s_.length * stride_of(s_.length);
    return {s_.heads * n, n};
  }
  half_view square(const std::uint16_t* x) const {
    return {x, s_.length, s_.length, stride_of(s_.length), 1};
  }
  /// The first head of the first sequence from `token` on.
  half_view head(half_view x, std::ptrdiff_t token,
                 std::ptrdiff_t width) const {
    return x.block(token, 0, s_.length, width);
  }
  batch_strides heads(half_view x, std::ptrdiff_t width) const {
    return {s_.length * x.row_stride, width};
  }
  static matrix to(matrix_view<std::uint16_t> x, std::ptrdiff_t token,
                   std::ptrdiff_t rows, std::ptrdiff_t width) {
    return {&x(token, 0), rows, width, x.row_stride};
  }

  /// Scores, or dP: a b^T of each head.
  void scores(const attention_part& p, half_view a, half_view b,
              std::ptrdiff_t token, std::ptrdiff_t width,
              CUstream_st* stream) const {
    bf16_gemm g = product(p);
    g.a = head(a, token, width);
    g.b = head(b, token, width);
    g.a_batch = heads(a, width);
    g.b_batch = heads(b, width);
    g.span = gemm_span::lower;
    g.d = {p.scores, s_.length, s_.length, p.stride};
    g.d_batch = square();
    gemm_bf16(g, stream);
  }

  argument_checks r;

 private:
  const attention_shape& s_;
  std::span<std::byte> work_;
  std::ptrdiff_t sequences_ = 0;
  std::ptrdiff_t at_once_ = 0;
};

matrix_view<std::uint32_t> writable(matrix_view<const std::uint32_t> x) {
  return {const_cast<std::uint32_t*>(x.data), x.rows, x.cols, x.row_stride,
          x.col_stride};
}

}  // namespace

std::size_t composed_attention_work_bytes(const attention_shape& s,
                                          std::ptrdiff_t sequences) {
  const auto rows = static_cast<std::size_t>(sequences * s.heads * s.length);
  const auto square = rows * static_cast<std::size_t>(stride_of(s.length));
  const auto padded = [](std::size_t n) { return (n + 255) / 256 * 256; };
  return padded(4 * square) + 2 * padded(2 * square) +
         padded(4 * rows * static_cast<std::size_t>(s.value_depth)) +
         padded(4 * rows);
}

void composed_attention_forward(const attention_shape& s,
                                const engine::attention_inputs& t,
                                matrix_view<std::uint16_t> o,
                                matrix_view<std::uint32_t> largest,
                                matrix_view<std::uint32_t> inverse,
                                std::span<std::byte> work,
                                CUstream_st* stream) {
  const attention_call call(forward_name, s, t.q.rows, work,
                            composed_attention_work_bytes(s, 1));
  call.need_forward(t, o);
  if (t.q.rows == 0) return;
  call.for_parts(largest, inverse,
                 [&](const attention_part& p, std::ptrdiff_t token,
                     std::ptrdiff_t tokens) {
                   call.scores(p, t.q, t.k, token, s.depth, stream);
                   make_weights<true>
                       <<<call.blocks(p), 32 * warps, 0, stream>>>(p);
                   call.r.launched();
                   bf16_gemm g = call.product(p);
                   g.a = call.square(p.e);
                   g.a_batch = call.square();
                   g.b = call.head(t.v, token, s.value_depth).transposed();
                   g.b_batch = call.heads(t.v, s.value_depth);
                   g.span = gemm_span::to_diagonal;
                   g.d = {p.sums, s.length, s.value_depth};
                   g.d_batch = {s.heads * s.length * s.value_depth,
                                s.length * s.value_depth};
                   g.row_sums = p.l;
                   g.row_sums_batch = {s.heads * s.length, s.length};
                   gemm_bf16(g, stream);
                   make_outputs<<<call.blocks(p), 32 * warps, 0, stream>>>(
                       p, eights_matrix(o.block(token, 0, tokens, o.cols)));
                   call.r.launched();
                 });
}

void composed_attention_backward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 const engine::attention_kept& kept,
                                 matrix_view<const std::uint16_t> d_o,
                                 const engine::attention_gradients_out& out,
                                 std::span<std::byte> work,
                                 CUstream_st* stream) {
  const attention_call call(backward_name, s, t.q.rows, work,
                            composed_attention_work_bytes(s, 1));
  call.need_backward(t, d_o, out);
  if (t.q.rows == 0) return;
  call.for_parts(
      writable(kept.largest), writable(kept.inverse),
      [&](const attention_part& p, std::ptrdiff_t token,
          std::ptrdiff_t tokens) {
        call.scores(p, t.q, t.k, token, s.depth, stream);
        make_weights<false><<<call.blocks(p), 32 * warps, 0, stream>>>(p);
        call.r.launched();
        call.scores(p, d_o, t.v, token, s.value_depth, stream);
        make_gradients<<<call.blocks(p), 32 * warps, 0, stream>>>(
            p, eights_matrix(d_o.block(token, 0, tokens, d_o.cols)),
            eights_matrix(kept.o.block(token, 0, tokens, kept.o.cols)));
        call.r.launched();
        const auto product =
            [&](half_view a, gemm_span span, half_view b, std::ptrdiff_t width,
                matrix_view<std::uint16_t> d, std::uint32_t factor) {
              bf16_gemm g = call.product(p);
              g.a = a;
              g.a_batch = call.square();
              g.b = call.head(b, token, width).transposed();
              g.b_batch = call.heads(b, width);
              g.span = span;
              g.output = bf16;
              g.factor = factor;
              g.d = attention_call::to(d, token, s.length, width);
              g.d_batch = call.heads(d, width);
              gemm_bf16(g, stream);
            };
        const half_view ds = call.square(p.ds);
        product(ds, gemm_span::to_diagonal, t.k, s.depth, out.dq, s.scale);
        product(ds.transposed(), gemm_span::from_diagonal, t.q, s.depth, out.dk,
                s.scale);
        product(call.square(p.e).transposed(), gemm_span::from_diagonal, d_o,
                s.value_depth, out.dv, fp32_one);
      });
}

std::size_t attention_work_bytes(const attention_shape& s,
                                 std::ptrdiff_t sequences) {
  if (is_fused(s)) return fused_attention_work_bytes(s, sequences);
  const std::size_t composed = composed_attention_work_bytes(s, sequences);
  return s.depth > 0
             ? composed
             : std::max(composed, fused_attention_work_bytes(s, sequences));
}

void attention_forward(const attention_shape& s,
                       const engine::attention_inputs& t,
                       matrix_view<std::uint16_t> o,
                       matrix_view<std::uint32_t> largest,
                       matrix_view<std::uint32_t> inverse,
                       std::span<std::byte> work, CUstream_st* stream) {
  if (!is_fused(s)) {
    return composed_attention_forward(s, t, o, largest, inverse, work, stream);
  }
  const attention_call call(forward_name, s, t.q.rows, work,
                            fused_attention_work_bytes(s, 1));
  call.need_forward(t, o);
  if (t.q.rows == 0) return;
  fused_attention_forward(call.r, s, t, o, largest, inverse, stream);
}

void attention_backward(const attention_shape& s,
                        const engine::attention_inputs& t,
                        const engine::attention_kept& kept,
                        matrix_view<const std::uint16_t> d_o,
                        const engine::attention_gradients_out& out,
                        std::span<std::byte> work, CUstream_st* stream) {
  if (!is_fused(s)) {
    return composed_attention_backward(s, t, kept, d_o, out, work, stream);
  }
  const attention_call call(backward_name, s, t.q.rows, work,
                            fused_attention_work_bytes(s, 1));
  call.need_backward(t, d_o, out);
  if (t.q.rows == 0) return;
  fused_attention_backward(call.r, s, t, kept, d_o, out, work, stream);
}

}  // namespace zeroulp::cuda
