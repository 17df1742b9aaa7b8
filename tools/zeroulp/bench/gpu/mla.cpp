// The rows of what MLA assembles, in the shape of DeepSeek-V2-Lite: its queries
// and keys have 128 elements without position and 64 with, its values 128.

#include <algorithm>

#include "tools/train/engine_ops.hpp"
#include "tools/zeroulp/bench/gpu/views.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::program {
namespace {

using train::engine_ops;
using train::model_shape;

const model_shape& lite() {
  static const model_shape s = train::parse_shape("lite4");
  return s;
}

/// Operands in the order of mla_tensors, then the tables; q, k and v have
/// `heads`, the other two `rows`.
gpu_operation mla_of(std::ptrdiff_t tokens, gpu_use rows, gpu_use heads) {
  const model_shape& s = lite();
  const std::ptrdiff_t depth = s.heads * s.depth();
  const std::ptrdiff_t width = s.first_rows();
  gpu_operand first{"first", rows, bf16, {tokens, width}};
  // The latent goes another way; the last columns are nobody's.
  first.unused = width - depth - s.turned;
  gpu_operation op;
  op.operands = {
      first,
      {"second", rows, bf16, {tokens, s.heads * (s.plain + s.value)}},
      {"q", heads, bf16, {tokens, depth}},
      {"k", heads, bf16, {tokens, depth}},
      {"v", heads, bf16, {tokens, s.heads * s.value}},
      {"cosines", gpu_use::read, fp32, {s.length, s.turned / 2}},
      {"sines", gpu_use::read, fp32, {s.length, s.turned / 2}},
  };
  return op;
}

cuda::mla_shape shape_of_mla(const gpu_matrices& at) {
  const model_shape& s = lite();
  return {s.heads, s.plain,      s.turned,    s.value,
          s.rank,  words(at[5]), words(at[6])};
}
cuda::mla_tensors<std::uint16_t> tensors_of(const gpu_matrices& at) {
  return {halves(at[0]), halves(at[1]), halves(at[2]), halves(at[3]),
          halves(at[4])};
}

void take(const train::half_tensor& from, const engine::code_view& to) {
  std::copy(from.data.begin(), from.data.end(), halves(to).data);
}
train::half_tensor copy_of(const engine::code_view& from) {
  train::half_tensor x(from.rows, from.cols);
  std::copy_n(halves(from).data, x.data.size(), x.data.begin());
  return x;
}

gpu_operation assembly_of(shape s) {
  gpu_operation op = mla_of(s.m, gpu_use::read, gpu_use::write);
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::mla_assemble(shape_of_mla(at), tensors_of(at), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    const auto made = engine_ops::assemble(lite(), halves(at[0]), halves(at[1]),
                                           words(at[5]), words(at[6]));
    take(made.q, at[2]);
    take(made.k, at[3]);
    take(made.v, at[4]);
  };
  return op;
}

gpu_operation assembly_gradients_of(shape s) {
  gpu_operation op = mla_of(s.m, gpu_use::write, gpu_use::read);
  op.launch = [](const gpu_matrices& at, CUstream_st* stream) {
    cuda::mla_assemble_backward(shape_of_mla(at), tensors_of(at), stream);
  };
  op.expect = [](const gpu_matrices& at) {
    engine_ops::assemble_backward(
        lite(), {copy_of(at[2]), copy_of(at[3]), copy_of(at[4])}, words(at[5]),
        words(at[6]), halves(at[0]), halves(at[1]));
  };
  return op;
}

}  // namespace

std::vector<gpu_row> gpu_mla_rows(double must, double aim) {
  const std::vector<shape> sizes{{4096, lite().first_rows()},
                                 {16384, lite().first_rows()}};
  return {
      {"model.mla_assemble", must, aim, assembly_of, sizes},
      {"model.mla_assemble_backward", must, aim, assembly_gradients_of, sizes}};
}

}  // namespace zeroulp::program
