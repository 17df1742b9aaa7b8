#include "conformance/peers/cublaslt.hpp"

#if __has_include(<cublasLt.h>)

#include "conformance/peers/cublaslt_library.hpp"

namespace zeroulp::conformance::peers {
namespace {

/// Throws cublaslt_error unless the call of this name succeeded.
void require(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw cublaslt_error(std::string(call) + ": " +
                       find_cublaslt().cublasLtGetStatusName(status));
}

const cublaslt_library& present() {
  const auto& l = find_cublaslt();
  if (!l.absence.empty()) throw cublaslt_error(l.absence);
  return l;
}

cudaDataType type_of(format f) {
  if (f == e4m3) return CUDA_R_8F_E4M3;
  if (f == e5m2) return CUDA_R_8F_E5M2;
  if (f == bf16) return CUDA_R_16BF;
  if (f == fp16) return CUDA_R_16F;
  if (f == fp32) return CUDA_R_32F;
  throw cublaslt_error("cuBLASLt: there is no such element format here");
}

/// Not to be read: a heuristic may ask whether there are scales.
const void* some_address() {
  return reinterpret_cast<const void*>(std::uintptr_t{1} << 20);
}

template <class Value>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
         const Value& value) {
  require(present().cublasLtMatmulDescSetAttribute(desc, attribute, &value,
                                                   sizeof value),
          "cublasLtMatmulDescSetAttribute");
}

cublasLtHandle_t handle() {
  static const cublasLtHandle_t one = [] {
    cublasLtHandle_t h = nullptr;
    require(present().cublasLtCreate(&h), "cublasLtCreate");
    return h;
  }();
  return one;
}

/// Reads an attribute of an algorithm of type Value; 0 where it has none.
template <class Value>
int read(const cublasLtMatmulAlgo_t& algo,
         cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value{};
  std::size_t written = 0;
  const auto status = present().cublasLtMatmulAlgoConfigGetAttribute(
      &algo, attribute, &value, sizeof value, &written);
  return status == CUBLAS_STATUS_SUCCESS ? static_cast<int>(value) : 0;
}

cublaslt_algorithm describe(const cublasLtMatmulHeuristicResult_t& r) {
  const auto& algo = r.algo;
  cublaslt_algorithm a;
  a.id = read<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_ID);
  a.tile = read<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_TILE_ID);
  a.stages = read<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  a.inner_shape =
      read<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  a.cluster = read<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  a.splits = read<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  a.reduction =
      read<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  a.swizzle = read<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  a.option = read<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  a.workspace = r.workspaceSize;
  static_assert(sizeof a.opaque == sizeof algo.data);
  for (std::size_t i = 0; i < a.opaque.size(); ++i) a.opaque[i] = algo.data[i];
  return a;
}

}  // namespace

std::string cublaslt_absence() { return find_cublaslt().absence; }

