// A Linear layer in FP8 on a Hopper GPU, Y = X W^T, dX = dY W, dW += dY^T X
// from BF16; each bit is held against the oracle. Exit status: 1 if some
// differ.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <zeroulp/cuda_gemm.hpp>
#include <zeroulp/engine.hpp>
#include <zeroulp/names.hpp>
#include <zeroulp/random.hpp>

using namespace zeroulp;
/// A matrix that CPU and GPU see: E4M3, BF16 or FP32; at first random.
template <class Code>
struct tensor {
  std::ptrdiff_t rows, cols;
  Code* data = nullptr;
  tensor(std::ptrdiff_t m, std::ptrdiff_t n) : rows(m), cols(n) {
    const format f = sizeof(Code) == 1 ? e4m3 : sizeof(Code) == 2 ? bf16 : fp32;
    const auto size = static_cast<std::size_t>(m * n);
    if (cudaMallocManaged(&data, size * sizeof(Code))) throw std::bad_alloc();
    counter_rng rng(size, 0);  // one shape, one content
    std::generate_n(data, size, [&] {
      const double x = 1.0 * rng.between(-999, 999) / rng.between(1, 999);
      return static_cast<Code>(encode(f, decode(static_cast<float>(x))));
    });
  }
  tensor(const tensor&) = delete;
  ~tensor() { cudaFree(data); }
  cuda::matrix gpu() const { return {data, rows, cols}; }
  matrix_view<Code> cpu() const { return {data, rows, cols}; }
};
using word_tensor = tensor<std::uint32_t>;

/// Codes, and a scale for each `height` x 128 of them.
struct fp8_tensor {
  tensor<std::uint8_t> codes;
  word_tensor scales;
  fp8_tensor(std::ptrdiff_t m, std::ptrdiff_t n, int height)
      : codes(m, n), scales(ceil_div(m, height), ceil_div(n, 128)) {}
  cuda::quantized gpu() const {
    return {codes.gpu(), {scales.data, scales.cols}};
  }
  cuda::operand operand() const {
    return {e4m3, codes.data, codes.rows, codes.cols, codes.cols, scales.cpu()};
  }
  void on_cpu(const quantizer& q, engine::const_code_view from) const {
    engine::quantize(q, from, codes.cpu(), scales.cpu());
  }
};

/// Prints and returns whether the outputs are those of the oracle.
bool hold(const char* name, const recipe& r, const fp8_tensor& a,
          const fp8_tensor& b, matrix_view<const std::uint32_t> c,
          const auto& got) {
  const word_tensor right(got.rows, got.cols);
  engine::gemm(r, {e4m3, a.codes.cpu()}, a.scales.cpu(), {e4m3, b.codes.cpu()},
               b.scales.cpu(), c, right.cpu());
  auto* const end = right.data + got.rows * got.cols;
  const bool same = std::equal(right.data, end, got.data);
  std::printf("%s: %s\n", name, same ? "the same bits" : "other bits");
  return same;
}

int main() {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9) {
    return std::puts("skipped: no Hopper GPU here") < 0;
  }
  constexpr auto ours = zeroulp_convention;
  const quantizer tiles{bf16, e4m3, ours, scale_kind::float32, {1, 128}};
  const quantizer blocks{bf16, e4m3, ours, scale_kind::float32, {128, 128}};
  const recipe forward = parse_recipe("deepgemm.1d2d").value;
  const recipe gradient = parse_recipe("deepgemm.1d1d").value;
  constexpr std::ptrdiff_t tokens = 208, in = 384, out = 640;
  const tensor<std::uint16_t> x(tokens, in), w(out, in), dy(tokens, out);
  const tensor<std::uint16_t> y(tokens, out), dx(tokens, in);
  const word_tensor dw(out, in), dw_before(out, in);
  const fp8_tensor qx(tokens, in, 1), qxt(in, tokens, 1), qw(out, in, 128);
  const fp8_tensor qdy(tokens, out, 1), qdyt(out, tokens, 1), qwt(in, out, 128);
  cuda::quantize(tiles, x.gpu(), qx.gpu(), qxt.gpu());
  cuda::quantize(blocks, w.gpu(), qw.gpu());
  cuda::transpose(e4m3, qw.codes.gpu(), qw.gpu().scales, qwt.gpu());
  cuda::quantize(tiles, dy.gpu(), qdy.gpu(), qdyt.gpu());
  cuda::gemm(forward, qx.operand(), qw.operand(), {}, y.gpu());
  cuda::gemm(forward, qdy.operand(), qwt.operand(), {}, dx.gpu());
  cuda::gemm(gradient, qdyt.operand(), qxt.operand(), dw.gpu(), dw.gpu());
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  // The same on the CPU, from the same BF16; transposes are views.
  qx.on_cpu(tiles, x.cpu()), qxt.on_cpu(tiles, x.cpu().transposed());
  qw.on_cpu(blocks, w.cpu()), qwt.on_cpu(blocks, w.cpu().transposed());
  qdy.on_cpu(tiles, dy.cpu()), qdyt.on_cpu(tiles, dy.cpu().transposed());
  return !(hold("Y", forward, qx, qw, {}, y) &&
           hold("dX", forward, qdy, qwt, {}, dx) &&
           hold("dW", gradient, qdyt, qxt, dw_before.cpu(), dw));
}
