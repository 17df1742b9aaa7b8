// Defines `mirror`: a copy in device memory of a matrix on the host, with gaps
// between its rows and guard bytes around it that no kernel may change. Defines
// `room`: memory that a kernel works in.

#ifndef ZEROULP_CONFORMANCE_DEVICE_MODEL_MIRROR_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_MODEL_MIRROR_HPP_

#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "conformance/device/support/test.hpp"
#include "zeroulp/core/view.hpp"

namespace zeroulp::conformance::device {

template <class T>
class mirror {
 public:
  using element = std::remove_const_t<T>;

  /// Without data there is none. Columns come in groups of `width` (0: all),
  /// each padded by zeros to a multiple of 8 elements, as are rows. With `more`
  /// elements between rows these need not be aligned.
  explicit mirror(matrix_view<T> host, std::ptrdiff_t width = 0,
                  std::ptrdiff_t more = 0)
      : host_(host),
        grouped_(width > 0),
        width_(width > 0 ? width : host.cols),
        padded_(ceil_div(width_, 8) * 8),
        cols_(width_ == 0 ? 0 : host.cols / width_ * padded_),
        stride_(cols_ + 8 + more),
        image_(2 * guard + static_cast<std::size_t>(host.rows * stride_),
               static_cast<element>(0x5ca1e5ca)),
        memory_(image_.size()) {
    for_each([&](element& at, std::ptrdiff_t i, std::ptrdiff_t j) {
      at = j < 0 ? 0 : host_(i, j);
    });
    require(cudaMemcpy(memory_.data(), image_.data(),
                       image_.size() * sizeof(element),
                       cudaMemcpyHostToDevice));
  }

  /// Elements of rows are adjacent; padded columns are those of the matrix.
  matrix_view<T> view() const {
    if (host_.data == nullptr) return {};
    return {memory_.data() + guard, host_.rows, grouped_ ? cols_ : host_.cols,
            stride_, 1};
  }

  /// Copies what a kernel wrote to the host's matrix. Throws if it wrote beside
  /// it, or anything but zeros where there is padding.
  void download() {
    static_assert(!std::is_const_v<T>);
    if (host_.data == nullptr) return;
    auto now = image_;
    memory_.copy_to(now.data(), now.size());
    now.swap(image_);
    for_each([&](element& at, std::ptrdiff_t i, std::ptrdiff_t j) {
      element& before = now[static_cast<std::size_t>(&at - image_.data())];
      if (j >= 0) host_(i, j) = at;
      // The padding of a group of columns may get any values.
      before = at;
    });
    if (now != image_) {
      throw std::runtime_error("a kernel wrote outside its output");
    }
  }

 private:
  static constexpr std::size_t guard = 128;

  /// use(element, row, column); of padding the column is -1.
  template <class Use>
  void for_each(Use use) {
    for (std::ptrdiff_t i = 0; host_.data != nullptr && i < host_.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < cols_; ++j) {
        const std::ptrdiff_t group = j / padded_, at = j % padded_;
        if (!grouped_ && at >= width_) continue;
        use(image_[guard + static_cast<std::size_t>(i * stride_ + j)], i,
            at < width_ ? group * width_ + at : -1);
      }
    }
  }

  matrix_view<T> host_;
  bool grouped_;
  std::ptrdiff_t width_, padded_, cols_, stride_;
  std::vector<element> image_;
  device_buffer<element> memory_;
};

/// Room on the device that a kernel works in. It holds NaNs, and no zeros: a
/// kernel reads nothing there that it has not written.
template <class T>
class room {
 public:
  explicit room(std::ptrdiff_t count)
      : count_(static_cast<std::size_t>(count)),
        memory_(std::make_unique<device_buffer<T>>(count_)) {
    require(cudaMemset(memory_->data(), 0xff, count_ * sizeof(T)));
  }
  std::span<T> span() const { return {memory_->data(), count_}; }

 private:
  std::size_t count_;
  std::unique_ptr<device_buffer<T>> memory_;
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_MODEL_MIRROR_HPP_
