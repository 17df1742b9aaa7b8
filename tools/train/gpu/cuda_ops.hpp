// Defines `cuda_ops`: the operators of a training step on the current GPU, by
// the library's kernels, with the bits of engine_ops. Tensors are in its
// memory; work goes to one stream, in order. Only where there is CUDA.
// Internal.

#ifndef ZEROULP_TOOLS_TRAIN_GPU_CUDA_OPS_HPP_
#define ZEROULP_TOOLS_TRAIN_GPU_CUDA_OPS_HPP_

#include <memory>

#include "tools/train/arm.hpp"
#include "tools/train/gpu/device_tensor.hpp"
#include "tools/train/shape.hpp"
#include "tools/train/tensors.hpp"
#include "zeroulp/cuda_model.hpp"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::train {

struct cuda_ops {
  using halves = device_tensor<std::uint16_t>;
  using words = device_tensor<std::uint32_t>;
  using indices = device_tensor<std::int32_t>;

  template <class T>
  static device_tensor<T> from_host(const tensor<T>& x) {
    auto to = device_tensor<T>::unwritten(x.rows, x.cols);
    copy_bytes(to.span().data(), x.data.data(), to.span().size_bytes());
    return to;
  }
  template <class T>
  static tensor<T> on_host(const device_tensor<T>& x) {
    tensor<T> to(x.rows, x.cols);
    copy_bytes(to.data.data(), x.span().data(), x.span().size_bytes());
    return to;
  }

  template <class T>
  static byte_part bytes(const device_tensor<T>& x) {
    return {x.span().data(), x.span().size_bytes()};
  }
  static std::string sha256_of(const std::vector<byte_part>& parts);

  /// Codes of 1 or 2 bytes, rows x cols. `across`: they lie as the transpose,
  /// where a kernel reads both (BF16).
  struct code_matrix {
    std::ptrdiff_t rows = 0;
    std::ptrdiff_t cols = 0;
    int bytes = 1;
    bool across = false;
    device_memory memory{};
    std::ptrdiff_t stride = 0;  ///< of rows as they lie; 0: they have no gaps

    half_view halves_view() const;
    cuda::matrix matrix() const;
  };
  struct operand {
    storage how{};
    code_matrix codes{};
    words scales{};
    std::shared_ptr<const operand> columnwise{};  ///< of x^T, where it has one
  };
  /// One code a 16-bit word.
  static half_tensor on_host(const code_matrix& x);

  /// x is of `owner`, which nobody writes any more: what is stored as it is
  /// stays there.
  static operand store(const storage& how, half_view x, const halves& owner);
  static operand store(const storage& how, word_view x);
  static operand store_transposed(const storage& how, half_view x,
                                  const halves& owner);
  /// Both in one pass, where a kernel does that. What is stored as it is stays
  /// where x is.
  static std::pair<operand, operand> store_both(const storage& how,
                                                half_view x);
  static operand transpose(const storage& how, const operand& cached);
  static words load(const operand& x);

  static void product(const sum_rule& by, const operand& a, const operand& b,
                      bool b_across, matrix_view<std::uint16_t> out);
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      matrix_view<std::uint32_t> out);

  static halves embed(word_view weights, const indices& ids);
  static void embed_backward(const indices& ids, half_view dx,
                             matrix_view<std::uint32_t> dweights);

  struct normalized {
    halves y;
    words rstd;
  };
  static normalized rms_norm(half_view x, word_view w);

  /// BF16 caches are g and u themselves, in the memory of `up`.
  struct swiglu_cache {
    operand g;
    operand u;
  };
  static halves swiglu(const storage& how, const halves& up,
                       swiglu_cache& cache);
  static halves swiglu_again(const storage& how, const swiglu_cache& cache);
  static halves swiglu_backward(const storage& how, const swiglu_cache& cache,
                                half_view dh);

  struct attention_operands {
    halves q;
    halves k;
    halves v;
  };
  static attention_operands assemble(const model_shape& s, half_view first,
                                     half_view second, word_view cosines,
                                     word_view sines);
  static void assemble_backward(const model_shape& s,
                                const attention_operands& d, word_view cosines,
                                word_view sines,
                                matrix_view<std::uint16_t> d_first,
                                matrix_view<std::uint16_t> d_second);

  static void rms_norm_backward(const rms_norm_gradients& t);
  static void attention_forward(const attention_shape& s,
                                const engine::attention_inputs& t,
                                matrix_view<std::uint16_t> o,
                                matrix_view<std::uint32_t> largest,
                                matrix_view<std::uint32_t> inverse);
  static void attention_backward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 const engine::attention_kept& kept,
                                 half_view d_o,
                                 const engine::attention_gradients_out& out);
  static void cross_entropy(const words& logits, const indices& targets,
                            std::uint32_t factor, words& losses,
                            halves& dlogits);

  static void route(const model_shape& s, const words& logits,
                    const words& bias, words& scores, indices& experts,
                    words& weights);
  static words route_backward(const model_shape& s, const words& scores,
                              const indices& experts, const words& dweights);
  static indices make_plan(const model_shape& s, const indices& experts,
                           indices& slots, std::vector<std::int32_t>& ends);
  static void slot_backward(const slot_gradients& t) { cuda::slot_backward(t); }
  static halves combine(const halves& rows, const indices& slots,
                        const words* weights, std::ptrdiff_t first);

  static words router_logits(half_view x, word_view w);
  static words router_dx(word_view dlogits, word_view w);
  static void router_dw(word_view dlogits, half_view x,
                        matrix_view<std::uint32_t> dw);

  static halves gather(half_view x, const indices& rows);
  static void copy(half_view from, matrix_view<std::uint16_t> to);
  static halves columns(half_view x, std::ptrdiff_t at, std::ptrdiff_t n);
  static halves add(half_view a, half_view b);
  static halves add(half_view a, word_view b);

  static double sum_of_losses(const words& losses);
  static std::vector<double> sums_of_squares(const std::vector<words>& g);
  static void add_shards(const std::vector<words*>& shards);
  static void scale(matrix_view<std::uint32_t> x, std::uint32_t factor);
  static void adamw(const adamw_step& step, const words& g, halves& m,
                    halves& v, words& w);
  static void update_bias(const std::vector<const indices*>& experts,
                          std::uint32_t speed, words& bias);
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_GPU_CUDA_OPS_HPP_
