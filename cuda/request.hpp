// Defines how a request to the GPU is checked before anything is launched, and
// how what CUDA reports becomes an exception. Internal.

#ifndef ZEROULP_CUDA_REQUEST_HPP_
#define ZEROULP_CUDA_REQUEST_HPP_

#include <string>

#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

/// Bytes of an element in memory.
constexpr int bytes_of(format f) {
  return f.bits() <= 8 ? 1 : f.bits() <= 16 ? 2 : 4;
}

constexpr bool is_tensor(group_shape g) { return g.rows == 0 && g.cols == 0; }

/// The groups that kernels know, the whole matrix apart.
constexpr bool is_tile(group_shape g) {
  return g == group_shape{1, 128} || g == group_shape{128, 1} ||
         g == group_shape{128, 128};
}

/// One call of the function of this name. What is asked for is checked first,
/// then `need_gpu`, then kernels are launched.
class request {
 public:
  explicit request(const char* function) : function_(function) {}

  [[noreturn]] void refuse(const std::string& why) const;
  /// Throws cuda::error.
  [[noreturn]] void fail(const std::string& why) const;
  void need(bool holds, const char* why) const {
    if (!holds) refuse(why);
  }
  /// Codes of e4m3, e5m2 or e5m6.
  void need_codes(format f, const char* what) const;
  /// A matrix with elements has aligned data and rows that do not overlap, all
  /// within an address space.
  void need_matrix(const const_matrix& x, int bytes, const char* what) const;
  /// A matrix of words, if it has elements, has data; it is aligned, within an
  /// address space, and no stride is negative. Rows may overlap.
  void need_words(matrix_view<const std::uint32_t> x, const char* what) const;
  void need_shape(const const_matrix& x, std::ptrdiff_t rows,
                  std::ptrdiff_t cols, const char* what) const;
  /// The scales of mn x k groups.
  void need_scales(const const_scales& s, std::ptrdiff_t mn, std::ptrdiff_t k,
                   const char* what) const;

  /// Throws cuda::error unless the current device is of compute capability 9.0.
  void need_gpu() const;
  void require(int cuda_status) const;
  /// Of the current device.
  unsigned multiprocessors() const;
  /// After a launch.
  void launched() const;
  /// The blocks of a grid of `count` pieces of work.
  unsigned blocks(std::ptrdiff_t count) const;

 private:
  const char* function_;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_REQUEST_HPP_
