// The kernels as an implementation; functions without a kernel are the core's.
// A call may request the same result in several ways, and a hash of the inputs
// chooses one. It may be direct or go through the transpose, which is quantized
// or, for blocks, made from codes. Amaxes may be given; layouts of scales and
// alignments vary. These functions also check what their caller cannot see,
// such as padding.

#include <cstdio>
#include <utility>

#include "conformance/device/device.hpp"
#include "conformance/device/implementation/parts.hpp"
#include "conformance/device/implementation/training.hpp"
#include "conformance/device/support/drawn_memory.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

/// Seeds the choices by a hash of the numbers, so that a case can be repeated.
counter_rng ways_of(codes_in x) {
  std::uint64_t hash = 0;
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      hash = mix64(hash + x(i, j) + golden);
    }
  }
  return {static_cast<std::uint64_t>(x.rows * 65536 + x.cols), hash};
}

word_matrix transpose_of(codes_in x) {
  word_matrix t(x.cols, x.rows);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) t.view()(j, i) = x(i, j);
  }
  return t;
}

/// Throws unless the two are equal.
void need_same(codes_in got, codes_in right, const std::string& what) {
  for (std::ptrdiff_t i = 0; i < got.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < got.cols; ++j) {
      if (got(i, j) == right(i, j)) continue;
      char text[96];
      std::snprintf(text, sizeof text, "(%td, %td) is %x, not %x", i, j,
                    got(i, j), right(i, j));
      throw std::runtime_error(what + text);
    }
  }
}

/// Quantizes x to y and, if asked for, its transpose to yt, by their own amaxes
/// or by given ones.
void run_quantize(const quantizer& q, const guarded_matrix& x,
                  const cuda::quantized& y, const cuda::quantized& yt,
                  bool by_amax, bool is_transposed) {
  if (!by_amax) {
    cuda::quantize(q, x.view(), y, yt);
    return finish_kernel();
  }
  // The groups of x: q's or, for a transpose, q's transposed.
  quantizer of_x = q;
  if (is_transposed) std::swap(of_x.group.rows, of_x.group.cols);
  const auto view = x.view();
  guarded_matrix amax(ceil_div(view.rows, of_x.group.height(view.rows)),
                      ceil_div(view.cols, of_x.group.width(view.cols)), 4,
                      {0, 1});
  cuda::group_amaxes(of_x, view, amax.word_view());
  finish_kernel();
  cuda::quantize(of_x, view, amax.word_view(), y, yt);
  finish_kernel();
}

void quantize_on_gpu(const quantizer& q, codes_in x, codes_out codes,
                     codes_out scales) {
  if (x.rows == 0 || x.cols == 0) return;
  placing rng(ways_of(x));
  const bool is_tensor = q.group == group_shape{0, 0};
  const bool by_amax = is_tensor || rng.one_in(4);
  const bool is_transposed = rng.one_in(3);
  const bool both = !by_amax && rng.one_in(3);
  const bool by_transpose = q.group == group_shape{128, 128} && is_transposed &&
                            !both && rng.one_in(2);
  const word_matrix turned = transpose_of(x);
  const codes_in in =
      is_transposed ? codes_in(turned.words.data(), turned.rows, turned.cols)
                    : x;
  guarded_matrix source(in.rows, in.cols, storage_bytes(q.from),
                        draw_margins(in.cols, rng));
  source.upload(in);
  quantized_memory y(q, in.rows, in.cols,
                     both || !is_transposed || by_transpose, rng);
  quantized_memory yt(q, in.cols, in.rows, both || is_transposed, rng);
  run_quantize(q, source, y.view(),
               by_transpose ? cuda::quantized{} : yt.view(), by_amax,
               is_transposed);

  const auto quantize_with_engine = [&q](codes_in of) {
    return [&q, of](const quantized_out& to) {
      engine::quantize(q, of, to.codes, to.scales);
    };
  };
  if (by_transpose) {
    quantized_words blocks(q, in.rows, in.cols);
    y.download(blocks.view(), quantize_with_engine(in));
    const quantized_memory given(
        q.to, {blocks.codes.view(), blocks.scales.view()}, rng);
    cuda::transpose(q.to, given.input().codes, given.input().scales, yt.view());
    finish_kernel();
  }
  (is_transposed ? yt : y).download({codes, scales}, quantize_with_engine(x));
  if (!both) return;
  const word_matrix other = is_transposed ? turned : transpose_of(x);
  quantized_words right(q, other.rows, other.cols);
  quantized_words got(q, other.rows, other.cols);
  quantize_with_engine(other.view())(right.view());
  (is_transposed ? y : yt)
      .download(got.view(), quantize_with_engine(other.view()));
  const std::string what = "codes of the transpose, from " + name_of(q.from) +
                           " to " + name_of(q.to) + " in groups of " +
                           std::to_string(q.group.rows) + "x" +
                           std::to_string(q.group.cols) + ", ";
  need_same(got.scales.view(), right.scales.view(), "scales of " + what);
  need_same(got.codes.view(), right.codes.view(), what);
}

