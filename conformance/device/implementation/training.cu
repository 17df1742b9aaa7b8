// The training path's kernels as training_functions, and the training checks
// with them. Outputs that a kernel does not quantize itself are quantized by
// another kernel, as users would do, or, for groups of 1x32, by the engine. The
// shape and the first code seed alignments, layouts and the outputs of a call;
// a second call computes the other outputs.

#include <optional>

#include "conformance/device/device.hpp"
#include "conformance/device/implementation/training.hpp"
#include "conformance/device/support/drawn_memory.hpp"
#include "cuda/common/arithmetic.cuh"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::conformance::device {
namespace {

counter_rng ways_of(codes_in x) {
  const bool any = x.rows > 0 && x.cols > 0;
  return {static_cast<std::uint64_t>(x.rows * 65536 + x.cols),
          any ? std::uint64_t{x(0, 0)} : 0};
}

bool is_fused(const quantizer& q) {
  return q.from == bf16 && q.group == group_shape{1, 128};
}

/// Calls call(wanted) once with all bits of `outputs`, or twice: with some of
/// them and with the others.
template <class Call>
void in_parts(unsigned outputs, placing& rng, Call call) {
  const unsigned part = rng.one_in(4) ? outputs : rng.next32() & outputs;
  for (const unsigned wanted : {part, outputs & ~part}) {
    if (wanted != 0) call(wanted);
  }
}

/// Quantizes values by a separate call.
void quantize_values(const quantizer& q, codes_in values, quantized_out to,
                     placing& rng) {
  const auto with_engine = [&](const quantized_out& y) {
    engine::quantize(q, values, y.codes, y.scales);
  };
  if (q.group == group_shape{1, 32}) return with_engine(to);
  const placed_matrix x(values, storage_bytes(q.from), rng);
  quantized_memory out(q, values.rows, values.cols, true, rng);
  if (q.group == group_shape{0, 0}) {
    guarded_matrix amax(to.scales.rows, to.scales.cols, 4);
    cuda::group_amaxes(q, x.view(), amax.word_view());
    cuda::quantize(q, x.view(), amax.word_view(), out.view());
  } else {
    cuda::quantize(q, x.view(), out.view());
  }
  finish_kernel();
  out.download(to, with_engine);
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
  // Static, since many calls need memory of this size.
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
  const std::ptrdiff_t m = g.rows, n = g.cols;
  if (m == 0 || n == 0) return;
  placing rng(ways_of(g));
  const format from = layer.cache.from, to = layer.out.from;
  const placed_matrix in_g(g, storage_bytes(from), rng);
  const placed_matrix in_u(u, storage_bytes(from), rng);
  const bool all_bf16 = from == bf16 && to == bf16;
  const bool makes_h = all_bf16 && is_fused(layer.out);
  const bool makes_caches = all_bf16 && is_fused(layer.cache);
  constexpr unsigned values = 1, codes = 2, cached_g = 4, cached_u = 8;
  const unsigned outputs =
      values | (makes_h ? codes : 0) | (makes_caches ? cached_g | cached_u : 0);
  in_parts(outputs, rng, [&](unsigned wanted) {
    number_output to_h(to, m, n, wanted & values, rng);
    quantized_memory q_h(layer.out, m, n, wanted & codes, rng);
    quantized_memory q_g(layer.cache, m, n, wanted & cached_g, rng);
    quantized_memory q_u(layer.cache, m, n, wanted & cached_u, rng);
    cuda::swiglu_forward(layer, in_g.view(), in_u.view(), to_h.view(),
                         q_h.view(), q_g.view(), q_u.view());
    finish_kernel();
    to_h.download(h);
    q_h.download(h_out, [&](const quantized_out& y) {
      engine::swiglu_forward(layer, g, u, {}, {y.codes, y.scales});
    });
    q_g.download(g_cache, [&](const quantized_out& y) {
      engine::quantize(layer.cache, g, y.codes, y.scales);
    });
    q_u.download(u_cache, [&](const quantized_out& y) {
      engine::quantize(layer.cache, u, y.codes, y.scales);
    });
  });
  if (!makes_h) quantize_values(layer.out, h, h_out, rng);
  if (makes_caches) return;
  quantize_values(layer.cache, g, g_cache, rng);
  quantize_values(layer.cache, u, u_cache, rng);
}

void swiglu_backward_on_gpu(const swiglu_layer& layer, format from, codes_in dh,
                            quantized_in g_cache, quantized_in u_cache,
                            codes_out h, codes_out dg, codes_out du,
                            quantized_out dg_out, quantized_out du_out) {
  const std::ptrdiff_t m = dh.rows, n = dh.cols;
  if (m == 0 || n == 0) return;
  placing rng(ways_of(dh));
  const format to = layer.out.from;
  const placed_matrix in(dh, storage_bytes(from), rng);
  const quantized_memory g(layer.cache.to, g_cache, rng);
  const quantized_memory u(layer.cache.to, u_cache, rng);
  const bool fused = from == bf16 && is_fused(layer.out) &&
                     layer.cache.group == group_shape{1, 128};
  constexpr unsigned h_values = 1, dg_values = 2, du_values = 4, dg_codes = 8,
                     du_codes = 16;
  const unsigned outputs =
      h_values | dg_values | du_values | (fused ? dg_codes | du_codes : 0);
  const auto engine_out = [&](const engine::quantized_view& of_dg,
                              const engine::quantized_view& of_du) {
    engine::swiglu_backward(layer, from, dh, {g_cache.codes, g_cache.scales},
                            {u_cache.codes, u_cache.scales}, {}, {}, {}, of_dg,
                            of_du);
  };
  in_parts(outputs, rng, [&](unsigned wanted) {
    number_output to_h(to, m, n, wanted & h_values, rng);
    number_output to_dg(to, m, n, wanted & dg_values, rng);
    number_output to_du(to, m, n, wanted & du_values, rng);
    quantized_memory q_dg(layer.out, m, n, wanted & dg_codes, rng);
    quantized_memory q_du(layer.out, m, n, wanted & du_codes, rng);
    // h alone needs no dh.
    const bool without_dh = wanted == h_values && rng.one_in(2);
    cuda::const_matrix of_dh = in.view();
    if (without_dh) of_dh.data = nullptr;
    cuda::swiglu_backward(layer, from, of_dh, g.input(), u.input(), to_h.view(),
                          to_dg.view(), to_du.view(), q_dg.view(), q_du.view());
    finish_kernel();
    to_h.download(h);
    to_dg.download(dg);
    to_du.download(du);
    q_dg.download(dg_out, [&](const quantized_out& y) {
      engine_out({y.codes, y.scales}, {});
    });
    q_du.download(du_out, [&](const quantized_out& y) {
      engine_out({}, {y.codes, y.scales});
    });
  });
  if (fused) return;
  quantize_values(layer.out, dg, dg_out, rng);
  quantize_values(layer.out, du, du_out, rng);
}

void rms_norm_on_gpu(const rms_layer& layer, codes_in x, codes_in w,
                     codes_out y, codes_out rstd, quantized_out out) {
  const std::ptrdiff_t m = x.rows, n = x.cols;
  if (m == 0) return;
  placing rng(ways_of(x));
  const placed_matrix in(x, storage_bytes(layer.from), rng);
  const placed_matrix weights(w, storage_bytes(layer.weight), rng);
  const bool fused =
      layer.from == bf16 && layer.weight != fp16 && is_fused(layer.out);
  constexpr unsigned values = 1, factors = 2, codes = 4;
  // A row without elements still has a factor.
  const unsigned outputs =
      n == 0 ? factors : values | factors | (fused ? codes : 0);
  in_parts(outputs, rng, [&](unsigned wanted) {
    number_output to_y(layer.out.from, m, n, wanted & values, rng);
    number_output to_rstd(fp32, m, 1, wanted & factors, rng);
    quantized_memory q_y(layer.out, m, n, wanted & codes, rng);
    cuda::rms_norm(layer, in.view(), weights.view(), to_y.view(),
                   to_rstd.word_view(), q_y.view());
    finish_kernel();
    to_y.download(y);
    to_rstd.download(rstd);
    q_y.download(out, [&](const quantized_out& right) {
      engine::rms_norm(layer, x, w, {}, {}, {right.codes, right.scales});
    });
  });
  if (!fused && n > 0) quantize_values(layer.out, y, out, rng);
}

}  // namespace

void set_gpu_training(implementation& i) {
  i.swiglu_forward = swiglu_forward_on_gpu;
  i.swiglu_backward = swiglu_backward_on_gpu;
  i.rms_norm = rms_norm_on_gpu;
  set_gpu_state(i);
}

training_functions gpu_training() {
  training_functions f = training_of(gpu_implementation());
  f.apply = apply_on_gpu;
  f.factors = factors_on_gpu;
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
