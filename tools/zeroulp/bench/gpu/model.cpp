// The rows of what a model's training step does between its products, bound by
// memory. Rows are moved by a permutation: each one is read once.

#include "zeroulp/model.hpp"

#include "src/training/hardware.hpp"
#include "tools/zeroulp/bench/gpu/views.hpp"
#include "zeroulp/cuda_model.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::program {
namespace {

using H = hardware_fp32;

/// Goals: a part of the stream's speed.
constexpr double model_must = 0.85, model_aim = 0.9;

constexpr std::ptrdiff_t positions = 1024;  ///< of a sequence
constexpr std::ptrdiff_t head_width = 128;
constexpr group_shape whole{0, 0};
constexpr std::ptrdiff_t slots_of_token = 4;

template <class T>
std::span<T> elements(const matrix_view<T>& x) {
  return {x.data, static_cast<std::size_t>(x.rows * x.cols)};
}

/// to(i) = from(i), all elements.
template <class T, class Make>
void for_elements(const matrix_view<T>& to, const Make& make) {
  const std::ptrdiff_t count = to.rows * to.cols;
  for (std::ptrdiff_t i = 0; i < count; ++i) to.data[i] = make(i);
}

gpu_operand read_of(const char* name, format f, shape s) {
  return {name, gpu_use::read, f, s};
}
gpu_operand written_of(const char* name, format f, shape s) {
  return {name, gpu_use::write, f, s};
}
gpu_operand scratch_of(format f, shape s) {
  return {"work", gpu_use::scratch, f, s};
}

// Between a layer's products.

/// Cosines and sines of n pairs: any numbers do.
void add_tables(gpu_operation& op, std::ptrdiff_t pairs) {
  op.operands.push_back(read_of("cosines", fp32, {positions, pairs}));
  op.operands.push_back(read_of("sines", fp32, {positions, pairs}));
}

gpu_operation rope_of(shape s) {
  const std::ptrdiff_t heads = s.n / head_width;
  gpu_operation op;
  op.operands = {read_of("x", bf16, s), written_of("y", bf16, s)};
  add_tables(op, head_width / 2);
  const auto rows = [heads](const gpu_matrices& at) {
    return rope_rows{rope_pairs::adjacent, false,        heads,
                     halves(at[0]),        words(at[2]), words(at[3]),
                     halves(at[1])};
  };
  op.launch = [rows](const gpu_matrices& at, CUstream_st* stream) {
    cuda::rope(rows(at), stream);
  };
  op.expect = [rows](const gpu_matrices& at) { engine::rope(rows(at)); };
  return op;
}

/// With the gradient that goes around the norm.
gpu_operation norm_gradients_of(shape s) {
  gpu_operation op;
  op.operands = {
      read_of("dy", bf16, s),
      read_of("x", bf16, s),
      read_of("w", fp32, {1, s.n}),
      {"rstd", gpu_use::read, fp32, {s.m, 1}, gpu_fill::scales},
      read_of("residual", bf16, s),
      written_of("dx", bf16, s),
      written_of("dw", fp32, {1, s.n}),
      scratch_of(fp32, {ceil_div(s.m, token_range), s.n}),
  };
  const auto gradients = [](const gpu_matrices& at) {
    return rms_norm_gradients{halves(at[0]), halves(at[1]), words(at[2]),
                              words(at[3]),  halves(at[4]), halves(at[5]),
                              words(at[6])};
  };
  op.launch = [gradients](const gpu_matrices& at, CUstream_st* stream) {
    cuda::rms_norm_backward(gradients(at), elements(words(at[7])), stream);
  };
  op.expect = [gradients](const gpu_matrices& at) {
    engine::rms_norm_backward(gradients(at));
  };
  return op;
}

/// The engine's, of g and u that are stored in BF16 with a scale of 1.
void expect_swiglu(const engine::const_code_view& g,
                   const engine::const_code_view& u,
                   const engine::const_code_view& dh,
                   const engine::code_view& h, const engine::code_view& dg,
                   const engine::code_view& du) {
  const quantizer q{bf16, bf16, zeroulp_convention, scale_kind::float32, whole};
  const matrix_view<const std::uint32_t> by(&fp32_one, 1, 1);
  engine::swiglu_backward({q, q}, bf16, dh, {g, by}, {u, by}, h, dg, du);
}

gpu_operation swiglu_again_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("g", bf16, s), read_of("u", bf16, s),
                 written_of("h", bf16, s)};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::swiglu_backward(halves(at[0]), halves(at[1]), {}, halves(at[2]), {},
                          {}, stream);
  };
  op.expect = [](const gpu_matrices& at) {
    // h does not depend on dh.
    expect_swiglu(at[0], at[1], at[0], at[2], {}, {});
  };
  return op;
}

