#include "conformance/oracles/retile_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/oracles/nearest_code.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"

namespace zeroulp::oracle {
namespace {

double largest_value(format f) { return magnitude_value(f, largest_code(f)); }

/// W2: the scale of a tile whose largest finite magnitude is `amax`.
float scale_of(const retiling& r, double amax) {
  if (amax == 0) return 1;
  const double max = largest_value(r.to);
  if (r.scale != scale_kind::float32) {
    return std::ldexp(1.0f, pow2_exponent(amax, max, r.scale));
  }
  const float s = static_cast<float>(amax) / static_cast<float>(max);
  return s == 0 ? to_float(1) : s;
}

/// W3: the scale of a tile whose largest finite source scale is `largest`.
float scale_of_scales(const retiling& r, float largest) {
  if (largest == 0) return 1;
  const int e = pow2_exponent(largest_value(r.from), largest_value(r.to),
                              scale_kind::pow2);
  const bool any = r.scale == scale_kind::float32;
  const float low = any ? to_float(1) : 0x1p-127f;
  const float high = any ? std::numeric_limits<float>::max() : 0x1p127f;
  return std::clamp(std::ldexp(largest, e), low, high);
}

}  // namespace

double retiled_value(const retiling& r, std::uint32_t code,
                     std::uint32_t scale) {
  const double v = code_value(r.from, code);
  const auto s = static_cast<double>(to_float(scale));
  if (r.scale == scale_kind::float32) {
    const auto rounded = static_cast<float>(v * s);
    return static_cast<double>(to_float(to_bits(rounded)));
  }
  int e = 0;
  if (!std::isfinite(s) || std::frexp(s, &e) != 0.5) return std::nan("");
  return v * s;
}

retiled retile(const retiling& r, const grid& codes, const grid& scales) {
  const grid source = flipped(codes);
  retiled out{grid(source.rows, source.cols),
              grid(source.rows, groups_along(source.cols, r.tile))};
  for (std::ptrdiff_t i = 0; i < source.rows; ++i) {
    for (std::ptrdiff_t g = 0; g < out.scales.cols; ++g) {
      const std::ptrdiff_t begin = g * r.tile;
      const std::ptrdiff_t end =
          r.tile == 0 ? source.cols : std::min(source.cols, begin + r.tile);
      double amax = 0;
      float largest = 0;
      std::vector<double> values;
      for (std::ptrdiff_t j = begin; j < end; ++j) {
        const std::uint32_t s = scales(j, group_of(i, r.tile));
        const double v = retiled_value(r, source(i, j), s);
        values.push_back(v);
        if (std::isfinite(v)) amax = std::fmax(amax, std::fabs(v));
        if (std::isfinite(to_float(s))) {
          largest = std::fmax(largest, to_float(s));
        }
      }
      const float t = r.rule == retile_rule::max_scale
                          ? scale_of_scales(r, largest)
                          : scale_of(r, amax);
      out.scales(i, g) = to_bits(t);
      for (std::ptrdiff_t j = begin; j < end; ++j) {
        out.codes(i, j) = static_cast<std::uint32_t>(
            nearest_code(r.to, values[static_cast<std::size_t>(j - begin)],
                         static_cast<double>(t), keep_specials));
      }
    }
  }
  return out;
}

}  // namespace zeroulp::oracle
