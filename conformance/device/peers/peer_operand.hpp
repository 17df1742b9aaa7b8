// Defines an operand of a GEMM on the device: random codes, and scales in the
// layout that cuBLASLt requires. Strides describe that layout to other callers.

#ifndef ZEROULP_CONFORMANCE_DEVICE_PEERS_PEER_OPERAND_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_PEERS_PEER_OPERAND_HPP_

#include "conformance/device/support/operands.hpp"
#include "conformance/device/support/test.hpp"
#include "conformance/peers/cublaslt.hpp"
#include "zeroulp/cuda.hpp"

namespace zeroulp::conformance::device {

template <class Code>
__global__ void fill_codes(Code* to, std::size_t pairs, format f, side at,
                           family of, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < pairs; i += step) {
    counter_rng rng(seed, i);
    const code_pair codes = operand_codes(of, at, f, 1, rng);
    to[2 * i] = static_cast<Code>(codes.first);
    to[2 * i + 1] = static_cast<Code>(codes.second);
  }
}

/// Fills scales with numbers in [2^-4, 2^4); their padding stays NaN.
template <class Word>
__global__ void fill_scales(matrix_view<Word> to, std::uint64_t seed) {
  const std::ptrdiff_t step = std::ptrdiff_t{gridDim.x} * blockDim.x;
  std::ptrdiff_t i = std::ptrdiff_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < to.rows * to.cols; i += step) {
    counter_rng rng(seed, static_cast<std::uint64_t>(i));
    to(i / to.cols, i % to.cols) =
        (123 + rng.below(8)) << 23 | (rng.next32() >> 9);
  }
}

/// rows x k codes, k even.
class random_operand {
 public:
  random_operand(format f, std::ptrdiff_t rows, std::ptrdiff_t k, granularity g,
                 bool scaled, side at, family of, std::uint64_t seed)
      : codes_(static_cast<std::size_t>(rows * k) * (f.bits() > 8 ? 2 : 1)),
        view_(lay_out(g, rows, k)),
        scales_(scale_words(g, rows, k)) {
    constexpr unsigned blocks = 132 * 16, threads = 256;
    const auto pairs = static_cast<std::size_t>(rows * k / 2);
    if (f.bits() > 8) {
      fill_codes<<<blocks, threads>>>(
          reinterpret_cast<std::uint16_t*>(codes_.data()), pairs, f, at, of,
          seed);
    } else {
      fill_codes<<<blocks, threads>>>(codes_.data(), pairs, f, at, of, seed);
    }
    finish_kernel();
    op_ = {f, codes_.data(), rows, k, k};
    if (!scaled) return;
    require(cudaMemset(scales_.data(), 0xff,
                       scale_words(g, rows, k) * sizeof(std::uint32_t)));
    view_.data = scales_.data();
    fill_scales<<<blocks, threads>>>(view_, seed + 1);
    finish_kernel();
    op_.scales = view_;
  }

  const cuda::operand& operand() const { return op_; }

 private:
  static std::ptrdiff_t padded(std::ptrdiff_t n) { return ceil_div(n, 4) * 4; }

  /// Scales of 1x128 tiles are transposed without gaps (layout mn_major pads),
  /// of blocks in layout blk128; of rows, one after the other.
  static matrix_view<std::uint32_t> lay_out(granularity g, std::ptrdiff_t rows,
                                            std::ptrdiff_t k) {
    if (g == per_tensor) return {nullptr, 1, 1};
    if (g == peers::per_row) return {nullptr, rows, 1};
    const std::ptrdiff_t groups = ceil_div(k, g.k);
    if (g == tile_1x128) return {nullptr, rows, groups, 1, rows};
    return {nullptr, ceil_div(rows, g.mn), groups, padded(groups), 1};
  }
  static std::size_t scale_words(granularity g, std::ptrdiff_t rows,
                                 std::ptrdiff_t k) {
    const auto v = lay_out(g, rows, k);
    return static_cast<std::size_t>(padded(v.rows) * padded(v.cols));
  }

  device_buffer<unsigned char> codes_;
  matrix_view<std::uint32_t> view_;
  device_buffer<std::uint32_t> scales_;
  cuda::operand op_{};
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_PEERS_PEER_OPERAND_HPP_
