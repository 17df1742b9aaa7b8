// Encodes tensor maps with the driver's cuTensorMapEncodeTiled.

#include "cuda/common/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace zeroulp::cuda {

CUtensorMap make_tensor_map(const argument_checks& r, const boxes& x) {
  static const auto encode = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const auto status = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
    return status == cudaSuccess && found == cudaDriverEntryPointSuccess
               ? reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function)
               : nullptr;
  }();
  if (encode == nullptr) r.fail("the driver lacks cuTensorMapEncodeTiled");
  const auto length = [](std::ptrdiff_t n) {
    return static_cast<cuuint64_t>(std::max<std::ptrdiff_t>(n, 1));
  };
  const auto row_bytes =
      static_cast<cuuint64_t>(x.stride) * static_cast<cuuint64_t>(x.bytes);
  const cuuint64_t sizes[] = {length(x.cols), length(x.rows),
                              length(x.matrices)};
  const cuuint64_t strides[] = {row_bytes, row_bytes * length(x.rows)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(x.box_cols),
                            static_cast<cuuint32_t>(x.box_rows), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status =
      encode(&map, x.type, 3, const_cast<void*>(x.data), sizes, strides, box,
             steps, CU_TENSOR_MAP_INTERLEAVE_NONE, x.swizzle, x.l2,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    r.refuse("cuTensorMapEncodeTiled refused a matrix: error " +
             std::to_string(static_cast<int>(status)));
  }
  return map;
}

}  // namespace zeroulp::cuda
