// Defines `output_differences`: counts outputs on the device whose bits are not
// the right ones.

#ifndef ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OUTPUT_DIFFERENCES_HPP_
#define ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OUTPUT_DIFFERENCES_HPP_

#include <cstdio>

#include "conformance/device/support/test.hpp"
#include "conformance/peers/outputs.hpp"

namespace zeroulp::conformance::device {

class output_differences {
 public:
  /// Compares d with `want`: m x n, `bytes` (2 or 4) each, without gaps.
  void add(const void* d, int bytes, const void* want, std::ptrdiff_t m,
           std::ptrdiff_t n) {
    require(static_cast<cudaError_t>(peers::compare_outputs(
        d, bytes, n, want, m, n, tally_.data(), nullptr)));
  }

  /// Returns the tally of all comparisons.
  peers::output_tally found() const {
    finish_kernel();
    peers::output_tally t{};
    tally_.copy_to(&t, 1);
    return t;
  }

 private:
  device_buffer<peers::output_tally> tally_{1};
};

/// Describes the wrong output of `t`: its place in n columns, its bits, the
/// right bits.
inline std::string text_of(const peers::output_tally& t, std::ptrdiff_t n) {
  const auto columns = static_cast<unsigned long long>(n);
  char text[100];
  std::snprintf(text, sizeof text, "output (%llu, %llu) is %x, not %x",
                t.index / columns, t.index % columns, t.got, t.want);
  return text;
}

}  // namespace zeroulp::conformance::device

#endif  // ZEROULP_CONFORMANCE_DEVICE_SUPPORT_OUTPUT_DIFFERENCES_HPP_
