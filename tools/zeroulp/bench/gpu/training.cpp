// The rows of SwiGLU and RMSNorm, each with what it quantizes in the same pass.

#include "zeroulp/training.hpp"

#include "tools/zeroulp/bench/gpu/views.hpp"
#include "zeroulp/cuda_training.hpp"

namespace zeroulp::program {
namespace {

struct training_row {
  const char* name;
  scale_kind scale;
  bool stores_more;  ///< SwiGLU: caches of g and u, too; the norm: y in BF16
};

constexpr training_row forward_rows[] = {
    {"swiglu.forward", scale_kind::float32, false},
    {"swiglu.forward.pow2", scale_kind::pow2, false},
    {"swiglu.forward.caches", scale_kind::float32, true},
    {"swiglu.forward.caches.pow2", scale_kind::pow2, true},
};

constexpr training_row backward_rows[] = {
    {"swiglu.backward", scale_kind::float32, false},
    {"swiglu.backward.pow2", scale_kind::pow2, false},
};

/// h alone, for the weights' gradient: caches in groups of 1x128, or one scale.
struct again_row {
  const char* name;
  scale_kind scale;
  group_shape group;
};

constexpr again_row again_rows[] = {
    {"swiglu.again", scale_kind::float32, {1, 128}},
    {"swiglu.again.tensor", scale_kind::float32, {0, 0}},
};

constexpr training_row norm_rows[] = {
    {"rms_norm", scale_kind::float32, false},
    {"rms_norm.pow2", scale_kind::pow2, false},
    {"rms_norm.bf16_too", scale_kind::float32, true},
};

constexpr group_shape groups{1, 128};

quantizer quantizer_of(const training_row& row) {
  return {bf16, e4m3, zeroulp_convention, row.scale, groups};
}

engine::quantized_view output_at(const gpu_matrices& at, std::size_t i) {
  return {at[i], words(at[i + 1])};
}
engine::const_quantized_view input_at(const gpu_matrices& at, std::size_t i) {
  return {at[i], words(at[i + 1])};
}
cuda::const_quantized device_input_at(const gpu_matrices& at, std::size_t i) {
  return {to_cuda(at[i]), scales_at(at, i + 1)};
}

gpu_operation forward(const training_row& row, shape s) {
  const swiglu_layer layer{quantizer_of(row), quantizer_of(row)};
  gpu_operation op;
  op.operands = {{"g", gpu_use::read, bf16, s}, {"u", gpu_use::read, bf16, s}};
  add_quantized(op, " of h", gpu_use::write, e4m3, s, groups);
  if (!row.stores_more) {
    op.launch = [layer](const gpu_matrices& at, CUstream_st* stream) {
      cuda::swiglu_forward(layer, to_cuda(at[0]), to_cuda(at[1]), {},
                           quantized_at(at, 2), {}, {}, stream);
    };
    op.expect = [layer](const gpu_matrices& at) {
      engine::swiglu_forward(layer, at[0], at[1], {}, output_at(at, 2));
    };
    return op;
  }
  add_quantized(op, " of g", gpu_use::write, e4m3, s, groups);
  add_quantized(op, " of u", gpu_use::write, e4m3, s, groups);
  op.launch = [layer](const gpu_matrices& at, CUstream_st* stream) {
    cuda::swiglu_forward(layer, to_cuda(at[0]), to_cuda(at[1]), {},
                         quantized_at(at, 2), quantized_at(at, 4),
                         quantized_at(at, 6), stream);
  };
  op.expect = [layer](const gpu_matrices& at) {
    engine::swiglu_forward(layer, at[0], at[1], {}, output_at(at, 2),
                           output_at(at, 4), output_at(at, 6));
  };
  return op;
}

gpu_operation backward(const training_row& row, shape s) {
  const swiglu_layer layer{quantizer_of(row), quantizer_of(row)};
  const gpu_fill scales = row.scale == scale_kind::float32
                              ? gpu_fill::cached_scales
                              : gpu_fill::cached_powers;
  gpu_operation op;
  op.operands = {{"dh", gpu_use::read, bf16, s}};
  for (const char* const cache : {" of g", " of u"}) {
    add_quantized(op, cache, gpu_use::read, e4m3, s, groups, scales,
                  gpu_fill::cached);
  }
  add_quantized(op, " of dg", gpu_use::write, e4m3, s, groups);
  add_quantized(op, " of du", gpu_use::write, e4m3, s, groups);
  op.launch = [layer](const gpu_matrices& at, CUstream_st* stream) {
    cuda::swiglu_backward(layer, bf16, to_cuda(at[0]), device_input_at(at, 1),
                          device_input_at(at, 3), {}, {}, {},
                          quantized_at(at, 5), quantized_at(at, 7), stream);
  };
  op.expect = [layer](const gpu_matrices& at) {
    engine::swiglu_backward(layer, bf16, at[0], input_at(at, 1),
                            input_at(at, 3), {}, {}, {}, output_at(at, 5),
                            output_at(at, 7));
  };
  return op;
}

gpu_operation again(const again_row& row, shape s) {
  const quantizer q{bf16, e4m3, zeroulp_convention, row.scale, row.group};
  const swiglu_layer layer{q, q};
  gpu_operation op;
  for (const char* const cache : {" of g", " of u"}) {
    add_quantized(op, cache, gpu_use::read, e4m3, s, row.group,
                  gpu_fill::cached_scales, gpu_fill::cached);
  }
  op.operands.push_back({"h", gpu_use::write, bf16, s});
  op.launch = [layer](const gpu_matrices& at, CUstream_st* stream) {
    cuda::swiglu_backward(layer, bf16, {nullptr, at[4].rows, at[4].cols},
                          device_input_at(at, 0), device_input_at(at, 2),
                          to_cuda(at[4]), {}, {}, {}, {}, stream);
  };
  op.expect = [layer](const gpu_matrices& at) {
    const dense<std::uint16_t> nothing({at[4].rows, at[4].cols});
    engine::swiglu_backward(layer, bf16, nothing.view(), input_at(at, 0),
                            input_at(at, 2), at[4], {}, {});
  };
  return op;
}

gpu_operation norm(const training_row& row, shape s) {
  const rms_layer layer{bf16, bf16, 0x358637bd, quantizer_of(row)};
  const bool values = row.stores_more;
  gpu_operation op;
  op.operands = {{"x", gpu_use::read, bf16, s},
                 {"w", gpu_use::read, bf16, {1, s.n}},
                 {"rstd", gpu_use::write, fp32, {s.m, 1}}};
  add_quantized(op, " of y", gpu_use::write, e4m3, s, groups);
  if (values) op.operands.push_back({"y", gpu_use::write, bf16, s});
  op.launch = [layer, values](const gpu_matrices& at, CUstream_st* stream) {
    cuda::rms_norm(layer, to_cuda(at[0]), to_cuda(at[1]),
                   values ? to_cuda(at[5]) : cuda::matrix{}, words(at[2]),
                   quantized_at(at, 3), stream);
  };
  op.expect = [layer, values](const gpu_matrices& at) {
    engine::rms_norm(layer, at[0], at[1], values ? at[5] : engine::code_view{},
                     words(at[2]), output_at(at, 3));
  };
  return op;
}

template <std::size_t Count>
void add(std::vector<gpu_row>& all, const training_row (&rows)[Count],
         gpu_operation (*make)(const training_row&, shape)) {
  for (const training_row& row : rows) {
    all.push_back(
        {row.name, 0.90, 0.95, [row, make](shape s) { return make(row, s); }});
  }
}

}  // namespace

std::vector<gpu_row> gpu_training_rows() {
  std::vector<gpu_row> all;
  add(all, forward_rows, forward);
  add(all, backward_rows, backward);
  for (const again_row& row : again_rows) {
    all.push_back(
        {row.name, 0.60, 0.90, [row](shape s) { return again(row, s); }});
  }
  add(all, norm_rows, norm);
  return all;
}

}  // namespace zeroulp::program
