// Defines `guarded_scales`: scales in device memory, in any layout, between
// guard bytes that no kernel may change; and `hold_twice`, which compares a
// kernel's outputs with the right ones.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_GUARDED_SCALES_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_GUARDED_SCALES_HPP_

#include "conformance/device/support/guarded.hpp"

namespace zeroulp::conformance::device {

/// Returns the scales that `stored` represents. They may differ from the scales
/// laid out: UE8M0 does not hold every scale.
inline word_matrix read_scales(scale_layout layout, codes_in stored,
                               std::ptrdiff_t mn, std::ptrdiff_t k) {
  word_matrix read(mn, k);
  for (std::ptrdiff_t i = 0; i < mn; ++i) {
    for (std::ptrdiff_t g = 0; g < k; ++g) {
      read.view()(i, g) = scale_at(layout, stored, i, g);
    }
  }
  return read;
}

class guarded_scales {
 public:
  guarded_scales(scale_layout layout, std::ptrdiff_t mn, std::ptrdiff_t k,
                 margins at = {})
      : layout_(layout),
        mn_(mn),
        k_(k),
        shape_(stored_shape(layout, mn, k)),
        words_(shape_.rows, shape_.cols, 4, at) {}

  /// Lays out the scales, and returns them as the layout stores them.
  word_matrix upload(codes_in scales) {
    word_matrix stored(shape_.rows, shape_.cols);
    lay_out_scales(layout_, scales, stored.view());
    words_.upload(stored.view());
    return read_scales(layout_, stored.view(), mn_, k_);
  }
  /// Returns how many words differ from the layout of `right`, padding
  /// included.
  std::uint64_t differences(codes_in right) {
    word_matrix stored(shape_.rows, shape_.cols);
    word_matrix expected(shape_.rows, shape_.cols);
    words_.download(stored.view());
    lay_out_scales(layout_, right, expected.view());
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < stored.words.size(); ++i) {
      if (stored.words[i] != expected.words[i]) ++count;
    }
    return count;
  }
  /// Reads the scales; throws if the padding is not the layout's.
  void download(codes_out scales) {
    word_matrix stored(shape_.rows, shape_.cols);
    words_.download(stored.view());
    for (std::ptrdiff_t i = 0; i < mn_; ++i) {
      for (std::ptrdiff_t g = 0; g < k_; ++g) {
        scales(i, g) = scale_at(layout_, stored.view(), i, g);
      }
    }
    if (differences(scales) != 0) {
      throw std::runtime_error(
          std::string("the padding of scales in layout ") +
          named_scale_layouts[static_cast<int>(layout_)].name);
    }
  }
  void need_untouched() const { words_.need_untouched(); }
  cuda::scales view() const {
    return {words_.words(), words_.stride(), layout_};
  }

 private:
  scale_layout layout_;
  std::ptrdiff_t mn_, k_;
  layout_shape shape_;
  guarded_matrix words_;
};

/// Counts the codes that are not the right ones.
inline void compare_codes(const std::string& what, codes_in got, codes_in right,
                          verdict& v) {
  for (std::ptrdiff_t i = 0; i < right.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < right.cols; ++j) {
      v.compare(got(i, j), right(i, j), [&] {
        char text[80];
        std::snprintf(text, sizeof text, ": (%td, %td) is %x, not %x", i, j,
                      got(i, j), right(i, j));
        return what + text;
      });
    }
  }
}

/// An output on the device and its right contents; scales if it has any.
struct held_output {
  guarded_matrix& codes;
  codes_in right;
  guarded_scales* scales = nullptr;
  codes_in right_scales = {};
  const char* suffix = "";  ///< of its name in messages

  void compare(const std::string& what, verdict& v) const {
    word_matrix got(right.rows, right.cols);
    codes.download(got.view());
    compare_codes(what + suffix, got.view(), right, v);
    if (scales == nullptr) return;
    v.count(scales->differences(right_scales) == 0,
            [&] { return what + suffix + ": scales"; });
  }
};

/// Computes twice, and compares all outputs after each time.
template <class Compute>
void hold_twice(const std::string& what,
                const std::vector<held_output>& outputs, Compute compute,
                verdict& v) {
  for (int run = 0; run < 2; ++run) {
    compute();
    finish_kernel();
    for (const held_output& out : outputs) out.compare(what, v);
  }
}

/// A shape, and the margins of the input and the output.
struct placed_shape {
  std::ptrdiff_t rows, cols;
  margins in, out;

  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(cols) + ", " +
           std::to_string(in.before) + "+" + std::to_string(in.between) +
           " to " + std::to_string(out.before) + "+" +
           std::to_string(out.between);
  }
};

/// Shapes within one tile, of whole tiles, of partial tiles and of several
/// tiles; aligned and not.
inline std::vector<placed_shape> placed_shapes(const effort& e) {
  std::vector<placed_shape> all = {
      {1, 1, {}, {}},
      {5, 130, {0, 6}, {0, 3}},
      {128, 128, {}, {}},
      {129, 127, {1, 0}, {0, 2}},
      {128, 127, {0, 1}, {}},
      {127, 128, {}, {0, 1}},
      {135, 136, {0, 8}, {0, 9}},
      {136, 143, {0, 1}, {0, 8}},
      {131, 136, {0, 8}, {0, 24}},
      {3, 16, {}, {}},
      {3, 16, {}, {0, 13}},
      {100, 144, {0, 16}, {0, 12}},
      {128, 136, {0, 8}, {}},
      {128, 144, {}, {0, 16}},
      {128, 144, {}, {0, 24}},
  };
  if (e.level == 0) return all;
  all.insert(all.end(), {{7, 3, {3, 1}, {2, 5}},
                         {256, 384, {}, {}},
                         {256, 384, {0, 16}, {0, 64}},
                         {256, 256, {8, 0}, {8, 8}},
                         {384, 136, {0, 1}, {0, 0}},
                         {136, 384, {0, 0}, {0, 1}},
                         {300, 517, {0, 11}, {1, 4}},
                         {515, 640, {0, 0}, {0, 13}},
                         {1000, 1024, {0, 0}, {0, 24}}});
  return all;
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_GUARDED_SCALES_HPP_
