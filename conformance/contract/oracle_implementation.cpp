// The oracles, as one more implementation.

#include <algorithm>
#include <vector>

#include "conformance/contract/implementation.hpp"
#include "conformance/contract/oracle_parts.hpp"
#include "conformance/oracles/blocks/block_quantizer_oracle.hpp"
#include "conformance/oracles/blocks/hadamard_oracle.hpp"
#include "conformance/oracles/gemm_oracle.hpp"
#include "conformance/oracles/layout_oracle.hpp"
#include "conformance/oracles/mpfr_oracle.hpp"
#include "conformance/oracles/quantizer_oracle.hpp"
#include "conformance/oracles/rational_step.hpp"
#include "conformance/oracles/retile_oracle.hpp"

namespace zeroulp::conformance {
namespace {

using oracle::grid;

unpacked decode_exactly(format f, std::uint64_t code) {
  const auto x = oracle::value_of(f, code);
  switch (x.what) {
    case oracle::value_class::infinite:
      return {0, 0, kind::infinite, x.negative};
    case oracle::value_class::nan:
      return {0, 0, kind::nan, x.negative};
    case oracle::value_class::number:
      break;
  }
  if (x.is_zero()) return {0, 0, kind::zero, x.negative};
  return {x.numerator.get_ui(), static_cast<std::int32_t>(x.exponent),
          kind::finite, x.negative};
}

std::uint64_t compute_exactly(operation op, format f, std::uint64_t a,
                              std::uint64_t b, std::uint64_t c, rounder r) {
  constexpr oracle::function functions[] = {
      oracle::function::add,      oracle::function::subtract,
      oracle::function::multiply, oracle::function::fma,
      oracle::function::divide,   oracle::function::square_root};
  return oracle::compute(functions[static_cast<int>(op)], f, a, b, c, r);
}

void quantize_by_oracle(const quantizer& q, codes_in x, codes_out codes,
                        codes_out scales) {
  const auto right = oracle::quantize(q, to_grid(x));
  from_grid(right.codes, codes);
  from_grid(right.scales, scales);
}

void quantize_by_scales_oracle(const quantizer& q, codes_in x, codes_in scales,
                               codes_out codes) {
  from_grid(oracle::quantize_by_scale(q, to_grid(x), to_grid(scales)), codes);
}

void retile_by_oracle(const retiling& r, codes_in codes, codes_in scales,
                      codes_out out, codes_out out_scales) {
  const auto right = oracle::retile(r, to_grid(codes), to_grid(scales));
  from_grid(right.codes, out);
  from_grid(right.scales, out_scales);
}

void unpack_by_oracle(pack_layout layout, bytes_in packed, codes_out codes) {
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < codes.cols; ++j) {
      codes(i, j) = 0;
      for (int bit = 0; bit < 12; ++bit) {
        const auto at = oracle::place_of(layout, j, bit);
        const std::uint32_t one = packed(i, at.byte) >> at.bit & 1;
        codes(i, j) |= one << bit;
      }
    }
  }
}

/// Where each scale lies, from laying out scales that say which they are:
/// powers of two, as every layout keeps them.
std::uint32_t scale_by_oracle(scale_layout layout, codes_in stored,
                              std::ptrdiff_t i, std::ptrdiff_t k) {
  const bool bytes = layout == scale_layout::packed_ue8m0;
  grid one(i + 1, k + 1, 0x3f800000);  // 2^0
  one(i, k) = 0x40000000;              // 2^1
  const grid other(i + 1, k + 1, 0x3f800000);
  const auto there = oracle::lay_out_scales(layout, one);
  const auto before = oracle::lay_out_scales(layout, other);
  for (std::ptrdiff_t r = 0; r < there.rows; ++r) {
    for (std::ptrdiff_t c = 0; c < there.cols; ++c) {
      const std::uint32_t changed = there(r, c) ^ before(r, c);
      if (changed == 0) continue;
      if (!bytes) return stored(r, c);
      const int shift = changed > 0xffffff ? 24
                        : changed > 0xffff ? 16
                        : changed > 0xff   ? 8
                                           : 0;
      const std::uint32_t e = stored(r, c) >> shift & 0xff;
      // 2^(e - 127) in FP32; byte 0 is subnormal, byte 255 NaN.
      return e == 0xff ? 0x7fffffffu : e == 0 ? 0x00400000u : e << 23;
    }
  }
  return 0;
}

}  // namespace

implementation oracle_implementation() {
  implementation i = core_implementation();
  i.name = "oracle";
  i.decode = decode_exactly;
  i.recode = [](format from, std::uint64_t code, format to, rounder r,
                policy p) { return oracle::convert(from, code, to, r, p); };
  i.arithmetic = compute_exactly;
  i.step = [](const path& p, const std::uint64_t* a, const std::uint64_t* b,
              int count, std::uint64_t c) {
    return oracle::rational_step(p, a, b, count, c);
  };
  i.block_scaled_step =
      [](const block_scaled_path& p, const std::uint64_t* a,
         const std::uint64_t* b, const std::uint64_t* scales_a,
         const std::uint64_t* scales_b, int count, std::uint64_t c) {
        return oracle::rational_step(p, a, b, scales_a, scales_b, count, c);
      };
  i.quantize_blocks = [](const block_quantizer& q, codes_in x, codes_in random,
                         codes_out codes, bytes_out scales, codes_out second) {
    const auto made = oracle::quantize_blocks(
        q, to_grid(x),
        random.data == nullptr ? oracle::grid() : to_grid(random));
    from_grid(made.codes, codes);
    from_grid(made.scales, scales);
    if (q.level != second_level::none) from_grid(made.second, second);
  };
  i.dequantize_blocks = [](format f, block_scale kind, int block,
                           codes_in codes, bytes_in scales, codes_in second,
                           format to, codes_out out) {
    from_grid(oracle::dequantize_blocks(f, kind, block, to_grid(codes),
                                        to_grid(scales), to_grid(second), to),
              out);
  };
  i.interleave_scales = [](bytes_in scales, std::uint8_t* out) {
    const auto bytes = oracle::interleave(to_grid(scales));
    std::copy(bytes.words.begin(), bytes.words.end(), out);
  };
  i.separate_scales = [](const std::uint8_t* interleaved, bytes_out scales) {
    from_grid(oracle::separate(interleaved, scales.rows, scales.cols), scales);
  };
  i.hadamard = [](const hadamard_transform& t, const path* by,
                  const std::int8_t* signs, codes_in x, codes_out y) {
    from_grid(oracle::hadamard(t, by, signs, to_grid(x)), y);
  };
  i.make_scale = oracle::make_scale;
  i.delayed_amax = oracle::delayed_amax;
  i.quantize = quantize_by_oracle;
  i.quantize_by_scale = quantize_by_scales_oracle;
  i.dequantize = [](format from, group_shape group, codes_in codes,
                    codes_in scales, codes_out out) {
    from_grid(oracle::dequantize(from, group, to_grid(codes), to_grid(scales)),
              out);
  };
  i.lay_out_scales = [](scale_layout layout, codes_in scales, codes_out out) {
    from_grid(oracle::lay_out_scales(layout, to_grid(scales)), out);
  };
  i.scale_at = scale_by_oracle;
  i.pack = [](pack_layout layout, codes_in codes, bytes_out out) {
    from_grid(oracle::pack(layout, to_grid(codes)), out);
  };
  i.unpack = unpack_by_oracle;
  i.retile = retile_by_oracle;
  i.gemm = oracle::promoted_gemm;
  set_oracle_training(i);
  return i;
}

}  // namespace zeroulp::conformance
