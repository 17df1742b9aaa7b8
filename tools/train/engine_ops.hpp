// Defines `engine_ops`: the operators of a training step on the CPU, by the
// compiled library. A step (step.hpp) is a sequence of these calls and reads no
// element itself. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_ENGINE_OPS_HPP_
#define ZEROULP_TOOLS_TRAIN_ENGINE_OPS_HPP_

#include <memory>
#include <string>

#include "tools/train/arm.hpp"
#include "tools/train/shape.hpp"
#include "tools/train/tensors.hpp"
#include "zeroulp/model.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::train {

struct engine_ops {
  using halves = half_tensor;
  using words = word_tensor;
  using indices = index_tensor;

  /// A tensor from the host, and to it.
  template <class T>
  static tensor<T> from_host(tensor<T> x) {
    return x;
  }
  template <class T>
  static const tensor<T>& on_host(const tensor<T>& x) {
    return x;
  }

  template <class T>
  static byte_part bytes(const tensor<T>& x) {
    return {x.data.data(), x.data.size() * sizeof(T)};
  }
  /// The SHA-256 of each part, 64 digits, one after the other.
  static std::string sha256_of(const std::vector<byte_part>& parts);

  /// An operand of a GEMM, or a cache: codes, and scales where it has some.
  struct operand {
    storage how{};
    half_tensor codes{};
    word_tensor scales{};
    std::shared_ptr<const operand> columnwise{};  ///< of x^T, where it has one
  };

  /// Stores BF16 values (from BF16 codes), or FP32 weights.
  /// x is of `owner`, which other backends keep.
  static operand store(const storage& how, half_view x,
                       const half_tensor& owner);
  static operand store(const storage& how, half_view x);
  static operand store(const storage& how, word_view x);
  /// x^T, stored in groups along what were its rows.
  static operand store_transposed(const storage& how, half_view x);
  static operand store_transposed(const storage& how, half_view x,
                                  const half_tensor& owner);
  static std::pair<operand, operand> store_both(const storage& how,
                                                half_view x) {
    return {store(how, x), store_transposed(how, x)};
  }
  /// The transpose of what is cached, stored as `how`: what lies beside it, or
  /// codes that need no rounding stay, tiles are tiled again (W), else the
  /// values are stored.
  static operand transpose(const storage& how, const operand& cached);
  /// The values of what is stored, FP32.
  static word_tensor load(const operand& x);

  /// A B^T in BF16; `b_across`: A B.
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      bool b_across, matrix_view<std::uint16_t> out);
  /// A B^T in FP32.
  static void product(const sum_rule& by, const operand& a, const operand& b,
                      matrix_view<std::uint32_t> out);

  static half_tensor embed(word_view weights, const index_tensor& ids);
  /// One-hot(ids)^T dx, FP32.
  static void embed_backward(const index_tensor& ids, half_view dx,
                             matrix_view<std::uint32_t> dweights);

  struct normalized {
    half_tensor y;
    word_tensor rstd;
  };
  static normalized rms_norm(half_view x, word_view w);

  struct swiglu_cache {
    operand g;
    operand u;
  };
  /// h of [g | u]; the cache.
  static half_tensor swiglu(const storage& how, const half_tensor& gates,
                            swiglu_cache& cache);
  /// h again, and [dg | du].
  static half_tensor swiglu_again(const storage& how,
                                  const swiglu_cache& cache);
  static half_tensor swiglu_backward(const storage& how,
                                     const swiglu_cache& cache, half_view dh);

  /// Queries, keys and values of every head, with positions.
  struct attention_operands {
    half_tensor q;
    half_tensor k;
    half_tensor v;
  };
  static attention_operands assemble(const model_shape& s, half_view first,
                                     half_view second, word_view cosines,
                                     word_view sines);
  /// Gradients of the two projections' outputs, but for the latent.
  static void assemble_backward(const model_shape& s,
                                const attention_operands& d, word_view cosines,
                                word_view sines,
                                matrix_view<std::uint16_t> d_first,
                                matrix_view<std::uint16_t> d_second);

  static void rms_norm_backward(const rms_norm_gradients& t) {
    engine::rms_norm_backward(t);
  }
  static void attention_forward(const attention_shape& s,
                                const engine::attention_inputs& t,
                                matrix_view<std::uint16_t> o,
                                matrix_view<std::uint32_t> largest,
                                matrix_view<std::uint32_t> inverse) {
    engine::attention_forward(s, t, o, largest, inverse);
  }
  static void attention_backward(const attention_shape& s,
                                 const engine::attention_inputs& t,
                                 const engine::attention_kept& kept,
                                 half_view d_o,
                                 const engine::attention_gradients_out& out) {
    engine::attention_backward(s, t, kept, d_o, out);
  }
  /// `dlogits` may be empty.
  static void cross_entropy(const word_tensor& logits,
                            const index_tensor& targets, std::uint32_t factor,
                            word_tensor& losses, half_tensor& dlogits);

  static void route(const model_shape& s, const word_tensor& logits,
                    const word_tensor& bias, word_tensor& scores,
                    index_tensor& experts, word_tensor& weights);
  static word_tensor route_backward(const model_shape& s,
                                    const word_tensor& scores,
                                    const index_tensor& experts,
                                    const word_tensor& dweights);
  /// Returns the rows; each expert's are a multiple of 128. `ends`: of the rows
  /// of none, one, .. of the experts.
  static index_tensor make_plan(const model_shape& s,
                                const index_tensor& experts,
                                index_tensor& slots,
                                std::vector<std::int32_t>& ends);
  static void slot_backward(const slot_gradients& t) {
    engine::slot_backward(t);
  }
  /// The sum over the slots of each token and over row first + token, which has
  /// weight 1; without weights, sums.
  static half_tensor combine(const half_tensor& rows, const index_tensor& slots,
                             const word_tensor* weights, std::ptrdiff_t first);

  /// Sequential products of the router (T14): logits of x; x's gradient.
  static word_tensor router_logits(half_view x, word_view w);
  static word_tensor router_dx(word_view dlogits, word_view w);
  static void router_dw(word_view dlogits, half_view x,
                        matrix_view<std::uint32_t> dw);

  /// Rows of x; of -1: zeros.
  static half_tensor gather(half_view x, const index_tensor& rows);
  static void copy(half_view from, matrix_view<std::uint16_t> to);
  /// n columns from `at` on.
  static half_tensor columns(half_view x, std::ptrdiff_t at, std::ptrdiff_t n);
  /// bf(fl(a + b)).
  static half_tensor add(half_view a, half_view b);
  static half_tensor add(half_view a, word_view b);

  // What comes after the passes of a step.

  /// Sums in FP64: of the losses of a shard; of the squares of each gradient.
  static double sum_of_losses(const word_tensor& losses);
  static std::vector<double> sums_of_squares(
      const std::vector<word_tensor>& gradients);
  /// The tree of the shards' gradients of a parameter, into the first.
  static void add_shards(const std::vector<word_tensor*>& shards);
  /// x factor, each product rounded; in place.
  static void scale(matrix_view<std::uint32_t> x, std::uint32_t factor);
  static void adamw(const adamw_step& step, const word_tensor& g,
                    half_tensor& m, half_tensor& v, word_tensor& w);
  /// By the experts that all shards chose.
  static void update_bias(const std::vector<const index_tensor*>& experts,
                          std::uint32_t speed, word_tensor& bias);
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_ENGINE_OPS_HPP_
