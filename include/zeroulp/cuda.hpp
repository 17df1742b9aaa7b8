// Defines the functions that run on a GPU of compute capability 9.0, bit-equal
// to the core's functions of the same names:
//
//   cuda::quantize(q, x, y, yt, stream)         core/quantize.hpp, of x and x^T
//   cuda::dequantize, retile, transpose, pack, unpack
//   cuda::emulate_gemm(recipe, a, b, c, d, stream)         core/gemm.hpp
//
// Matrices are in memory of the current device and remain the caller's. Outputs
// overlap nothing. Work goes to the stream: no allocation, no synchronization.
//
// A kernel may begin before the preceding kernels in the stream have ended
// (programmatic dependent launch). Until then it may prefetch inputs into the
// L2, but reads nothing. A kernel of yours that is launched the same way after
// it must wait for it (griddepcontrol.wait).
//
// A request that is not served throws input_error before any launch. Errors
// that CUDA reports, also those pending from an earlier call, throw
// cuda::error, as does a GPU of another kind.

#ifndef ZEROULP_CUDA_HPP_
#define ZEROULP_CUDA_HPP_

#include <cstdint>
#include <stdexcept>

#include "zeroulp/core/gemm.hpp"
#include "zeroulp/core/retile.hpp"

// cudaStream_t is a pointer to this.
struct CUstream_st;

namespace zeroulp::cuda {

/// CUDA failed; what() has CUDA's name of the error.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A row-major matrix of codes. Element (i, j) is i * stride + j elements after
/// `data`. Elements take 1 byte for formats of up to 8 bits, 2 bytes up to 16
/// bits, else 4; `data` is aligned to them. Fastest if rows start on multiples
/// of 16 bytes.
template <class T>
struct basic_matrix {
  T* data = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::ptrdiff_t stride = 0;

  constexpr basic_matrix() = default;
  constexpr basic_matrix(T* p, std::ptrdiff_t m, std::ptrdiff_t n)
      : basic_matrix(p, m, n, n) {}
  constexpr basic_matrix(T* p, std::ptrdiff_t m, std::ptrdiff_t n,
                         std::ptrdiff_t leading)
      : data(p), rows(m), cols(n), stride(leading) {}
  template <class U>
  constexpr basic_matrix(const basic_matrix<U>& x)  // NOLINT: converts
      : basic_matrix(x.data, x.rows, x.cols, x.stride) {}
};
using matrix = basic_matrix<void>;
using const_matrix = basic_matrix<const void>;

/// The scales of a matrix of codes, one for each group, in the words of
/// stored_shape() for that layout. `stride`: words from one row of words to the
/// next.
template <class T>
struct basic_scales {
  T* data = nullptr;
  std::ptrdiff_t stride = 0;
  scale_layout layout = scale_layout::row_major;

  constexpr basic_scales() = default;
  constexpr basic_scales(T* p, std::ptrdiff_t leading,
                         scale_layout how = scale_layout::row_major)
      : data(p), stride(leading), layout(how) {}
  template <class U>
  constexpr basic_scales(const basic_scales<U>& x)  // NOLINT: converts
      : basic_scales(x.data, x.stride, x.layout) {}
};
using scales = basic_scales<std::uint32_t>;
using const_scales = basic_scales<const std::uint32_t>;

/// The output codes and scales of a matrix; without codes, it is not wanted.
struct quantized {
  matrix codes;
  cuda::scales scales;
};

/// y = x quantized, yt = the transpose of x quantized, each by q, in one pass
/// over x. With q.group 1x128 the groups of yt are 128x1 of x. Either output
/// may have no codes.
///
/// q.from is fp32, bf16 or fp16; q.to is e4m3, e5m2 or e5m6; q.group is 1x128,
/// 128x1 or 128x128. The layout ue8m0 needs powers of two from 2^-127 to 2^127.
/// SPEC: Q1 to Q13.
void quantize(const quantizer& q, const const_matrix& x, const quantized& y,
              const quantized& yt = {}, CUstream_st* stream = nullptr);

/// Quantizes by a given amax (FP32 bits) for each group of x: delayed scaling.
/// yt is the transpose of y. q.group may also be the whole matrix.
void quantize(const quantizer& q, const const_matrix& x,
              matrix_view<const std::uint32_t> amax, const quantized& y,
              const quantized& yt = {}, CUstream_st* stream = nullptr);

/// The amax (FP32 bits) of each group of x; q.group may also be the whole
/// matrix.
void group_amaxes(const quantizer& q, const const_matrix& x,
                  matrix_view<std::uint32_t> amax,
                  CUstream_st* stream = nullptr);

/// out = fl(code * scale), rounded to `to`: fp32, or bf16 (nearest-even, a
/// second rounding). Groups are 1x128, 128x1, 128x128 or the whole matrix.
void dequantize(format from, group_shape group, const const_matrix& codes,
                const const_scales& scales, format to, const matrix& out,
                CUstream_st* stream = nullptr);

/// Re-tiles m x n codes with a scale for each 1x128 to n x m codes with a scale
/// for each 1x128: see zeroulp::retile. r.tile is 128; formats are e4m3, e5m2
/// and e5m6. SPEC: W1 to W5, W7.
void retile(const retiling& r, const const_matrix& codes,
            const const_scales& scales, const quantized& out,
            CUstream_st* stream = nullptr);

/// Transposes weights: codes (of 1 or 2 bytes) and their 128x128 scales. SPEC:
/// W6.
void transpose(format element, const const_matrix& codes,
               const const_scales& scales, const quantized& out,
               CUstream_st* stream = nullptr);

/// How 12-bit codes lie in bytes: SPEC, P1 and P2.
enum class packing : std::uint8_t { bytes, words };

/// m x n 12-bit codes (2 bytes each) to and from m x packed_bytes(n), or
/// m x packed_word_bytes(n), bytes.
void pack(packing how, const const_matrix& codes, const matrix& packed,
          CUstream_st* stream = nullptr);
void unpack(packing how, const const_matrix& packed, const matrix& codes,
            CUstream_st* stream = nullptr);

/// An operand of a GEMM: mn x k codes, row i at codes + i * stride elements.
/// Elements are uint8_t for formats of up to 8 bits, uint16_t up to 16 bits,
/// else uint32_t.
struct operand {
  format element;
  const void* codes = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;
  std::ptrdiff_t stride = 0;
  /// FP32 bits, one for each group of the recipe's granularity; null data:
  /// none.
  matrix_view<const std::uint32_t> scales{};
};

/// D = A B^T by `r`, as core/gemm.hpp defines it, on ordinary GPU cores: an
/// emulator of the tensor core. `c` (m x n, FP32) may have null data unless the
/// epilogue accumulates. It may be D if D is FP32. `d` is m x n codes of
/// r.output, as cuda::gemm writes them.
///
/// Accumulators other than Hopper's, and outputs other than FP32 and BF16, run
/// through the core itself, slowly.
void emulate_gemm(const recipe& r, const operand& a, const operand& b,
                  const const_matrix& c, const matrix& d,
                  CUstream_st* stream = nullptr);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_HPP_