bool is_kernel_format(format f) { return f == e4m3 || f == e5m2 || f == e5m6; }

/// Maps any other format to one of the three; equal formats map alike.
format kernel_format(format f) {
  if (is_kernel_format(f)) return f;
  constexpr format all[] = {e4m3, e5m2, e5m6};
  return all[(f.exp_bits + f.man_bits) % 3];
}

group_shape kernel_group(group_shape g) {
  constexpr group_shape all[] = {{1, 128}, {128, 1}, {128, 128}, {0, 0}};
  for (const auto& known : all) {
    if (g == known) return g;
  }
  return all[(g.rows + g.cols) % 3];
}

void keep_to_gemm(fuzz::settings& s) {
  const auto fp8 = [](format f) {
    return f == e4m3 || f == e5m2 ? f : f.man_bits % 2 == 0 ? e5m2 : e4m3;
  };
  s.unit = {fp8(s.unit.a), fp8(s.unit.b), hopper_fp8_f32};
  recipe& r = s.gemm;
  r.acc = hopper_fp8_f32;
  r.splits = 1;
  if (r.update == promotion::other_then_one) {
    r.update = promotion::one_then_other;
  }
  if (r.update == promotion::add) {
    r.a = r.b = per_tensor;
    const bool is_power = (r.interval & (r.interval - 1)) == 0;
    if (!is_power || r.interval % 32 != 0) r.interval = 64;
  } else {
    r.interval = 128;
    r.a = tile_1x128;
    r.b = r.b.mn == 128 ? block_128x128 : tile_1x128;
  }
}

void keep_to_training(fuzz::target t, fuzz::settings& s) {
  if (t == fuzz::target::swiglu || t == fuzz::target::rms_norm) {
    s.to = kernel_format(s.to);
    s.out_to = kernel_format(s.out_to);
    s.group = kernel_group(s.group);
  } else if (t == fuzz::target::adamw) {
    if (s.from == fp16) s.from = bf16;
    if (!(s.to == fp32)) s.to = bf16;
    if (s.round.mode != rounding::stochastic) {
      s.round.mode = rounding::nearest_even;
    }
  } else if (t == fuzz::target::dispatch) {
    s.from = bf16;
    s.to = kernel_format(s.to);
    s.group = {1, 128};
  }
}

}  // namespace

void keep_to_kernels(fuzz::target t, fuzz::settings& s) {
  if (t == fuzz::target::quantize) {
    s.to = kernel_format(s.to);
    s.group = kernel_group(s.group);
  } else if (t == fuzz::target::retile) {
    s.from = kernel_format(s.from);
    s.to = kernel_format(s.to);
    s.tile = 128;
  } else if (t == fuzz::target::gemm) {
    keep_to_gemm(s);
  } else {
    keep_to_training(t, s);
  }
}

implementation gpu_implementation() {
  implementation i = core_implementation();
  i.name = "gpu";
  i.quantize = quantize_on_gpu;
  i.dequantize = dequantize_on_gpu;
  i.retile = retile_on_gpu;
  i.pack = pack_on_gpu;
  i.unpack = unpack_on_gpu;
  i.gemm = gemm_on_gpu;
  set_gpu_training(i);
  return i;
}

}  // namespace zeroulp::conformance::device
