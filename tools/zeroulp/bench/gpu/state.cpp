// The rows of the bench for AdamW, combine and dispatch. Rows are moved by a
// permutation: each one is read once. Goals: must and aim below.

#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "tools/zeroulp/bench/gpu/views.hpp"
#include "zeroulp/cuda_training.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::program {
namespace {

constexpr group_shape by_tile{1, 128};

struct adamw_row {
  const char* name;
  rounding mode;
  double must;
  double aim;
};

/// BF16 gradients and moments, FP32 weights, a BF16 copy of these: 10 bytes
/// read and 10 written for an element.
constexpr adamw_row adamw_rows[] = {
    {"adamw", rounding::nearest_even, 0.92, 0.96},
    {"adamw.stochastic", rounding::stochastic, 0.92, 0.96},
};

struct combine_row {
  const char* name;
  combine_rule rule;
  std::ptrdiff_t slots;
  bool weighted;
};

constexpr combine_row combine_rows[] = {
    {"combine.8.weighted", combine_rule::fp32_slots, 8, true},
    {"combine.8.bf16_hops", combine_rule::bf16_hops, 8, false},
    {"combine.2.bf16_pair", combine_rule::bf16_pair, 2, false},
};

gpu_operation adamw_of(const adamw_row& row, shape s) {
  const adamw_step step{make_adamw_factors({3e-4, 0.9, 0.95, 1e-8, 0.1, 1000}),
                        bf16,
                        bf16,
                        row.mode,
                        5,
                        0};
  gpu_operation op;
  op.operands = {{"g", gpu_use::read, bf16, s},
                 {"m", gpu_use::update, bf16, s},
                 {"v", gpu_use::update, bf16, s, gpu_fill::positive},
                 {"w", gpu_use::update, fp32, s},
                 {"copy", gpu_use::write, bf16, s}};
  op.launch = [step](const gpu_matrices& at, CUstream_st* stream) {
    cuda::adamw(step, to_cuda(at[0]), to_cuda(at[1]), to_cuda(at[2]),
                to_cuda(at[3]), to_cuda(at[4]), stream);
  };
  op.expect = [step](const gpu_matrices& at) {
    engine::adamw(step, at[0], at[1], at[2], words(at[3]), at[4]);
  };
  return op;
}

cuda::row_numbers numbers_on_gpu(const engine::code_view& v) {
  return {numbers(v).data, v.rows, v.cols};
}

/// So many rows become one; x has the shape given.
gpu_operation combine_of(const combine_row& row, shape s) {
  const std::ptrdiff_t tokens = s.m / row.slots;
  const shape x{tokens * row.slots, s.n};
  gpu_operation op;
  op.operands = {{"x", gpu_use::read, bf16, x},
                 row_numbers("slots", tokens, row.slots),
                 {"out", gpu_use::write, bf16, {tokens, s.n}}};
  if (row.weighted) {
    op.operands.push_back({"weights",
                           gpu_use::read,
                           fp32,
                           {tokens, row.slots},
                           gpu_fill::scales});
  }
  op.launch = [row](const gpu_matrices& at, CUstream_st* stream) {
    cuda::basic_matrix<const std::uint32_t> by;
    if (row.weighted) by = {words(at[3]).data, at[3].rows, at[3].cols};
    cuda::combine(row.rule, to_cuda(at[0]), numbers_on_gpu(at[1]), by,
                  to_cuda(at[2]), stream);
  };
  op.expect = [row](const gpu_matrices& at) {
    matrix_view<const std::uint32_t> by;
    if (row.weighted) by = words(at[3]);
    engine::combine(row.rule, at[0], numbers(at[1]), by, at[2]);
  };
  return op;
}

gpu_operation dispatch_of(shape s) {
  const quantizer q{bf16, e4m3, zeroulp_convention, scale_kind::pow2, by_tile};
  gpu_operation op;
  op.operands = {{"x", gpu_use::read, bf16, s}, row_numbers("rows", s.m, 1)};
  add_quantized(op, "", gpu_use::write, e4m3, s, by_tile);
  op.launch = [q](const gpu_matrices& at, CUstream_st* stream) {
    cuda::dispatch(q, to_cuda(at[0]), numbers_on_gpu(at[1]),
                   quantized_at(at, 2), stream);
  };
  op.expect = [q](const gpu_matrices& at) {
    engine::dispatch(q, at[0], numbers(at[1]), at[2], words(at[3]));
  };
  return op;
}

}  // namespace

std::vector<gpu_row> gpu_state_rows() {
  std::vector<gpu_row> all;
  for (const auto& row : adamw_rows) {
    all.push_back({row.name, row.must, row.aim,
                   [row](shape s) { return adamw_of(row, s); }});
  }
  for (const auto& row : combine_rows) {
    all.push_back(
        {row.name, 0, 0, [row](shape s) { return combine_of(row, s); }});
  }
  all.push_back({"dispatch", 0.92, 0.96, dispatch_of});
  return all;
}

}  // namespace zeroulp::program