gpu_operation swiglu_gradients_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("g", bf16, s), read_of("u", bf16, s),
                 read_of("dh", bf16, s), written_of("dg", bf16, s),
                 written_of("du", bf16, s)};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::swiglu_backward(halves(at[0]), halves(at[1]), halves(at[2]), {},
                          halves(at[3]), halves(at[4]), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    expect_swiglu(at[0], at[1], at[2], {}, at[3], at[4]);
  };
  return op;
}

/// a is BF16, b a BF16 or FP32 number as `B` holds it.
template <class B>
gpu_operation addition_of(shape s) {
  constexpr bool narrow = sizeof(B) == 2;
  const auto added = [](const engine::code_view& v) {
    return matrix_view<const B>(static_cast<const B*>(v.data), v.rows, v.cols);
  };
  gpu_operation op;
  op.operands = {read_of("a", bf16, s), read_of("b", narrow ? bf16 : fp32, s),
                 written_of("sum", bf16, s)};
  op.launch = [added](const gpu_matrices& at, CUstream_st* stream) {
    cuda::add(elements<const std::uint16_t>(halves(at[0])),
              elements(added(at[1])), elements(halves(at[2])), stream);
  };
  op.expect = [added](const gpu_matrices& at) {
    const auto a = halves(at[0]);
    const auto b = added(at[1]);
    for_elements(halves(at[2]), [&](std::ptrdiff_t i) {
      const std::uint32_t code = b.data[i];
      return bf16_code<H>(H::add(bf16_number<H>(a.data[i]),
                                 H::from_bits(narrow ? code << 16 : code)));
    });
  };
  return op;
}

// Experts' rows, embeddings.

gpu_operation gather_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("x", bf16, s), row_numbers("rows", s.m, 1),
                 written_of("y", bf16, s)};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::gather(halves(at[0]), numbers(at[1]), halves(at[2]), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    const auto x = halves(at[0]);
    const auto rows = numbers(at[1]);
    const std::ptrdiff_t n = x.cols;
    for_elements(halves(at[2]),
                 [&](std::ptrdiff_t i) { return x(rows(i / n, 0), i % n); });
  };
  return op;
}

/// y and d_rows have the shape given.
gpu_operation slot_gradients_of(shape s) {
  const std::ptrdiff_t tokens = s.m / slots_of_token;
  const shape slots{tokens, slots_of_token};
  const shape rows{slots.count(), s.n};
  gpu_operation op;
  op.operands = {read_of("dy", bf16, {tokens, s.n}),
                 row_numbers("slots", slots.m, slots.n),
                 {"weights", gpu_use::read, fp32, slots, gpu_fill::scales},
                 read_of("y", bf16, rows),
                 written_of("d_rows", bf16, rows),
                 written_of("dweights", fp32, slots)};
  const auto gradients = [](const gpu_matrices& at) {
    return slot_gradients{halves(at[0]), numbers(at[1]), words(at[2]),
                          halves(at[3]), halves(at[4]),  words(at[5])};
  };
  op.launch = [gradients](const gpu_matrices& at, CUstream_st* stream) {
    cuda::slot_backward(gradients(at), stream);
  };
  op.expect = [gradients](const gpu_matrices& at) {
    engine::slot_backward(gradients(at));
  };
  return op;
}

gpu_operation embedding_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("w", fp32, s), row_numbers("ids", s.m, 1),
                 written_of("x", bf16, s)};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::embed(words(at[0]), numbers(at[1]), halves(at[2]), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    const auto w = words(at[0]);
    const auto ids = numbers(at[1]);
    for (std::ptrdiff_t t = 0; t < ids.rows; ++t) {
      engine::recode(fp32, w.block(ids(t, 0), 0, 1, w.cols), bf16,
                     halves(at[2]).block(t, 0, 1, w.cols));
    }
  };
  return op;
}

// Numbers, the loss, gradients.

