// The training path's kernels as training_functions, and the checks of it by
// them. What a kernel does not quantize in its own pass is quantized after it,
// as users would; 1x32, for which there is no kernel, by the engine. Alignments
// and layouts are drawn, by the shape and the first code.

#include <optional>

#include "conformance/device/gpu_training.hpp"
#include "conformance/device/guarded_scales.hpp"
#include "cuda/arithmetic.cuh"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp::conformance::device {
namespace {

int bytes_of(format f) { return f.bits() <= 8 ? 1 : f.bits() <= 16 ? 2 : 4; }

counter_rng ways_of(codes_in x) {
  const bool any = x.rows > 0 && x.cols > 0;
  return {static_cast<std::uint64_t>(x.rows * 65536 + x.cols),
          any ? std::uint64_t{x(0, 0)} : 0};
}

/// Aligned rows, or any.
margins draw_margins(std::ptrdiff_t cols, counter_rng& rng) {
  if (rng.one_in(2)) return {0, static_cast<int>(-cols & 15)};
  return {rng.between(0, 3), rng.between(0, 5)};
}

/// A matrix of codes of `f` on the device.
guarded_matrix matrix_of(format f, codes_in x, counter_rng& rng) {
  return {x.rows, x.cols, bytes_of(f), draw_margins(x.cols, rng)};
}

/// Codes and scales on the device, in a layout that holds any scale.
struct quantized_memory {
  guarded_matrix codes;
  guarded_scales scales;

  template <class Code, class Scale>
  quantized_memory(format f, const quantized_matrix<Code, Scale>& like,
                   counter_rng& rng)
      : codes(like.codes.rows, like.codes.cols, bytes_of(f),
              draw_margins(like.codes.cols, rng)),
        scales(static_cast<scale_layout>(rng.below(3)), like.scales.rows,
               like.scales.cols, {rng.between(0, 3), rng.between(0, 3)}) {}

  void upload(const quantized_in& from) {
    codes.upload(from.codes);
    scales.upload(from.scales);
  }
  void download(const quantized_out& to) {
    codes.download(to.codes);
    scales.download(to.scales);
  }
  cuda::quantized view() const { return {codes.view(), scales.view()}; }
  cuda::const_quantized input() const { return {codes.view(), scales.view()}; }
};

bool is_fused(const quantizer& q) {
  return q.from == bf16 && q.group == group_shape{1, 128};
}

/// Quantizes what is on the device already, by a call of its own.
void quantize_values(const quantizer& q, guarded_matrix& x, quantized_out to,
                     counter_rng& rng) {
  if (q.group == group_shape{1, 32}) {
    word_matrix values(to.codes.rows, to.codes.cols);
    x.download(values.view());
    engine::quantize(q, codes_in(values.view()), to.codes, to.scales);
    return;
  }
  quantized_memory out(q.to, to, rng);
  if (q.group == group_shape{0, 0}) {
    guarded_matrix amax(to.scales.rows, to.scales.cols, 4);
    cuda::group_amaxes(q, x.view(), amax.word_view());
    cuda::quantize(q, x.view(), amax.word_view(), out.view());
  } else {
    cuda::quantize(q, x.view(), out.view());
  }
  finish_kernel();
  out.download(to);
}

__global__ void apply_to_all(elementary which, std::uint32_t* x,
                             std::size_t count) {
  using A = cuda::device_fp32;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float in = A::from_bits(x[i]);
  x[i] = A::bits(which == elementary::exp       ? exp<A>(in)
                 : which == elementary::sigmoid ? sigmoid<A>(in)
                                                : rsqrt<A>(in));
}

void apply_on_gpu(elementary which, codes_in x, codes_out out) {
  const auto count = static_cast<std::size_t>(x.rows * x.cols);
  if (count == 0) return;
  std::vector<std::uint32_t> words;
  words.reserve(count);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) words.push_back(x(i, j));
  }
  // Kept: there are many calls of the same size.
  constexpr std::size_t usual = 1 << 20;
  static const device_buffer<std::uint32_t> kept(usual);
  std::optional<device_buffer<std::uint32_t>> larger;
  if (count > usual) larger.emplace(count);
  auto* const data = larger ? larger->data() : kept.data();
  require(cudaMemcpy(data, words.data(), 4 * count, cudaMemcpyHostToDevice));
  apply_to_all<<<static_cast<unsigned>((count + 255) / 256), 256>>>(which, data,
                                                                    count);
  finish_kernel();
  require(cudaMemcpy(words.data(), data, 4 * count, cudaMemcpyDeviceToHost));
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) {
      out(i, j) = words[static_cast<std::size_t>(i * x.cols + j)];
    }
  }
}

