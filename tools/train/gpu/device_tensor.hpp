// Defines matrices in a GPU's memory, and copies of bytes to and from them.
// Work goes to one stream, in order. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_GPU_DEVICE_TENSOR_HPP_
#define ZEROULP_TOOLS_TRAIN_GPU_DEVICE_TENSOR_HPP_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "zeroulp/cuda.hpp"

namespace zeroulp::train {

/// Makes a GPU the current one of this thread, as long as it lives.
class on_device {
 public:
  explicit on_device(int device);
  ~on_device();
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;

 private:
  int before_ = 0;
};

/// Waits for all work of the current GPU.
void wait_for_device();

/// Lets each of the first `count` GPUs read the others' memory. Throws
/// input_error where they cannot.
void share_memory(int count);

/// Bytes on the current GPU, allocated and freed in the order of its stream.
class device_memory {
 public:
  device_memory() = default;
  explicit device_memory(std::size_t bytes);

  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  /// What lies in this memory from `first` on; it stays as long as its parts.
  device_memory part(const void* first, std::size_t bytes) const {
    device_memory out;
    out.data_ = {data_, const_cast<void*>(first)};
    out.bytes_ = bytes;
    return out;
  }
  /// Memory of somebody who keeps it long enough.
  static device_memory of_others(const void* first, std::size_t bytes) {
    device_memory out;
    out.data_ = {const_cast<void*>(first), [](void*) {}};
    out.bytes_ = bytes;
    return out;
  }

 private:
  std::shared_ptr<void> data_;
  std::size_t bytes_ = 0;
};

/// Copies to and from the host, and on the GPU; rows of `bytes`, `to_pitch` and
/// `from_pitch` bytes apart. The host waits where it takes part.
void copy_bytes(void* to, const void* from, std::size_t bytes);
void copy_rows(void* to, std::size_t to_pitch, const void* from,
               std::size_t from_pitch, std::size_t bytes, std::ptrdiff_t rows);
void clear_bytes(void* to, std::size_t bytes);

/// A row-major matrix in the GPU's memory, its owner's; zeros at first.
template <class T>
struct device_tensor {
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t cols = 0;

  device_tensor() = default;
  device_tensor(std::ptrdiff_t m, std::ptrdiff_t n)
      : device_tensor(m, n, device_memory(size_of(m, n))) {
    clear_bytes(memory_.data(), memory_.bytes());
  }
  /// What a kernel writes all of.
  static device_tensor unwritten(std::ptrdiff_t m, std::ptrdiff_t n) {
    return {m, n, device_memory(size_of(m, n))};
  }
  device_tensor(device_tensor&&) noexcept = default;
  device_tensor& operator=(device_tensor&&) noexcept = default;
  device_tensor(const device_tensor& x)
      : device_tensor(x.rows, x.cols, device_memory(size_of(x.rows, x.cols))) {
    copy_bytes(memory_.data(), x.memory_.data(), memory_.bytes());
  }
  device_tensor& operator=(const device_tensor& x) {
    return *this = device_tensor(x);
  }

  bool empty() const { return rows == 0 || cols == 0; }
  matrix_view<T> view() { return {data(), rows, cols}; }
  matrix_view<const T> view() const { return {data(), rows, cols}; }
  std::span<T> span() {
    return {data(), static_cast<std::size_t>(rows * cols)};
  }
  std::span<const T> span() const {
    return {data(), static_cast<std::size_t>(rows * cols)};
  }
  cuda::matrix matrix() { return {data(), rows, cols}; }
  cuda::const_matrix matrix() const { return {data(), rows, cols}; }
  const device_memory& memory() const { return memory_; }

 private:
  device_tensor(std::ptrdiff_t m, std::ptrdiff_t n, device_memory memory)
      : rows(m), cols(n), memory_(std::move(memory)) {}
  static std::size_t size_of(std::ptrdiff_t m, std::ptrdiff_t n) {
    return static_cast<std::size_t>(m * n) * sizeof(T);
  }
  T* data() const { return static_cast<T*>(memory_.data()); }

  device_memory memory_;
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_GPU_DEVICE_TENSOR_HPP_
