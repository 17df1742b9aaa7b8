#include "conformance/contract/implementation.hpp"

#include <vector>

namespace zeroulp::conformance {
namespace {

/// Codes read as exact values.
struct decoded_codes {
  const std::uint64_t* codes;
  format f;
  unpacked operator[](std::ptrdiff_t k) const { return decode(f, codes[k]); }
};

std::uint64_t core_arithmetic(operation op, format f, std::uint64_t a,
                              std::uint64_t b, std::uint64_t c, rounder r) {
  switch (op) {
    case operation::add:
      return add(f, a, b, r);
    case operation::subtract:
      return subtract(f, a, b, r);
    case operation::multiply:
      return multiply(f, a, b, r);
    case operation::fma:
      return fma(f, a, b, c, r);
    case operation::divide:
      return divide(f, a, b, r);
    case operation::square_root:
      break;
  }
  return square_root(f, a, r);
}

struct decoded_scales {
  const std::uint64_t* codes;
  block_scale s;
  unpacked operator[](std::ptrdiff_t n) const { return decode(s, codes[n]); }
};

std::uint64_t core_block_scaled_step(const block_scaled_path& p,
                                     const std::uint64_t* a,
                                     const std::uint64_t* b,
                                     const std::uint64_t* scales_a,
                                     const std::uint64_t* scales_b, int count,
                                     std::uint64_t c) {
  return step(p, decoded_codes{a, p.unscaled.a}, decoded_codes{b, p.unscaled.b},
              decoded_scales{scales_a, p.scale},
              decoded_scales{scales_b, p.scale}, count, c);
}

void core_dequantize_blocks(format f, block_scale kind, int block,
                            codes_in codes, bytes_in scales, codes_in second,
                            format to, codes_out out) {
  for (std::ptrdiff_t i = 0; i < codes.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < codes.cols; ++k) {
      out(i, k) = static_cast<std::uint32_t>(
          dequantize_block_element(f, codes(i, k), kind, scales(i, k / block),
                                   second(second.rows == 1 ? 0 : i, 0), to));
    }
  }
}

void core_hadamard(const hadamard_transform& t, const path* by,
                   const std::int8_t* signs, codes_in x, codes_out y) {
  if (by == nullptr) return hadamard(t, signs, x, y);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t k = 0; k < x.cols; ++k) {
      const std::ptrdiff_t first = k - k % t.size;
      const auto j = static_cast<int>(k % t.size);
      std::vector<std::uint64_t> codes_a;
      std::vector<std::uint64_t> codes_b;
      for (int e = 0; e < t.size; ++e) {
        codes_a.push_back(x(i, first + e));
        codes_b.push_back(hadamard_element(t, *by, signs, j, e));
      }
      const auto sum =
          chain(*by, decoded_codes{codes_a.data(), by->a},
                decoded_codes{codes_b.data(), by->b}, 0, t.size, 0);
      y(i, k) = static_cast<std::uint32_t>(
          recode(by->acc.stored, sum, t.to, {}, cuda_nosat));
    }
  }
}

}  // namespace

implementation core_implementation() {
  return {
      "core",
      [](format f, std::uint64_t code) { return decode(f, code); },
      [](format from, std::uint64_t code, format to, rounder r, policy p) {
        return recode(from, code, to, r, p);
      },
      core_arithmetic,
      [](const path& p, const std::uint64_t* a, const std::uint64_t* b,
         int count, std::uint64_t c) {
        return step(p, decoded_codes{a, p.a}, decoded_codes{b, p.b}, count, c);
      },
      [](const quantizer& q, std::uint32_t amax) {
        return make_scale(q, amax);
      },
      [](const std::uint32_t* history, std::ptrdiff_t count,
         std::uint32_t current, history_rule rule, std::uint32_t decay) {
        return delayed_amax(history, count, current, rule, decay);
      },
      [](const quantizer& q, codes_in x, codes_out codes, codes_out scales) {
        quantize(q, x, codes, scales);
      },
      [](const quantizer& q, codes_in x, codes_in scales, codes_out codes) {
        quantize_by_scale(q, x, scales, codes);
      },
      [](format f, group_shape g, codes_in codes, codes_in scales,
         codes_out out) { dequantize(f, g, codes, scales, out); },
      [](scale_layout layout, codes_in scales, codes_out out) {
        lay_out_scales(layout, scales, out);
      },
      [](scale_layout layout, codes_in stored, std::ptrdiff_t i,
         std::ptrdiff_t k) { return scale_at(layout, stored, i, k); },
      [](pack_layout layout, codes_in codes, bytes_out out) {
        layout == pack_layout::bytes ? pack_bytes(codes, out)
                                     : pack_words(codes, out);
      },
      [](pack_layout layout, bytes_in packed, codes_out codes) {
        layout == pack_layout::bytes ? unpack_bytes(packed, codes)
                                     : unpack_words(packed, codes);
      },
      [](const retiling& r, codes_in codes, codes_in scales, codes_out out,
         codes_out out_scales) { retile(r, codes, scales, out, out_scales); },
      [](const recipe& r, const gemm_operand<std::uint32_t>& a,
         const gemm_operand<std::uint32_t>& b, codes_in c,
         codes_out d) { gemm(r, a, b, c, d); },
      [](std::uint32_t x, std::uint32_t s) {
        return approximate_quotient(x, s);
      },
      [](const swiglu_layer& layer, codes_in g, codes_in u, codes_out h,
         quantized_out h_out, quantized_out g_cache, quantized_out u_cache) {
        swiglu_forward(layer, g, u, h, h_out, g_cache, u_cache);
      },
      [](const swiglu_layer& layer, format from, codes_in dh, quantized_in g,
         quantized_in u, codes_out h, codes_out dg, codes_out du,
         quantized_out dg_out, quantized_out du_out) {
        swiglu_backward(layer, from, dh, g, u, h, dg, du, dg_out, du_out);
      },
      [](const rms_layer& layer, codes_in x, codes_in w, codes_out y,
         codes_out rstd,
         quantized_out out) { rms_norm(layer, x, w, y, rstd, out); },
      [](const adamw_step& step, codes_in g, codes_out m, codes_out v,
         codes_out w, codes_out copy) { adamw(step, g, m, v, w, copy); },
      [](combine_rule rule, codes_in x, slots_in slots, codes_in weights,
         codes_out out) { combine(rule, x, slots, weights, out); },
      [](const quantizer& q, codes_in x, slots_in rows, codes_out codes,
         codes_out scales) { dispatch(q, x, rows, codes, scales); },
      core_block_scaled_step,
      [](const block_quantizer& q, codes_in x, codes_in random, codes_out codes,
         bytes_out scales, codes_out second) {
        quantize_blocks(q, x, codes, scales, second, random);
      },
      core_dequantize_blocks,
      [](bytes_in scales, std::uint8_t* out) {
        interleave_scales(scales, out);
      },
      [](const std::uint8_t* interleaved, bytes_out scales) {
        separate_scales(interleaved, scales);
      },
      core_hadamard,
  };
}

}  // namespace zeroulp::conformance