void swiglu_forward_on_gpu(const swiglu_layer& layer, codes_in g, codes_in u,
                           codes_out h, quantized_out h_out,
                           quantized_out g_cache, quantized_out u_cache) {
  if (g.rows == 0 || g.cols == 0) return;
  counter_rng rng = ways_of(g);
  const format from = layer.cache.from, to = layer.out.from;
  guarded_matrix in_g = matrix_of(from, g, rng), in_u = matrix_of(from, u, rng);
  in_g.upload(g);
  in_u.upload(u);
  guarded_matrix values = matrix_of(to, h, rng);
  quantized_memory to_h(layer.out.to, h_out, rng);
  quantized_memory to_g(layer.cache.to, g_cache, rng);
  quantized_memory to_u(layer.cache.to, u_cache, rng);
  const bool all_bf16 = from == bf16 && to == bf16;
  const bool makes_h = all_bf16 && is_fused(layer.out);
  const bool makes_caches = all_bf16 && is_fused(layer.cache);
  cuda::swiglu_forward(layer, in_g.view(), in_u.view(), values.view(),
                       makes_h ? to_h.view() : cuda::quantized{},
                       makes_caches ? to_g.view() : cuda::quantized{},
                       makes_caches ? to_u.view() : cuda::quantized{});
  finish_kernel();
  values.download(h);
  if (makes_h) {
    to_h.download(h_out);
  } else {
    quantize_values(layer.out, values, h_out, rng);
  }
  if (makes_caches) {
    to_g.download(g_cache);
    to_u.download(u_cache);
  } else {
    quantize_values(layer.cache, in_g, g_cache, rng);
    quantize_values(layer.cache, in_u, u_cache, rng);
  }
}

void swiglu_backward_on_gpu(const swiglu_layer& layer, format from, codes_in dh,
                            quantized_in g_cache, quantized_in u_cache,
                            codes_out h, codes_out dg, codes_out du,
                            quantized_out dg_out, quantized_out du_out) {
  if (dh.rows == 0 || dh.cols == 0) return;
  counter_rng rng = ways_of(dh);
  const format to = layer.out.from;
  guarded_matrix in = matrix_of(from, dh, rng);
  in.upload(dh);
  quantized_memory g(layer.cache.to, g_cache, rng);
  quantized_memory u(layer.cache.to, u_cache, rng);
  g.upload(g_cache);
  u.upload(u_cache);
  guarded_matrix to_h = matrix_of(to, h, rng), to_dg = matrix_of(to, dg, rng),
                 to_du = matrix_of(to, du, rng);
  quantized_memory q_dg(layer.out.to, dg_out, rng);
  quantized_memory q_du(layer.out.to, du_out, rng);
  const bool fused = from == bf16 && is_fused(layer.out) &&
                     layer.cache.group == group_shape{1, 128};
  cuda::swiglu_backward(layer, from, in.view(), g.input(), u.input(),
                        to_h.view(), to_dg.view(), to_du.view(),
                        fused ? q_dg.view() : cuda::quantized{},
                        fused ? q_du.view() : cuda::quantized{});
  finish_kernel();
  to_h.download(h);
  to_dg.download(dg);
  to_du.download(du);
  if (fused) {
    q_dg.download(dg_out);
    q_du.download(du_out);
  } else {
    quantize_values(layer.out, to_dg, dg_out, rng);
    quantize_values(layer.out, to_du, du_out, rng);
  }
}

void rms_norm_on_gpu(const rms_layer& layer, codes_in x, codes_in w,
                     codes_out y, codes_out rstd, quantized_out out) {
  if (x.rows == 0 || x.cols == 0) return;
  counter_rng rng = ways_of(x);
  guarded_matrix in = matrix_of(layer.from, x, rng);
  guarded_matrix weights = matrix_of(layer.weight, w, rng);
  in.upload(x);
  weights.upload(w);
  guarded_matrix values = matrix_of(layer.out.from, y, rng);
  guarded_matrix factors(x.rows, 1, 4, {0, rng.between(0, 2)});
  quantized_memory codes(layer.out.to, out, rng);
  const bool fused = layer.from == bf16 && is_fused(layer.out);
  cuda::rms_norm(layer, in.view(), weights.view(), values.view(),
                 factors.word_view(), fused ? codes.view() : cuda::quantized{});
  finish_kernel();
  values.download(y);
  factors.download(rstd);
  if (fused) {
    codes.download(out);
  } else {
    quantize_values(layer.out, values, out, rng);
  }
}

}  // namespace

training_functions gpu_training() {
  training_functions f = core_training();
  f.name = "gpu";
  f.apply = apply_on_gpu;
  f.swiglu_forward = swiglu_forward_on_gpu;
  f.swiglu_backward = swiglu_backward_on_gpu;
  f.rms_norm = rms_norm_on_gpu;
  fill_gpu_state(f);
  return f;
}

check_list kernel_training_checks() {
  check_list all;
  for (const training_check& c : training_check_list()) {
    all.push_back({"kernel.training." + c.name, c.clauses, c.oracle, c.level,
                   [run = c.run](const implementation&, const effort& e) {
                     return run(gpu_training(), e);
                   }});
  }
  return all;
}

}  // namespace zeroulp::conformance::device
