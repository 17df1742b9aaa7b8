#include "tools/zeroulp/bench/gpu/cublaslt_across.hpp"

#if __has_include(<cublasLt.h>)
#include <cstring>

#include "conformance/peers/cublaslt_library.hpp"
#endif

namespace zeroulp::program {

using conformance::peers::cublaslt_algorithm;
using conformance::peers::cublaslt_error;
using conformance::peers::cublaslt_operands;

#if __has_include(<cublasLt.h>)
namespace {

using conformance::peers::cublaslt_gemm;
using conformance::peers::cublaslt_library;
using conformance::peers::find_cublaslt;

void require_cublaslt(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw cublaslt_error(std::string(call) + ": " +
                       find_cublaslt().cublasLtGetStatusName(status));
}

const cublaslt_library& library() {
  const auto& l = find_cublaslt();
  if (!l.absence.empty()) throw cublaslt_error(l.absence);
  return l;
}

cublasLtHandle_t handle_of_across() {
  static const cublasLtHandle_t one = [] {
    cublasLtHandle_t h = nullptr;
    require_cublaslt(library().cublasLtCreate(&h), "cublasLtCreate");
    return h;
  }();
  return one;
}

/// A matrix whose rows of `cols` elements are cuBLASLt's columns.
void lay_out(cublasLtMatrixLayout_t& to, cudaDataType type, std::ptrdiff_t rows,
             std::ptrdiff_t cols) {
  require_cublaslt(library().cublasLtMatrixLayoutCreate(
                       &to, type, static_cast<std::uint64_t>(cols),
                       static_cast<std::uint64_t>(rows), cols),
                   "cublasLtMatrixLayoutCreate");
}

/// An attribute of an algorithm of type Value; 0 where it has none.
template <class Value>
int attribute_of(const cublasLtMatmulAlgo_t& algo,
                 cublasLtMatmulAlgoConfigAttributes_t which) {
  Value value{};
  std::size_t written = 0;
  const auto status = library().cublasLtMatmulAlgoConfigGetAttribute(
      &algo, which, &value, sizeof value, &written);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : 0;
}

cublaslt_algorithm described(const cublasLtMatmulHeuristicResult_t& r) {
  const auto& x = r.algo;
  cublaslt_algorithm a;
  a.id = attribute_of<std::int32_t>(x, CUBLASLT_ALGO_CONFIG_ID);
  a.tile = attribute_of<std::uint32_t>(x, CUBLASLT_ALGO_CONFIG_TILE_ID);
  a.stages = attribute_of<std::uint32_t>(x, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  a.cluster =
      attribute_of<std::uint16_t>(x, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  a.splits = attribute_of<std::int32_t>(x, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  a.reduction =
      attribute_of<std::uint32_t>(x, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  a.swizzle =
      attribute_of<std::uint32_t>(x, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  a.option = attribute_of<std::uint32_t>(x, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  a.workspace = r.workspaceSize;
  static_assert(sizeof a.opaque == sizeof x.data);
  std::memcpy(a.opaque.data(), x.data, sizeof x.data);
  return a;
}

}  // namespace

/// cuBLASLt's A is B, and its B is A.
struct cublaslt_across::state {
  /// What cuBLASLt made; `Destroy` is the member of the library that ends it.
  template <class Handle, auto Destroy>
  struct owned {
    Handle handle = nullptr;

    owned() = default;
    ~owned() {
      if (handle != nullptr) (find_cublaslt().*Destroy)(handle);
    }
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
  };
  using description =
      owned<cublasLtMatmulDesc_t, &cublaslt_library::cublasLtMatmulDescDestroy>;
  using layout = owned<cublasLtMatrixLayout_t,
                       &cublaslt_library::cublasLtMatrixLayoutDestroy>;
  using preference = owned<cublasLtMatmulPreference_t,
                           &cublaslt_library::cublasLtMatmulPreferenceDestroy>;

  description desc;
  layout a, b, d;
};

cublaslt_across::cublaslt_across(std::ptrdiff_t m, std::ptrdiff_t n,
                                 std::ptrdiff_t k, format output)
    : state_(std::make_unique<state>()) {
  auto& s = *state_;
  require_cublaslt(library().cublasLtMatmulDescCreate(
                       &s.desc.handle, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                   "cublasLtMatmulDescCreate");
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which,
                             cublasOperation_t operation) {
    const auto value = static_cast<std::int32_t>(operation);
    require_cublaslt(library().cublasLtMatmulDescSetAttribute(
                         s.desc.handle, which, &value, sizeof value),
                     "cublasLtMatmulDescSetAttribute");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
  lay_out(s.a.handle, CUDA_R_16BF, k, n);
  lay_out(s.b.handle, CUDA_R_16BF, k, m);
  lay_out(s.d.handle, output == bf16 ? CUDA_R_16BF : CUDA_R_32F, m, n);
}
cublaslt_across::~cublaslt_across() = default;

std::vector<cublaslt_algorithm> cublaslt_across::algorithms(int most) const {
  const auto& l = library();
  const auto& s = *state_;
  state::preference by;
  require_cublaslt(l.cublasLtMatmulPreferenceCreate(&by.handle),
                   "cublasLtMatmulPreferenceCreate");
  const std::size_t bytes = cublaslt_gemm::workspace_bytes;
  require_cublaslt(l.cublasLtMatmulPreferenceSetAttribute(
                       by.handle, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                       &bytes, sizeof bytes),
                   "cublasLtMatmulPreferenceSetAttribute");
  std::vector<cublasLtMatmulHeuristicResult_t> found(
      static_cast<std::size_t>(most));
  int count = 0;
  const auto status = l.cublasLtMatmulAlgoGetHeuristic(
      handle_of_across(), s.desc.handle, s.a.handle, s.b.handle, s.d.handle,
      s.d.handle, by.handle, most, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  require_cublaslt(status, "cublasLtMatmulAlgoGetHeuristic");
  found.resize(static_cast<std::size_t>(count));
  std::vector<cublaslt_algorithm> all;
  for (const auto& r : found) {
    if (r.state == CUBLAS_STATUS_SUCCESS) all.push_back(described(r));
  }
  return all;
}

void cublaslt_across::run(const cublaslt_algorithm& by,
                          const cublaslt_operands& with, void* workspace,
                          CUstream_st* stream) {
  const auto& s = *state_;
  cublasLtMatmulAlgo_t algo{};
  std::memcpy(algo.data, by.opaque.data(), sizeof algo.data);
  const float alpha = 1, beta = 0;
  require_cublaslt(
      library().cublasLtMatmul(
          handle_of_across(), s.desc.handle, &alpha, with.b, s.a.handle, with.a,
          s.b.handle, &beta, with.d, s.d.handle, with.d, s.d.handle, &algo,
          workspace, cublaslt_gemm::workspace_bytes, stream),
      "cublasLtMatmul");
}

#else

struct cublaslt_across::state {};

cublaslt_across::cublaslt_across(std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t,
                                 format) {
  throw cublaslt_error("built without cublasLt.h");
}
cublaslt_across::~cublaslt_across() = default;
std::vector<cublaslt_algorithm> cublaslt_across::algorithms(int) const {
  return {};
}
void cublaslt_across::run(const cublaslt_algorithm&, const cublaslt_operands&,
                          void*, CUstream_st*) {}

#endif

}  // namespace zeroulp::program
