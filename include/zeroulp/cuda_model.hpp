// Defines the operators of a training step on a GPU of compute capability 9.0,
// bit-equal to the functions of model.hpp of the same names:
//
//   cuda::gemm_bf16   attention_forward   attention_backward   rope
//   cuda::mla_assemble   mla_assemble_backward   rms_norm_backward
//   cuda::sequential_gemm   route   route_backward   update_bias
//   cuda::make_plan   gather   slot_backward   append_slot
//   cuda::embed   one_hot   swiglu_backward   cross_entropy
//   cuda::sum_of_losses   sum_of_squares   add_shards   scale   add   log
//   cuda::widen   narrow   expand_rows   sha256
//
// Views and tables are in memory of the current device and remain the caller's.
// Elements of a row are adjacent (column stride 1) unless it is said otherwise.
// Work goes to the stream: no allocation, no synchronization. Where a function
// needs room, the caller gives it (`work`). Errors are as in cuda.hpp. Source:
// SPEC section N.

#ifndef ZEROULP_CUDA_MODEL_HPP_
#define ZEROULP_CUDA_MODEL_HPP_

#include <span>

#include "zeroulp/cuda.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp::cuda {

/// Which elements of K a row of D sums, and which rows and columns of D are
/// made, where A or D is a causal matrix of attention.
enum class gemm_span : std::uint8_t {
  all,
  /// Row i takes k < 64 floor(i / 64) + 64: A is lower triangular.
  to_diagonal,
  /// Row i takes k >= 64 floor(i / 64): A is the transpose of such.
  from_diagonal,
  /// All of K; columns of D beyond the row's are left out in tiles.
  lower,
};

/// Elements from one matrix of a batch to the next: of an outer and an inner
/// index.
struct batch_strides {
  std::ptrdiff_t outer = 0;
  std::ptrdiff_t inner = 0;
};

/// D = A B^T of BF16 operands on the tensor core, each sum over K in order:
/// SPEC clause G, row BF16 -> f32 of T12, without interval.
struct bf16_gemm {
  /// m x k and n x k, BF16: one stride is 1, the other a multiple of 8, data
  /// aligned to 16 bytes; so are the batch's strides.
  matrix_view<const std::uint16_t> a;
  matrix_view<const std::uint16_t> b;
  format output = fp32;       ///< fp32, or bf16 (nearest-even)
  matrix d;                   ///< m x n
  std::ptrdiff_t splits = 1;  ///< of K, summed in order (G7)
  gemm_span span = gemm_span::all;
  std::uint32_t factor = fp32_one;  ///< of each sum: fl(sum * factor)
  /// m, FP32, or null: the product of A and ones; the span is to_diagonal.
  std::uint32_t* row_sums = nullptr;
  std::ptrdiff_t outer = 1;  ///< matrices of the batch
  std::ptrdiff_t inner = 1;
  batch_strides a_batch{}, b_batch{}, d_batch{}, row_sums_batch{};
};
void gemm_bf16(const bf16_gemm& g, CUstream_st* stream = nullptr);

/// Bytes that attention of so many sequences at once works in. Where fused
/// kernels serve the widths (192/128, 128/128, 64/64), 12 a head and token, the
/// tokens padded to 64; else the scores of a head are in memory, T x T. With
/// depth 0 it is enough for any.
std::size_t attention_work_bytes(const attention_shape& s,
                                 std::ptrdiff_t sequences);

/// As engine::attention_forward; `work` holds at least a sequence. Widths of a
/// head and rows of q, k, v and d_o are multiples of 8 elements.
void attention_forward(const attention_shape& s,
                       const engine::attention_inputs& t,
                       matrix_view<std::uint16_t> o,
                       matrix_view<std::uint32_t> largest,
                       matrix_view<std::uint32_t> inverse,
                       std::span<std::byte> work,
                       CUstream_st* stream = nullptr);
/// `kept` is what the forward pass made of the same q and k. With a largest
/// score below one of the scores, bits are not those of the engine.
void attention_backward(const attention_shape& s,
                        const engine::attention_inputs& t,
                        const engine::attention_kept& kept,
                        matrix_view<const std::uint16_t> d_o,
                        const engine::attention_gradients_out& out,
                        std::span<std::byte> work,
                        CUstream_st* stream = nullptr);

