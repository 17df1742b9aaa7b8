// Defines device memory of random alignment and layout: `placed_matrix` is an
// input, `number_output` an output, `quantized_memory` either. An output that a
// call does not ask for has memory, too, which the call must not change.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_DRAWN_MEMORY_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_DRAWN_MEMORY_HPP_

#include "conformance/checks/training/training_functions.hpp"
#include "conformance/device/support/guarded_scales.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {

/// The random numbers that place the memory of a call. In half of all calls
/// every matrix has aligned rows, which the fastest kernels require.
struct placing : counter_rng {
  bool aligned;

  explicit placing(const counter_rng& from)
      : counter_rng(from), aligned(one_in(2)) {}
};

/// Draws margins: none, those that align rows, or any.
inline margins draw_margins(std::ptrdiff_t cols, placing& rng) {
  if (rng.aligned) return {0, static_cast<int>(-cols & 15)};
  if (rng.one_in(3)) return {};
  if (rng.one_in(2)) return {0, static_cast<int>(-cols & 15)};
  return {rng.between(0, 3), rng.between(0, 5)};
}

/// Draws a layout for scales of this kind.
inline scale_layout draw_layout(scale_kind kind, counter_rng& rng) {
  const bool is_power = kind != scale_kind::float32;
  return static_cast<scale_layout>(rng.below(is_power ? 4 : 3));
}

/// Draws a layout that holds each of these scales.
inline scale_layout draw_layout(codes_in scales, counter_rng& rng) {
  const auto layout = draw_layout(scale_kind::pow2, rng);
  const auto shape = stored_shape(layout, scales.rows, scales.cols);
  word_matrix stored(shape.rows, shape.cols);
  lay_out_scales(layout, scales, stored.view());
  const auto read =
      read_scales(layout, stored.view(), scales.rows, scales.cols);
  for (std::ptrdiff_t i = 0; i < scales.rows; ++i) {
    for (std::ptrdiff_t g = 0; g < scales.cols; ++g) {
      if (read.view()(i, g) != scales(i, g)) return scale_layout::mn_major;
    }
  }
  return layout;
}

struct placed_matrix : guarded_matrix {
  placed_matrix(codes_in x, int bytes, placing& rng)
      : guarded_matrix(x.rows, x.cols, bytes, draw_margins(x.cols, rng)) {
    upload(x);
  }
};

/// An output of numbers or codes of `f`; the call gets it only if `is_wanted`.
class number_output {
 public:
  number_output(format f, std::ptrdiff_t m, std::ptrdiff_t n, bool is_wanted,
                placing& rng)
      : is_wanted_(is_wanted),
        memory_(m, n, storage_bytes(f), draw_margins(n, rng)) {}

  cuda::matrix view() const {
    return is_wanted_ ? memory_.view() : cuda::matrix{};
  }
  codes_out word_view() const {
    return is_wanted_ ? memory_.word_view() : codes_out{};
  }
  /// Leaves `to` as it is if the output is not wanted.
  void download(codes_out to) {
    is_wanted_ ? memory_.download(to) : memory_.need_untouched();
  }

 private:
  bool is_wanted_;
  guarded_matrix memory_;
};

/// Codes and scales of an m x n matrix on the host.
struct quantized_words {
  word_matrix codes, scales;

  quantized_words(const quantizer& q, std::ptrdiff_t m, std::ptrdiff_t n)
      : codes(m, n),
        scales(ceil_div(m, q.group.height(m)), ceil_div(n, q.group.width(n))) {}
  quantized_out view() { return {codes.view(), scales.view()}; }
};

/// Codes and scales of an m x n matrix on the device.
class quantized_memory {
 public:
  /// An output.
  quantized_memory(const quantizer& q, std::ptrdiff_t m, std::ptrdiff_t n,
                   bool is_wanted, placing& rng)
      : is_wanted_(is_wanted),
        layout_(draw_layout(q.scale, rng)),
        codes_(m, n, storage_bytes(q.to), draw_margins(n, rng)),
        scales_(layout_, ceil_div(m, q.group.height(m)),
                ceil_div(n, q.group.width(n)),
                {rng.between(0, 3), rng.between(0, 3)}) {}
  /// An input of codes of `f`.
  quantized_memory(format f, const quantized_in& x, placing& rng)
      : is_wanted_(true),
        layout_(draw_layout(x.scales, rng)),
        codes_(x.codes.rows, x.codes.cols, storage_bytes(f),
               draw_margins(x.codes.cols, rng)),
        scales_(layout_, x.scales.rows, x.scales.cols,
                {rng.between(0, 3), rng.between(0, 3)}) {
    codes_.upload(x.codes);
    scales_.upload(x.scales);
  }

  cuda::quantized view() const {
    if (!is_wanted_) return {};
    return {codes_.view(), scales_.view()};
  }
  cuda::const_quantized input() const {
    return {codes_.view(), scales_.view()};
  }
  /// Leaves `to` as it is if the output is not wanted. UE8M0 does not hold
  /// every scale: in that layout compute(quantized_out) gives the scales, and
  /// the memory must hold their UE8M0 form.
  template <class Compute>
  void download(const quantized_out& to, Compute compute) {
    if (!is_wanted_) {
      codes_.need_untouched();
      return scales_.need_untouched();
    }
    codes_.download(to.codes);
    if (layout_ != scale_layout::packed_ue8m0) {
      return scales_.download(to.scales);
    }
    word_matrix ignored(to.codes.rows, to.codes.cols);
    compute(quantized_out{ignored.view(), to.scales});
    if (scales_.differences(to.scales) != 0) {
      throw std::runtime_error("scales or padding of layout ue8m0");
    }
  }

 private:
  bool is_wanted_;
  scale_layout layout_;
  guarded_matrix codes_;
  guarded_scales scales_;
};

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_DRAWN_MEMORY_HPP_
