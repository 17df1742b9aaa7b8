#include "tools/zeroulp/gemm/gemm_gpu.hpp"

#include <fmt/format.h>

#include "src/base/threads.hpp"
#include "tools/zeroulp/program.hpp"
#include "zeroulp/io.hpp"
#ifdef ZEROULP_HAVE_CUDA
#include <cuda_runtime_api.h>

#include <cstring>
#include <vector>

#include "zeroulp/cuda_gemm.hpp"
#endif

namespace zeroulp::program {

#ifdef ZEROULP_HAVE_CUDA
namespace {

void require_cuda(cudaError_t status) {
  if (status == cudaSuccess) return;
  throw cuda::error(fmt::format("on the GPU: CUDA: {}: {}",
                                cudaGetErrorName(status),
                                cudaGetErrorString(status)));
}

/// A matrix in device memory, zeros; rows start on multiples of 16 bytes.
class device_matrix {
 public:
  device_matrix(std::ptrdiff_t rows, std::ptrdiff_t cols, int bytes)
      : rows_(rows),
        cols_(cols),
        bytes_(bytes),
        stride_(ceil_div(cols * bytes, 16) * 16 / bytes),
        size_(static_cast<std::size_t>(rows * stride_ * bytes)) {
    require_cuda(cudaMalloc(&data_, size_ + 16));
    require_cuda(cudaMemset(data_, 0, size_));
  }
  device_matrix(matrix_view<const std::uint32_t> x, int bytes)
      : device_matrix(x.rows, x.cols, bytes) {
    std::vector<unsigned char> host(size_);
#pragma omp parallel for schedule(static) num_threads(threads_for())
    for (std::ptrdiff_t i = 0; i < rows_; ++i) {
      for (std::ptrdiff_t j = 0; j < cols_; ++j) {
        const std::uint32_t code = x(i, j);
        std::memcpy(host.data() + at(i, j), &code,
                    static_cast<std::size_t>(bytes_));
      }
    }
    require_cuda(cudaMemcpy(data_, host.data(), size_, cudaMemcpyHostToDevice));
  }
  device_matrix(const device_matrix&) = delete;
  device_matrix& operator=(const device_matrix&) = delete;
  ~device_matrix() { cudaFree(data_); }

  void copy_to(matrix_view<std::uint32_t> out) const {
    std::vector<unsigned char> host(size_);
    require_cuda(cudaMemcpy(host.data(), data_, size_, cudaMemcpyDeviceToHost));
#pragma omp parallel for schedule(static) num_threads(threads_for())
    for (std::ptrdiff_t i = 0; i < rows_; ++i) {
      for (std::ptrdiff_t j = 0; j < cols_; ++j) {
        std::uint32_t code = 0;
        std::memcpy(&code, host.data() + at(i, j),
                    static_cast<std::size_t>(bytes_));
        out(i, j) = code;
      }
    }
  }
  cuda::matrix view() const { return {data_, rows_, cols_, stride_}; }
  matrix_view<std::uint32_t> words() const {
    return {static_cast<std::uint32_t*>(data_), rows_, cols_, stride_, 1};
  }

 private:
  std::size_t at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return static_cast<std::size_t>((i * stride_ + j) * bytes_);
  }

  std::ptrdiff_t rows_, cols_;
  int bytes_;
  std::ptrdiff_t stride_;
  std::size_t size_;
  void* data_ = nullptr;
};

struct device_operand {
  format element;
  device_matrix codes, scales;
  bool is_scaled;

  explicit device_operand(const gemm_operand<std::uint32_t>& x)
      : element(x.f),
        codes(x.codes, storage_bytes(x.f)),
        scales(x.scales, 4),
        is_scaled(x.scales.data != nullptr) {}
  cuda::operand view() const {
    const auto v = codes.view();
    cuda::operand o{element, v.data, v.rows, v.cols, v.stride};
    if (is_scaled) o.scales = scales.words();
    return o;
  }
};

}  // namespace

std::string require_gpu(const char* who) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    throw input_error(
        fmt::format("{}: no NVIDIA GPU here, or no driver for it", who));
  }
  int device = 0, driver = 0;
  cudaDeviceProp properties{};
  require_cuda(cudaGetDevice(&device));
  require_cuda(cudaGetDeviceProperties(&properties, device));
  require_cuda(cudaDriverGetVersion(&driver));
  if (properties.major != 9 || properties.minor != 0) {
    throw input_error(
        fmt::format("{}: {} is not of compute capability 9.0 (Hopper)", who,
                    properties.name));
  }
  const auto version = [](int v) {
    return fmt::format("{}.{}", v / 1000, v % 1000 / 10);
  };
  return fmt::format("{}, CUDA {}, a driver for CUDA {}", properties.name,
                     version(CUDART_VERSION), version(driver));
}

std::string gemm_on_gpu(const recipe& r, const gemm_operand<std::uint32_t>& a,
                        const gemm_operand<std::uint32_t>& b,
                        matrix_view<const std::uint32_t> c,
                        matrix_view<std::uint32_t> d) {
  (void)require_gpu("gemm --gpu");
  const device_operand on_a(a), on_b(b);
  const bool adds = r.end == epilogue::accumulate;
  const device_matrix given(c, 4);
  const device_matrix zeros(adds ? d.rows : 0, d.cols, 4);
  const device_matrix& on_c = c.data == nullptr ? zeros : given;
  const device_matrix out(d.rows, d.cols, r.output == fp32 ? 4 : 2);
  std::string by = "the tensor core";
  try {
    cuda::gemm(r, on_a.view(), on_b.view(), on_c.view(), out.view());
  } catch (const input_error&) {
    // It says what it does not serve before anything is launched.
    const cuda::matrix addend = adds ? on_c.view() : cuda::matrix{};
    cuda::emulate_gemm(r, on_a.view(), on_b.view(), addend, out.view());
    by = "the emulator";
  }
  out.copy_to(d);
  return by;
}

#else

std::string require_gpu(const char* who) {
  throw input_error(fmt::format("{}: {}", who, no_gpu_part));
}

std::string gemm_on_gpu(const recipe&, const gemm_operand<std::uint32_t>&,
                        const gemm_operand<std::uint32_t>&,
                        matrix_view<const std::uint32_t>,
                        matrix_view<std::uint32_t>) {
  return require_gpu("gemm --gpu");
}

#endif

}  // namespace zeroulp::program
