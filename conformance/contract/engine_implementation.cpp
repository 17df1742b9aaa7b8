// The compiled library, as one more implementation.

#include <algorithm>
#include <vector>

#include "conformance/contract/implementation.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::conformance {
namespace {

/// The narrowest element that the library takes for codes of `f`, so that each
/// is tried.
template <class Use>
void with_element(format f, Use use) {
  if (f.bits() <= 8) return use(std::uint8_t{});
  if (f.bits() <= 16) return use(std::uint16_t{});
  use(std::uint32_t{});
}

std::uint64_t recode_one(format from, std::uint64_t code, format to, rounder r,
                         policy how) {
  if (from.bits() > 32 || to.bits() > 32) {
    return recode(from, code, to, r, how);
  }
  const std::uint32_t random = r.random;
  std::uint64_t result = 0;
  with_element(from, [&](auto in) {
    in = static_cast<decltype(in)>(code);
    with_element(to, [&](auto out) {
      using source = const decltype(in);
      engine::recode(from, matrix_view<source>(&in, 1, 1), to,
                     matrix_view(&out, 1, 1), r.mode, how, {&random, 1, 1});
      result = out;
    });
  });
  return result;
}

std::uint64_t step_one(const path& p, const std::uint64_t* a,
                       const std::uint64_t* b, int count, std::uint64_t c) {
  // An instruction without products is one whose products are zero.
  const int length = std::max(count, 1);
  const auto words = [&](const std::uint64_t* x) {
    std::vector<std::uint32_t> codes(static_cast<std::size_t>(length));
    std::copy(x, x + count, codes.begin());
    return codes;
  };
  const auto row = words(a);
  const auto col = words(b);
  const auto from = static_cast<std::uint32_t>(c);
  std::uint32_t d = 0;
  engine::multiply(p, {p.a, codes_in(row.data(), 1, length)},
                   {p.b, codes_in(col.data(), 1, length)}, {&from, 1, 1},
                   {&d, 1, 1});
  return d;
}

engine::quantized_view to_engine(const quantized_out& q) {
  return {q.codes, q.scales};
}
engine::const_quantized_view to_engine(const quantized_in& q) {
  return {q.codes, q.scales};
}

void set_training(implementation& i) {
  i.swiglu_forward = [](const swiglu_layer& layer, codes_in g, codes_in u,
                        codes_out h, quantized_out h_out, quantized_out g_cache,
                        quantized_out u_cache) {
    engine::swiglu_forward(layer, g, u, h, to_engine(h_out), to_engine(g_cache),
                           to_engine(u_cache));
  };
  i.swiglu_backward = [](const swiglu_layer& layer, format from, codes_in dh,
                         quantized_in g, quantized_in u, codes_out h,
                         codes_out dg, codes_out du, quantized_out dg_out,
                         quantized_out du_out) {
    engine::swiglu_backward(layer, from, dh, to_engine(g), to_engine(u), h, dg,
                            du, to_engine(dg_out), to_engine(du_out));
  };
  i.rms_norm = [](const rms_layer& layer, codes_in x, codes_in w, codes_out y,
                  codes_out rstd, quantized_out out) {
    engine::rms_norm(layer, x, w, y, rstd, to_engine(out));
  };
  i.adamw = [](const adamw_step& step, codes_in g, codes_out m, codes_out v,
               codes_out w,
               codes_out copy) { engine::adamw(step, g, m, v, w, copy); };
  i.combine = [](combine_rule rule, codes_in x, slots_in slots,
                 codes_in weights, codes_out out) {
    engine::combine(rule, x, slots, weights, out);
  };
  i.dispatch = [](const quantizer& q, codes_in x, slots_in rows,
                  codes_out codes, codes_out scales) {
    engine::dispatch(q, x, rows, codes, scales);
  };
}

/// Codes as a matrix of one row; without codes, of one zero.
template <class Code>
struct row_of_codes {
  std::vector<Code> codes;