gpu_operation widening_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("x", bf16, s), written_of("y", fp32, s)};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::widen(elements<const std::uint16_t>(halves(at[0])),
                elements(words(at[1])), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    engine::recode(bf16, at[0], fp32, at[1]);
  };
  return op;
}

gpu_operation narrowing_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("x", fp32, s), written_of("y", bf16, s)};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::narrow(elements<const std::uint32_t>(words(at[0])),
                 elements(halves(at[1])), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    engine::recode(fp32, at[0], bf16, at[1]);
  };
  return op;
}

/// Rows of logits; what it works in is as large.
gpu_operation losses_of(shape s) {
  constexpr std::uint32_t factor = 0x39800000;  // 2^-12
  gpu_operand targets = read_of("targets", fp32, {s.m, 1});
  counter_rng rng(45, 0);
  for (std::ptrdiff_t i = 0; i < s.m; ++i) {
    targets.words.push_back(rng.below(static_cast<std::uint32_t>(s.n)));
  }
  gpu_operation op;
  op.operands = {read_of("logits", fp32, s), targets,
                 written_of("losses", fp32, {s.m, 1}),
                 written_of("dlogits", bf16, s), scratch_of(fp32, s)};
  const auto rows = [](const gpu_matrices& at) {
    return cross_entropy_rows{words(at[0]), numbers(at[1]), factor,
                              words(at[2]), halves(at[3]),  words(at[4])};
  };
  op.launch = [rows](const gpu_matrices& at, CUstream_st* stream) {
    cuda::cross_entropy(rows(at), stream);
  };
  op.expect = [rows](const gpu_matrices& at) {
    engine::cross_entropy(rows(at));
  };
  return op;
}

gpu_operation squares_of(shape s) {
  gpu_operation op;
  op.operands = {read_of("g", fp32, s), written_of("sum", fp64, {1, 1}),
                 scratch_of(fp64, {1, ceil_div(s.count(), norm_chunk)})};
  const auto sum = [](const engine::code_view& v) {
    return static_cast<double*>(v.data);
  };
  op.launch = [sum](const gpu_matrices& at, CUstream_st* stream) {
    const matrix_view<double> work(sum(at[2]), at[2].rows, at[2].cols);
    cuda::sum_of_squares(elements<const std::uint32_t>(words(at[0])),
                         elements(work), sum(at[1]), stream);
  };
  op.expect = [sum](const gpu_matrices& at) {
    *sum(at[1]) = engine::sum_of_squares(words(at[0]));
  };
  return op;
}

/// By a factor that rounds and, launch after launch, changes little.
gpu_operation scaling_of(shape s) {
  constexpr std::uint32_t factor = fp32_one + 1;
  gpu_operation op;
  op.operands = {{"x", gpu_use::update, fp32, s}};
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::scale(elements(words(at[0])), factor, stream);
  };
  op.expect = [](const gpu_matrices& at) {
    const auto x = words(at[0]);
    for_elements(x, [&](std::ptrdiff_t i) {
      return H::bits(
          H::multiply(H::from_bits(x.data[i]), H::from_bits(factor)));
    });
  };
  return op;
}

struct model_row {
  const char* name;
  gpu_operation (*make)(shape);
};

constexpr model_row model_rows[] = {
    {"model.rope", rope_of},
    {"model.rms_norm_backward", norm_gradients_of},
    {"model.swiglu_backward.h", swiglu_again_of},
    {"model.swiglu_backward.dg_du", swiglu_gradients_of},
    {"model.add.bf16", addition_of<std::uint16_t>},
    {"model.add.fp32", addition_of<std::uint32_t>},
    {"model.gather", gather_of},
    {"model.slot_backward", slot_gradients_of},
    {"model.embed", embedding_of},
    {"model.widen", widening_of},
    {"model.narrow", narrowing_of},
    {"model.sum_of_squares", squares_of},
    {"model.scale", scaling_of},
};

}  // namespace

std::vector<gpu_row> gpu_model_rows() {
  std::vector<gpu_row> all = gpu_mla_rows(model_must, model_aim);
  for (const auto& row : model_rows) {
    all.push_back({row.name, model_must, model_aim, row.make});
  }
  // Vocabularies of bytes, of a small model and of DeepSeek-V2-Lite.
  all.push_back({"model.cross_entropy",
                 model_must,
                 model_aim,
                 losses_of,
                 {{65536, 256}, {16384, 16384}, {4096, 102400}}});
  return all;
}

}  // namespace zeroulp::program
