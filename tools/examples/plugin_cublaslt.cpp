// NVIDIA's cuBLASLt as a plug-in: its FP8 GEMM with FP32 scales of 1x128 of A
// and 128x128 of B, and that with one scale an operand, held against the
// recipes that they follow.
//
//   zeroulp conform --plugin build/plugins/plugin_cublaslt.so
//
// Where cuBLASLt has no algorithm for a shape, the request is refused. Its
// scales lie otherwise than ours: they are laid out here.

#include <cuda_runtime.h>

#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "conformance/peers/cublaslt.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/plugin.h"

namespace {

using namespace zeroulp;
using namespace zeroulp::conformance::peers;

constexpr int32_t failed = 2;

/// Device memory that grows.
class buffer {
 public:
  void* room(std::size_t bytes) {
    if (bytes > size_) {
      cudaFree(data_);
      data_ = nullptr;
      size_ = cudaMalloc(&data_, bytes) == cudaSuccess ? bytes : 0;
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The scales of a request, laid out as cuBLASLt reads them; nullptr: no
/// memory.
const void* laid_out(const zeroulp_plugin_matrix& m, scale_layout layout,
                     buffer& to) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(m.rows * m.cols));
  if (cudaMemcpy(words.data(), m.data, words.size() * 4,
                 cudaMemcpyDeviceToHost) != cudaSuccess) {
    return nullptr;
  }
  const auto shape = stored_shape(layout, m.rows, m.cols);
  std::vector<std::uint32_t> out(
      static_cast<std::size_t>(shape.rows * shape.cols));
  lay_out_scales(layout,
                 matrix_view<const std::uint32_t>(words.data(), m.rows, m.cols),
                 matrix_view(out.data(), shape.rows, shape.cols));
  void* const data = to.room(out.size() * 4);
  if (data == nullptr || cudaMemcpy(data, out.data(), out.size() * 4,
                                    cudaMemcpyHostToDevice) != cudaSuccess) {
    return nullptr;
  }
  return data;
}

int32_t gemm(const zeroulp_plugin_gemm* r) try {
  static buffer of_a, of_b, workspace;
  const bool blocks = r->a_group_k != 0;
  const format output = std::strcmp(r->output, "bf16") == 0 ? bf16 : fp32;
  const cublaslt_problem p{
      r->d.rows,
      r->d.cols,
      r->a.cols,
      e4m3,
      e4m3,
      output,
      blocks ? cublaslt_scales::blocks : cublaslt_scales::matrix,
      r->interval == 0,
      false};
  cublaslt_gemm one(p);
  const auto algorithms = one.algorithms(1);
  // A sum over split K is another recipe.
  if (algorithms.empty() || algorithms[0].splits > 1) {
    return ZEROULP_PLUGIN_REFUSED;
  }
  const auto a_layout =
      blocks ? scale_layout::mn_major : scale_layout::row_major;
  const auto b_layout = blocks ? scale_layout::blk128 : scale_layout::row_major;
  const void* const a = laid_out(r->a_scales, a_layout, of_a);
  const void* const b = laid_out(r->b_scales, b_layout, of_b);
  void* const work = workspace.room(cublaslt_gemm::workspace_bytes);
  if (a == nullptr || b == nullptr || work == nullptr) return failed;
  one.run(algorithms[0], {r->a.data, a, r->b.data, b, r->d.data}, work,
          nullptr);
  return ZEROULP_PLUGIN_DONE;
} catch (const cublaslt_error&) {
  return cublaslt_absence().empty() ? ZEROULP_PLUGIN_REFUSED : failed;
}

const zeroulp_plugin_claim claims[] = {
    {ZEROULP_PLUGIN_GEMM,
     "cublaslt.1x128_128x128",
     "place=dense",
     {16, 16, 128}},
    {ZEROULP_PLUGIN_GEMM, "cublaslt.tensorwise", "place=dense", {16, 16, 128}},
    {ZEROULP_PLUGIN_GEMM, "unpromoted", "place=dense", {16, 16, 128}}};

const zeroulp_plugin mine = {ZEROULP_PLUGIN_VERSION,
                             sizeof mine,
                             "cublaslt",
                             ZEROULP_PLUGIN_ON_DEVICE,
                             3,
                             claims,
                             nullptr,
                             nullptr,
                             nullptr,
                             gemm,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr,
                             nullptr};

}  // namespace

const zeroulp_plugin* zeroulp_plugin_table() { return &mine; }