/// SPEC N4.
void rope(const rope_rows& t, CUstream_st* stream = nullptr);

/// What MLA makes queries, keys and values from; all are BF16. SPEC N20 (c).
struct mla_shape {
  std::ptrdiff_t heads;
  std::ptrdiff_t plain;   ///< of a head's q and k: without position
  std::ptrdiff_t turned;  ///< with rope, pairs of neighbours
  std::ptrdiff_t value;
  std::ptrdiff_t
      rank;  ///< of the latent, which is between q and the shared key
  /// Positions x turned / 2, FP32; row t has position t mod positions.
  matrix_view<const std::uint32_t> cosines;
  matrix_view<const std::uint32_t> sines;
};
template <class T>
struct mla_tensors {
  matrix_view<T> first;   ///< m x at least heads depth + rank + turned
  matrix_view<T> second;  ///< m x heads (plain + value)
  matrix_view<T> q;       ///< m x heads depth
  matrix_view<T> k;       ///< m x heads depth
  matrix_view<T> v;       ///< m x heads value
};
/// q, k and v from first and second.
void mla_assemble(const mla_shape& s, const mla_tensors<std::uint16_t>& t,
                  CUstream_st* stream = nullptr);
/// The gradients of first, but for the latent's columns, and of second, from
/// those of q, k and v. SPEC N21 (d).
void mla_assemble_backward(const mla_shape& s,
                           const mla_tensors<std::uint16_t>& d,
                           CUstream_st* stream = nullptr);

/// SPEC N3. `work`: FP32 words, ceil(m / 256) x n, unless t.dw has no data.
void rms_norm_backward(const rms_norm_gradients& t,
                       std::span<std::uint32_t> work,
                       CUstream_st* stream = nullptr);

/// D (m x n, FP32) = A B^T, one fma after the other (T14), in ranges of
/// `interval` elements of K that are added in order; 0: one range. A and B are
/// BF16 or FP32, of any strides. `work`: words, ceil(k / interval) x m x n,
/// if there is an interval.
struct sequential_operand {
  format element;  ///< bf16 or fp32
  const void* data;
  std::ptrdiff_t rows, cols;
  std::ptrdiff_t row_stride, col_stride;

  sequential_operand(matrix_view<const std::uint16_t> x)  // NOLINT: converts
      : element(bf16),
        data(x.data),
        rows(x.rows),
        cols(x.cols),
        row_stride(x.row_stride),
        col_stride(x.col_stride) {}
  sequential_operand(matrix_view<const std::uint32_t> x)  // NOLINT: converts
      : element(fp32),
        data(x.data),
        rows(x.rows),
        cols(x.cols),
        row_stride(x.row_stride),
        col_stride(x.col_stride) {}
};
void sequential_gemm(const sequential_operand& a, const sequential_operand& b,
                     std::ptrdiff_t interval, matrix_view<std::uint32_t> d,
                     std::span<std::uint32_t> work,
                     CUstream_st* stream = nullptr);

/// SPEC N8 to N10. t.work is m x (experts + groups).
void route(const router& r, const routing& t, CUstream_st* stream = nullptr);
/// SPEC N11. An expert that is none makes its token's dlogits NaN.
void route_backward(const router& r, const routing_gradients& t,
                    CUstream_st* stream = nullptr);
/// SPEC N12. Up to 4096 experts; others in `experts` are not counted.
void update_bias(matrix_view<const std::int32_t> experts, std::uint32_t speed,
                 matrix_view<std::uint32_t> bias,
                 CUstream_st* stream = nullptr);

/// Words that make_plan works in.
std::ptrdiff_t plan_work(std::ptrdiff_t slots, std::ptrdiff_t experts);
/// SPEC N13. An expert that is none has slot -1.
void make_plan(const expert_plan& p, std::span<std::int32_t> work,
               CUstream_st* stream = nullptr);
/// Row r of y is row rows(r, 0) of x; of -1: +0.
void gather(matrix_view<const std::uint16_t> x,
            matrix_view<const std::int32_t> rows, matrix_view<std::uint16_t> y,
            CUstream_st* stream = nullptr);
