// Defines `guarded_matrix`: a matrix in device memory at any alignment. No
// kernel may change the gaps between its rows and the guard bytes around it.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_GUARDED_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_GUARDED_HPP_

#include <cstring>
#include <vector>

#include "conformance/contract/implementation.hpp"
#include "conformance/device/support/test.hpp"
#include "zeroulp/cuda.hpp"

namespace zeroulp::conformance::device {

/// Where a matrix lies: elements before the first one, and between rows.
struct margins {
  int before = 0;
  int between = 0;
};

class guarded_matrix {
 public:
  /// `around`: the value of the guard bytes.
  guarded_matrix(std::ptrdiff_t rows, std::ptrdiff_t cols, int bytes,
                 margins at = {}, unsigned char around = 0xa5)
      : rows_(rows),
        cols_(cols),
        bytes_(bytes),
        stride_(cols + at.between),
        first_(guard + at.before * bytes),
        image_(
            static_cast<std::size_t>(first_ + rows * stride_ * bytes + guard),
            around),
        memory_(image_.size()) {
    copy_in();
  }

  /// Writes each code to the low bytes of its element.
  void upload(codes_in codes) {
    for_each([&](std::ptrdiff_t i, std::ptrdiff_t j, unsigned char* at) {
      const std::uint32_t code = codes(i, j);
      std::memcpy(at, &code, static_cast<std::size_t>(bytes_));
    });
    copy_in();
  }

  /// Reads the elements; throws if a byte outside them has changed since the
  /// last upload.
  void download(codes_out codes) {
    auto now = memory_image();
    now.swap(image_);
    for_each([&](std::ptrdiff_t i, std::ptrdiff_t j, unsigned char* at) {
      std::uint32_t code = 0;
      std::memcpy(&code, at, static_cast<std::size_t>(bytes_));
      codes(i, j) = code;
      std::memcpy(at, now.data() + (at - image_.data()),
                  static_cast<std::size_t>(bytes_));
    });
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] == image_[i]) continue;
      const auto beside = static_cast<std::ptrdiff_t>(i) - first_;
      throw std::runtime_error("a kernel wrote outside its output, at byte " +
                               std::to_string(beside) + " of " +
                               std::to_string(rows_) + " rows of " +
                               std::to_string(stride_ * bytes_));
    }
  }

  /// Throws if anything at all has changed since the last upload.
  void need_untouched() const {
    if (memory_image() == image_) return;
    throw std::runtime_error("a kernel wrote what it was not asked for");
  }

  void* data() const { return memory_.data() + first_; }
  cuda::matrix view() const { return {data(), rows_, cols_, stride_}; }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(data()); }
  std::ptrdiff_t stride() const { return stride_; }
  matrix_view<std::uint32_t> word_view() const {
    return {words(), rows_, cols_, stride_, 1};
  }

 private:
  static constexpr std::ptrdiff_t guard = 512;

  template <class Use>
  void for_each(Use use) {
    for (std::ptrdiff_t i = 0; i < rows_; ++i) {
      for (std::ptrdiff_t j = 0; j < cols_; ++j) {
        use(i, j, image_.data() + first_ + (i * stride_ + j) * bytes_);
      }
    }
  }
  std::vector<unsigned char> memory_image() const {
    std::vector<unsigned char> now(image_.size());
    memory_.copy_to(now.data(), now.size());
    return now;
  }
  void copy_in() {
    require(cudaMemcpy(memory_.data(), image_.data(), image_.size(),
                       cudaMemcpyHostToDevice));
  }

  std::ptrdiff_t rows_, cols_;
  int bytes_;
  std::ptrdiff_t stride_, first_;
  std::vector<unsigned char> image_;
  device_buffer<unsigned char> memory_;
};

/// A dense matrix of words on the host.
struct word_matrix {
  std::ptrdiff_t rows, cols;
  std::vector<std::uint32_t> words;

  word_matrix(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), words(static_cast<std::size_t>(m * n)) {}
  codes_out view() { return {words.data(), rows, cols}; }
  codes_in view() const { return {words.data(), rows, cols}; }
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_GUARDED_HPP_
