// Defines what the checks of large GEMM calls share: matrices that the device
// fills, and one call compared with the emulator, all on the device.

#ifndef ZEROULP_CONFORMANCE_DEVICE_KERNELS_GEMM_LARGE_CUH_
#define ZEROULP_CONFORMANCE_DEVICE_KERNELS_GEMM_LARGE_CUH_

#include "conformance/device/kernels/gemm/trial.hpp"
#include "conformance/device/support/operands.hpp"

namespace zeroulp::conformance::device {

/// codes: about N(0, 1). scales: positive FP32 numbers around 1. sums: the same
/// with either sign. nan: NaN.
enum class content : std::uint8_t { codes, scales, sums, nan };

__device__ inline std::uint32_t drawn(content what, format f,
                                      counter_rng& rng) {
  if (what == content::codes) return normal_code(f, rng);
  if (what == content::nan) return f == fp32 ? fp32_nan : 0x7fff;
  const std::uint32_t sign = what == content::sums ? 0x80000000 : 0;
  const std::uint32_t exponent = 120 + rng.below(8);
  return exponent << 23 | (rng.next32() & (0x7fffff | sign));
}

template <class Word>
__global__ void fill_with(content what, format f, std::uint64_t seed,
                          std::uint64_t count, Word* out) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    counter_rng rng(seed, i);
    out[i] = static_cast<Word>(drawn(what, f, rng));
  }
}

/// The seeds of a check's inputs, one after the other: each check begins anew,
/// so that its inputs do not depend on what ran before it.
class input_seeds {
 public:
  static void begin(std::uint64_t seed) { state() = mix64(seed); }
  static std::uint64_t next() { return ++state(); }

 private:
  static std::uint64_t& state() {
    static std::uint64_t last = 0;
    return last;
  }
};

/// A filled matrix; rows start on multiples of `each` elements.
template <class Word>
struct filled {
  std::ptrdiff_t rows, cols, stride;
  device_buffer<Word> memory;

  filled(content what, format f, std::ptrdiff_t m, std::ptrdiff_t n,
         int each = 1)
      : rows(m),
        cols(n),
        stride(ceil_div(n, each) * each),
        memory(static_cast<std::size_t>(m * stride) + 1) {
    fill_with<<<132 * 16, 128>>>(what, f, input_seeds::next(),
                                 static_cast<std::uint64_t>(m * stride),
                                 memory.data());
  }
  matrix_view<const Word> view() const {
    return {memory.data(), rows, cols, stride, 1};
  }
  /// The transpose: its columns as rows.
  matrix_view<const Word> turned() const {
    return {memory.data(), cols, rows, 1, stride};
  }
};

inline cuda::operand operand_of(format f, matrix_view<const std::uint8_t> codes,
                                matrix_view<const std::uint32_t> scales) {
  return {f, codes.data, codes.rows, codes.cols, codes.row_stride, scales};
}

/// Where C and D lie.
struct large_places {
  int c_before = 0;        ///< 1: misaligned, so that TMA cannot read it
  bool d_on_host = false;  ///< host memory, where stores complete slowly
};

/// Compares one call of cuda::gemm with the emulator, product by product. The
/// scales of a row, or those of a block of K as TMA reads them, are contiguous;
/// each call draws which.
verdict hold_large(const recipe& r, format fa, format fb, const trial_shape& s,
                   const std::vector<std::int32_t>& table = {},
                   large_places places = {});

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_KERNELS_GEMM_LARGE_CUH_
