// Checks of arguments, and CUDA's errors as exceptions (argument_checks.hpp).

#include "cuda/common/argument_checks.hpp"

#include <cuda_runtime.h>

#include <limits>

#include "zeroulp/io.hpp"

namespace zeroulp::cuda {
namespace {

constexpr std::ptrdiff_t most_bytes = std::ptrdiff_t{1} << 60;

/// Returns true iff rows x stride elements of `bytes` fit an address space.
bool fits(std::ptrdiff_t rows, std::ptrdiff_t stride, int bytes) {
  return rows == 0 || stride <= most_bytes / bytes / rows;
}

bool is_aligned(const void* data, int bytes) {
  return reinterpret_cast<std::uintptr_t>(data) %
             static_cast<std::uintptr_t>(bytes) ==
         0;
}

}  // namespace

void argument_checks::refuse(const std::string& why) const {
  throw input_error(std::string(function_) + ": " + why);
}

void argument_checks::fail(const std::string& why) const {
  throw error(std::string(function_) + ": CUDA: " + why);
}

void argument_checks::need_codes(format f, const char* what) const {
  if (f == e4m3 || f == e5m2 || f == e5m6) return;
  refuse(std::string(what) + " must be of e4m3, e5m2 or e5m6");
}

void argument_checks::need_matrix(const const_matrix& x, int bytes,
                                  const char* what) const {
  const std::string name = what;
  if (x.rows < 0 || x.cols < 0) refuse(name + " has a negative size");
  if (x.rows > most_bytes || x.cols > most_bytes) {
    refuse(name + " is larger than an address space");
  }
  if (x.rows == 0 || x.cols == 0) return;
  if (x.data == nullptr) refuse(name + " has no data");
  if (!is_aligned(x.data, bytes)) {
    refuse(name + " is not aligned to its elements of " +
           std::to_string(bytes) + " bytes");
  }
  if (x.stride < x.cols) refuse(name + " has a stride below its columns");
  if (!fits(x.rows, x.stride, bytes)) {
    refuse(name + " is larger than an address space");
  }
}

void argument_checks::need_words(matrix_view<const std::uint32_t> x,
                                 const char* what) const {
  const std::string name = what;
  if (x.data == nullptr && x.rows != 0 && x.cols != 0) {
    refuse(name + ": no data");
  }
  if (!is_aligned(x.data, 4)) refuse(name + ": not aligned to 4 bytes");
  if (x.row_stride < 0 || x.col_stride < 0) {
    refuse(name + ": a negative stride");
  }
  if (!fits(x.rows, x.row_stride, 4) || !fits(x.cols, x.col_stride, 4)) {
    refuse(name + ": larger than an address space");
  }
}

void argument_checks::need_shape(const const_matrix& x, std::ptrdiff_t rows,
                                 std::ptrdiff_t cols, const char* what) const {
  if (x.rows == rows && x.cols == cols) return;
  const auto shape = [](std::ptrdiff_t m, std::ptrdiff_t n) {
    return std::to_string(m) + " x " + std::to_string(n);
  };
  refuse(std::string(what) + " must be " + shape(rows, cols) + ", not " +
         shape(x.rows, x.cols));
}

void argument_checks::need_scales(const const_scales& s, std::ptrdiff_t mn,
                                  std::ptrdiff_t k, const char* what) const {
  const std::string name = std::string("the scales of ") + what;
  if (s.layout > scale_layout::packed_ue8m0) {
    refuse(name + " have no such layout");
  }
  const layout_shape shape = stored_shape(s.layout, mn, k);
  if (shape.rows == 0 || shape.cols == 0) return;
  if (s.data == nullptr) refuse(name + " have no data");
  if (!is_aligned(s.data, 4)) refuse(name + " are not aligned to 4 bytes");
  if (s.stride < shape.cols) {
    refuse(name + " have a stride below the " + std::to_string(shape.cols) +
           " words of a row");
  }
  if (!fits(shape.rows, s.stride, 4)) {
    refuse(name + " are larger than an address space");
  }
}

void argument_checks::require(int cuda_status) const {
  const auto status = static_cast<cudaError_t>(cuda_status);
  if (status == cudaSuccess) return;
  fail(std::string(cudaGetErrorName(status)) + ": " +
       cudaGetErrorString(status));
}

void argument_checks::need_gpu() const {
  int device = 0, major = 0, minor = 0;
  require(cudaGetDevice(&device));
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                 device));
  require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                 device));
  if (major == 9 && minor == 0) return;
  throw error(std::string(function_) +
              ": needs a GPU of compute capability 9.0 (Hopper), not " +
              std::to_string(major) + "." + std::to_string(minor));
}

unsigned argument_checks::multiprocessors() const {
  int device = 0, count = 0;
  require(cudaGetDevice(&device));
  require(
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return static_cast<unsigned>(count);
}

void argument_checks::launched() const { require(cudaGetLastError()); }

unsigned argument_checks::blocks(std::ptrdiff_t count) const {
  if (count > std::numeric_limits<std::int32_t>::max()) {
    refuse("the matrix is too large for one call: cut it");
  }
  return static_cast<unsigned>(count);
}

}  // namespace zeroulp::cuda
