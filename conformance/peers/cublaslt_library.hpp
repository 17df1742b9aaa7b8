// Defines the functions of cuBLASLt, by the names that they have in the
// library. Internal; needs cublasLt.h.

#ifndef ZEROULP_CONFORMANCE_PEERS_CUBLASLT_LIBRARY_HPP_
#define ZEROULP_CONFORMANCE_PEERS_CUBLASLT_LIBRARY_HPP_

#include <cublasLt.h>

#include <string>

namespace zeroulp::conformance::peers {

#define ZEROULP_CUBLASLT_FUNCTIONS(use)      \
  use(cublasLtGetVersion);                   \
  use(cublasLtGetStatusName);                \
  use(cublasLtCreate);                       \
  use(cublasLtMatmul);                       \
  use(cublasLtMatmulDescCreate);             \
  use(cublasLtMatmulDescDestroy);            \
  use(cublasLtMatmulDescSetAttribute);       \
  use(cublasLtMatrixLayoutCreate);           \
  use(cublasLtMatrixLayoutDestroy);          \
  use(cublasLtMatmulPreferenceCreate);       \
  use(cublasLtMatmulPreferenceDestroy);      \
  use(cublasLtMatmulPreferenceSetAttribute); \
  use(cublasLtMatmulAlgoGetHeuristic);       \
  use(cublasLtMatmulAlgoConfigGetAttribute)

/// To be called only if `absence` is empty.
struct cublaslt_library {
#define ZEROULP_DECLARE(name) decltype(&::name) name = nullptr
  ZEROULP_CUBLASLT_FUNCTIONS(ZEROULP_DECLARE);
#undef ZEROULP_DECLARE
  std::string absence;
};

/// Opened by the first call, until the end of the process.
const cublaslt_library& find_cublaslt();

}  // namespace zeroulp::conformance::peers

#endif  // ZEROULP_CONFORMANCE_PEERS_CUBLASLT_LIBRARY_HPP_
