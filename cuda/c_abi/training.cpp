// The C ABI of the kernels: the training path.

#include "cuda/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {
namespace {

rms_layer layer_of(const zeroulp_rms_layer* layer) {
  needed(layer, "layer");
  return {format_of(&layer->from, "layer.from"),
          format_of(&layer->weight, "layer.weight"), layer->eps,
          quantizer_of(&layer->out)};
}

adamw_step step_of(const zeroulp_adamw_step* given, std::uint64_t seed,
                   std::uint64_t first) {
  const auto& s = needed(given, "step");
  return {factors_of(s.factors),
          format_of(&s.gradient, "step.gradient"),
          format_of(&s.moment, "step.moment"),
          rounding_of(s.rounding),
          seed,
          first};
}

cuda::row_numbers row_numbers_of(const zeroulp_cuda_const_matrix* m,
                                 const char* what) {
  return word_matrix_of<const std::int32_t>(matrix_of(m, what), what);
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;
namespace cuda = zeroulp::cuda;

zeroulp_status zeroulp_cuda_swiglu_forward(
    const zeroulp_swiglu* layer, const zeroulp_cuda_const_matrix* g,
    const zeroulp_cuda_const_matrix* u, const zeroulp_cuda_matrix* h,
    const zeroulp_cuda_quantized* h_out, const zeroulp_cuda_quantized* g_cache,
    const zeroulp_cuda_quantized* u_cache, void* stream) {
  return guarded(__func__, [&] {
    cuda::swiglu_forward(
        layer_of(layer), matrix_of(g, "g"), matrix_of(u, "u"),
        optional_matrix_of(h, "h"), optional_quantized_of(h_out, "h_out"),
        optional_quantized_of(g_cache, "g_cache"),
        optional_quantized_of(u_cache, "u_cache"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_swiglu_backward(
    const zeroulp_swiglu* layer, const zeroulp_format* from,
    const zeroulp_cuda_const_matrix* dh,
    const zeroulp_cuda_const_quantized* g_cache,
    const zeroulp_cuda_const_quantized* u_cache, const zeroulp_cuda_matrix* h,
    const zeroulp_cuda_matrix* dg, const zeroulp_cuda_matrix* du,
    const zeroulp_cuda_quantized* dg_out, const zeroulp_cuda_quantized* du_out,
    void* stream) {
  return guarded(__func__, [&] {
    cuda::swiglu_backward(
        layer_of(layer), format_of(from, "from"), matrix_of(dh, "dh"),
        quantized_of(g_cache, "g_cache"), quantized_of(u_cache, "u_cache"),
        optional_matrix_of(h, "h"), optional_matrix_of(dg, "dg"),
        optional_matrix_of(du, "du"), optional_quantized_of(dg_out, "dg_out"),
        optional_quantized_of(du_out, "du_out"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_rms_norm(const zeroulp_rms_layer* layer,
                                     const zeroulp_cuda_const_matrix* x,
                                     const zeroulp_cuda_const_matrix* w,
                                     const zeroulp_cuda_matrix* y,
                                     const zeroulp_cuda_matrix* rstd,
                                     const zeroulp_cuda_quantized* out,
                                     void* stream) {
  return guarded(__func__, [&] {
    zeroulp::matrix_view<std::uint32_t> factors;
    if (rstd != nullptr) factors = word_view_of(rstd, "rstd");
    cuda::rms_norm(layer_of(layer), matrix_of(x, "x"), matrix_of(w, "w"),
                   optional_matrix_of(y, "y"), factors,
                   optional_quantized_of(out, "out"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_adamw(
    const zeroulp_adamw_step* step, std::uint64_t seed, std::uint64_t first,
    const zeroulp_cuda_const_matrix* g, const zeroulp_cuda_matrix* m,
    const zeroulp_cuda_matrix* v, const zeroulp_cuda_matrix* w,
    const zeroulp_cuda_matrix* copy, void* stream) {
  return guarded(__func__, [&] {
    cuda::adamw(step_of(step, seed, first), matrix_of(g, "g"),
                matrix_of(m, "m"), matrix_of(v, "v"), matrix_of(w, "w"),
                optional_matrix_of(copy, "copy"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_combine(std::int32_t rule,
                                    const zeroulp_cuda_const_matrix* x,
                                    const zeroulp_cuda_const_matrix* slots,
                                    const zeroulp_cuda_const_matrix* weights,
                                    const zeroulp_cuda_matrix* out,
                                    void* stream) {
  return guarded(__func__, [&] {
    cuda::basic_matrix<const std::uint32_t> by;
    if (weights != nullptr) {
      by = word_matrix_of<const std::uint32_t>(matrix_of(weights, "weights"),
                                               "weights");
    }
    cuda::combine(enum_of(rule, zeroulp::combine_rule::bf16_pair, "rule"),
                  matrix_of(x, "x"), row_numbers_of(slots, "slots"), by,
                  matrix_of(out, "out"), stream_of(stream));
  });
}

zeroulp_status zeroulp_cuda_dispatch(const zeroulp_quantizer* quantizer,
                                     const zeroulp_cuda_const_matrix* x,
                                     const zeroulp_cuda_const_matrix* rows,
                                     const zeroulp_cuda_quantized* y,
                                     void* stream) {
  return guarded(__func__, [&] {
    cuda::dispatch(quantizer_of(quantizer), matrix_of(x, "x"),
                   row_numbers_of(rows, "rows"), quantized_of(y, "y"),
                   stream_of(stream));
  });
}