std::string cublaslt_version() {
  const auto& l = find_cublaslt();
  if (!l.absence.empty()) return {};
  const std::size_t v = l.cublasLtGetVersion();
  return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

/// cuBLASLt's A is B, and its B is A.
struct cublaslt_gemm::state {
  cublaslt_problem p;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;

  explicit state(const cublaslt_problem& problem) : p(problem) {
    try {
      make();
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~state() { destroy(); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  void set_scales(const void* of_a, const void* of_b) {
    set(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_b);
    set(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_a);
  }

 private:
  void make() {
    const auto& l = present();
    require(l.cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            "cublasLtMatmulDescCreate");
    set(desc, CUBLASLT_MATMUL_DESC_TRANSA,
        static_cast<std::int32_t>(CUBLAS_OP_T));
    set(desc, CUBLASLT_MATMUL_DESC_TRANSB,
        static_cast<std::int32_t>(CUBLAS_OP_N));
    set(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
        static_cast<std::int8_t>(p.fast_accumulation));
    if (p.scales != cublaslt_scales::none) set_modes();
    const auto layout = [&](cublasLtMatrixLayout_t& to, format f,
                            std::ptrdiff_t rows, std::ptrdiff_t cols) {
      // A row of ours is a column, and columns have no gaps between them.
      require(l.cublasLtMatrixLayoutCreate(
                  &to, type_of(f), static_cast<std::uint64_t>(rows),
                  static_cast<std::uint64_t>(cols), rows),
              "cublasLtMatrixLayoutCreate");
    };
    layout(a, p.b, p.k, p.n);
    layout(b, p.a, p.k, p.m);
    layout(d, p.output, p.n, p.m);
  }

  void set_modes() {
    constexpr std::int32_t scalar = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    constexpr std::int32_t by_tile = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    constexpr std::int32_t by_block =
        CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    constexpr std::int32_t by_row = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    const auto mode = [this](bool is_a) {
      const auto g = granularity_of(p.scales, is_a);
      return g == per_tensor   ? scalar
             : g == per_row    ? by_row
             : g == tile_1x128 ? by_tile
                               : by_block;
    };
    set(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode(false));
    set(desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode(true));
    set_scales(some_address(), some_address());
  }

  void destroy() {
    const auto& l = find_cublaslt();
    for (auto layout : {a, b, d}) {
      if (layout != nullptr) l.cublasLtMatrixLayoutDestroy(layout);
    }
    if (desc != nullptr) l.cublasLtMatmulDescDestroy(desc);
  }
};

cublaslt_gemm::cublaslt_gemm(const cublaslt_problem& p)
    : state_(std::make_unique<state>(p)) {}
cublaslt_gemm::~cublaslt_gemm() = default;
cublaslt_gemm::cublaslt_gemm(cublaslt_gemm&&) noexcept = default;
cublaslt_gemm& cublaslt_gemm::operator=(cublaslt_gemm&&) noexcept = default;

std::vector<cublaslt_algorithm> cublaslt_gemm::algorithms(int most) const {
  const auto& l = present();
  const auto& s = *state_;
  cublasLtMatmulPreference_t preference = nullptr;
  require(l.cublasLtMatmulPreferenceCreate(&preference),
          "cublasLtMatmulPreferenceCreate");
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                        decltype(l.cublasLtMatmulPreferenceDestroy)>
      owner(preference, l.cublasLtMatmulPreferenceDestroy);
  const std::size_t bytes = workspace_bytes;
  require(l.cublasLtMatmulPreferenceSetAttribute(
              preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
              sizeof bytes),
          "cublasLtMatmulPreferenceSetAttribute");
  std::vector<cublasLtMatmulHeuristicResult_t> results(
      static_cast<std::size_t>(most));
  int count = 0;
  const auto status = l.cublasLtMatmulAlgoGetHeuristic(
      handle(), s.desc, s.a, s.b, s.d, s.d, preference, most, results.data(),
      &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  require(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<cublaslt_algorithm> all;
  for (int i = 0; i < count; ++i) {
    const auto& r = results[static_cast<std::size_t>(i)];
    if (r.state == CUBLAS_STATUS_SUCCESS) all.push_back(describe(r));
  }
  return all;
}

void cublaslt_gemm::run(const cublaslt_algorithm& by,
                        const cublaslt_operands& with, void* workspace,
                        CUstream_st* stream) {
  auto& s = *state_;
  if (s.p.scales != cublaslt_scales::none) {
    s.set_scales(with.a_scales, with.b_scales);
  }
  cublasLtMatmulAlgo_t algo{};
  for (std::size_t i = 0; i < by.opaque.size(); ++i) {
    algo.data[i] = by.opaque[i];
  }
  const float alpha = 1;
  const float beta = s.p.adds ? 1 : 0;
  require(present().cublasLtMatmul(handle(), s.desc, &alpha, with.b, s.a,
                                   with.a, s.b, &beta, with.d, s.d, with.d, s.d,
                                   &algo, workspace, workspace_bytes, stream),
          "cublasLtMatmul");
}

}  // namespace zeroulp::conformance::peers

#else

namespace zeroulp::conformance::peers {
namespace {
constexpr const char* absence = "built without cublasLt.h";
}

struct cublaslt_gemm::state {};

std::string cublaslt_absence() { return absence; }
std::string cublaslt_version() { return {}; }
cublaslt_gemm::cublaslt_gemm(const cublaslt_problem&) {
  throw cublaslt_error(absence);
}
cublaslt_gemm::~cublaslt_gemm() = default;
cublaslt_gemm::cublaslt_gemm(cublaslt_gemm&&) noexcept = default;
cublaslt_gemm& cublaslt_gemm::operator=(cublaslt_gemm&&) noexcept = default;
std::vector<cublaslt_algorithm> cublaslt_gemm::algorithms(int) const {
  return {};
}
void cublaslt_gemm::run(const cublaslt_algorithm&, const cublaslt_operands&,
                        void*, CUstream_st*) {}

}  // namespace zeroulp::conformance::peers

#endif

namespace zeroulp::conformance::peers {

std::string cublaslt_algorithm::text() const {
  std::string all = "algorithm " + std::to_string(id);
  const auto add = [&all](const char* name, int value) {
    all += std::string(", ") + name + " " + std::to_string(value);
  };
  add("tile", tile);
  add("stages", stages);
  if (inner_shape != 0) add("inner shape", inner_shape);
  if (cluster != 0) add("cluster", cluster);
  add("splits", splits);
  if (reduction != 0) add("reduction", reduction);
  if (swizzle != 0) add("swizzle", swizzle);
  add("option", option);
  return all;
}

}  // namespace zeroulp::conformance::peers