  row_of_codes(const std::uint64_t* first, std::ptrdiff_t count)
      : codes(static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 1))) {
    std::transform(first, first + count, codes.begin(),
                   [](std::uint64_t code) { return static_cast<Code>(code); });
  }
  matrix_view<const Code> view() const {
    return {codes.data(), 1, std::ssize(codes)};
  }
};

std::uint64_t block_scaled_step_one(const block_scaled_path& p,
                                    const std::uint64_t* a,
                                    const std::uint64_t* b,
                                    const std::uint64_t* scales_a,
                                    const std::uint64_t* scales_b, int count,
                                    std::uint64_t c) {
  const std::ptrdiff_t blocks = ceil_div(count, p.block);
  const row_of_codes<std::uint32_t> x(a, count);
  const row_of_codes<std::uint32_t> y(b, count);
  const row_of_codes<std::uint8_t> sx(scales_a, blocks);
  const row_of_codes<std::uint8_t> sy(scales_b, blocks);
  const auto addend = static_cast<std::uint32_t>(c);
  std::uint32_t d = 0;
  engine::multiply(p, prepared_operand(p.unscaled.a, x.view()), sx.view(),
                   prepared_operand(p.unscaled.b, y.view()), sy.view(),
                   matrix_view<const std::uint32_t>{&addend, 1, 1},
                   matrix_view<std::uint32_t>{&d, 1, 1});
  return d;
}

}  // namespace

implementation engine_implementation() {
  implementation i = core_implementation();
  i.name = "engine";
  i.recode = recode_one;
  i.step = step_one;
  i.block_scaled_step = block_scaled_step_one;
  i.quantize_blocks = [](const block_quantizer& q, codes_in x, codes_in random,
                         codes_out codes, bytes_out scales, codes_out second) {
    engine::quantize_blocks(q, x, codes, scales, second, random);
  };
  i.hadamard = [](const hadamard_transform& t, const path* by,
                  const std::int8_t* signs, codes_in x,
                  codes_out y) { engine::hadamard(t, by, signs, x, y); };
  i.dequantize_blocks = [](format f, block_scale kind, int block,
                           codes_in codes, bytes_in scales, codes_in second,
                           format to, codes_out out) {
    engine::dequantize_blocks(f, kind, block, codes, scales, second, to, out);
  };
  i.quantize = [](const quantizer& q, codes_in x, codes_out codes,
                  codes_out scales) { engine::quantize(q, x, codes, scales); };
  i.quantize_by_scale = [](const quantizer& q, codes_in x, codes_in scales,
                           codes_out codes) {
    engine::quantize_by_scale(q, x, scales, codes);
  };
  i.dequantize = [](format f, group_shape group, codes_in codes,
                    codes_in scales, codes_out out) {
    engine::dequantize(f, group, codes, scales, out);
  };
  i.pack = [](pack_layout layout, codes_in codes, bytes_out out) {
    layout == pack_layout::bytes ? engine::pack_bytes(codes, out)
                                 : engine::pack_words(codes, out);
  };
  i.unpack = [](pack_layout layout, bytes_in packed, codes_out codes) {
    layout == pack_layout::bytes ? engine::unpack_bytes(packed, codes)
                                 : engine::unpack_words(packed, codes);
  };
  i.retile = [](const retiling& r, codes_in codes, codes_in scales,
                codes_out out, codes_out out_scales) {
    engine::retile(r, codes, scales, out, out_scales);
  };
  i.gemm = [](const recipe& r, const gemm_operand<std::uint32_t>& a,
              const gemm_operand<std::uint32_t>& b, codes_in c, codes_out d) {
    engine::gemm(r, {a.f, a.codes}, a.scales, {b.f, b.codes}, b.scales, c, d);
  };
  set_training(i);
  return i;
}

}  // namespace zeroulp::conformance