/// SPEC N14.
void slot_backward(const slot_gradients& t, CUstream_st* stream = nullptr);
/// Slots and, unless `by` has no data, weights for cuda::combine: those of each
/// token, then row first + t with weight 1: an expert that every token visits.
void append_slot(matrix_view<const std::int32_t> slots,
                 matrix_view<const std::uint32_t> weights, std::ptrdiff_t first,
                 matrix_view<std::int32_t> all, matrix_view<std::uint32_t> by,
                 CUstream_st* stream = nullptr);

/// Row t of x is bf of row ids(t, 0) of w. SPEC N19.
void embed(matrix_view<const std::uint32_t> w,
           matrix_view<const std::int32_t> ids, matrix_view<std::uint16_t> x,
           CUstream_st* stream = nullptr);
/// y(v, t) = 1 if ids(t, 0) is v, else +0; BF16.
void one_hot(matrix_view<const std::int32_t> ids, matrix_view<std::uint16_t> y,
             CUstream_st* stream = nullptr);

/// SwiGLU's backward pass from g and u as they are, BF16: h, and dg and du from
/// dh; outputs without data are left out. SPEC S3.
void swiglu_backward(matrix_view<const std::uint16_t> g,
                     matrix_view<const std::uint16_t> u,
                     matrix_view<const std::uint16_t> dh,
                     matrix_view<std::uint16_t> h,
                     matrix_view<std::uint16_t> dg,
                     matrix_view<std::uint16_t> du,
                     CUstream_st* stream = nullptr);

/// out(i, j) = log(x(i, j)), FP32 bits; out may be x. SPEC E6.
void log(matrix_view<const std::uint32_t> x, matrix_view<std::uint32_t> out,
         CUstream_st* stream = nullptr);
/// SPEC N15; t.work is m x n. A target that is none is as -1.
void cross_entropy(const cross_entropy_rows& t, CUstream_st* stream = nullptr);
/// The sum of losses (m x 1, FP32) in FP64. `work`: ceil(m / 1024) numbers.
void sum_of_losses(matrix_view<const std::uint32_t> losses,
                   std::span<double> work, double* sum,
                   CUstream_st* stream = nullptr);

/// The sum of squares of a parameter's gradients, FP32 without gaps, in FP64.
/// SPEC N17. `work`: ceil(count / 65536) numbers.
void sum_of_squares(std::span<const std::uint32_t> g, std::span<double> work,
                    double* sum, CUstream_st* stream = nullptr);
/// The tree of 1, 2, 4, .. up to 64 shards of FP32 numbers, which may be `out`.
/// SPEC N16.
void add_shards(std::span<const std::uint32_t* const> shards,
                std::span<std::uint32_t> out, CUstream_st* stream = nullptr);
/// x = fl(x factor), FP32.
void scale(std::span<std::uint32_t> x, std::uint32_t factor,
           CUstream_st* stream = nullptr);

/// y = x, BF16 numbers as FP32.
void widen(std::span<const std::uint16_t> x, std::span<std::uint32_t> y,
           CUstream_st* stream = nullptr);
/// y = bf(x), FP32 numbers.
void narrow(std::span<const std::uint32_t> x, std::span<std::uint16_t> y,
            CUstream_st* stream = nullptr);
/// Row i of `rows` is row i / each of `blocks`: scales of each block as scales
/// of each row.
void expand_rows(matrix_view<const std::uint32_t> blocks, std::ptrdiff_t each,
                 matrix_view<std::uint32_t> rows,
                 CUstream_st* stream = nullptr);

/// bf(fl(a + b)) of BF16 numbers without gaps; b is BF16 or FP32.
void add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b,
         std::span<std::uint16_t> sum, CUstream_st* stream = nullptr);
void add(std::span<const std::uint16_t> a, std::span<const std::uint32_t> b,
         std::span<std::uint16_t> sum, CUstream_st* stream = nullptr);

/// Bytes on the device, from a multiple of 16 on.
struct byte_range {
  const void* data;
  std::size_t count;
};
/// The SHA-256 of each range, eight words: the table and the digests are on the
/// device, too.
void sha256(const byte_range* ranges, std::ptrdiff_t count,
            std::uint32_t* digests, CUstream_st* stream = nullptr);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_MODEL_HPP_
