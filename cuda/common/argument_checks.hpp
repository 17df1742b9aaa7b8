// Defines how arguments are checked before anything is launched, and how errors
// of CUDA become exceptions. Internal.

#ifndef ZEROULP_CUDA_COMMON_ARGUMENT_CHECKS_HPP_
#define ZEROULP_CUDA_COMMON_ARGUMENT_CHECKS_HPP_

#include <string>

#include "zeroulp/cuda.hpp"

namespace zeroulp::cuda {

constexpr bool is_tensor(group_shape g) { return g.rows == 0 && g.cols == 0; }

/// True for the group shapes that kernels serve, except the whole matrix.
constexpr bool is_tile(group_shape g) {
  return g == group_shape{1, 128} || g == group_shape{128, 1} ||
         g == group_shape{128, 128};
}

/// One call of the function named `function`. The order is: check arguments,
/// then `need_gpu`, then launch kernels.
class argument_checks {
 public:
  explicit argument_checks(const char* function) : function_(function) {}

  [[noreturn]] void refuse(const std::string& why) const;
  /// Throws cuda::error.
  [[noreturn]] void fail(const std::string& why) const;
  void need(bool holds, const char* why) const {
    if (!holds) refuse(why);
  }
  /// Requires a format of codes: e4m3, e5m2 or e5m6.
  void need_codes(format f, const char* what) const;
  /// Requires of a matrix with elements: aligned data, and rows that do not
  /// overlap, all within an address space.
  void need_matrix(const const_matrix& x, int bytes, const char* what) const;
  /// Requires of a matrix of words: data if it has elements, alignment, a size
  /// within an address space, and no negative stride. Rows may overlap.
  void need_words(matrix_view<const std::uint32_t> x, const char* what) const;
  void need_shape(const const_matrix& x, std::ptrdiff_t rows,
                  std::ptrdiff_t cols, const char* what) const;
  /// Requires storage for the scales of mn x k groups.
  void need_scales(const const_scales& s, std::ptrdiff_t mn, std::ptrdiff_t k,
                   const char* what) const;

  /// Throws cuda::error unless the current device is of compute capability 9.0.
  void need_gpu() const;
  void require(int cuda_status) const;
  /// The multiprocessors of the current device.
  unsigned multiprocessors() const;
  /// Throws if the launch failed; call after a launch.
  void launched() const;
  /// The number of blocks for `count` pieces of work, one each; refuses too
  /// many.
  unsigned blocks(std::ptrdiff_t count) const;

 private:
  const char* function_;
};

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_ARGUMENT_CHECKS_HPP_
