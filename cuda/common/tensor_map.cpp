// Encodes tensor maps with the driver's cuTensorMapEncodeTiled.

#include "cuda/common/tensor_map.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace zeroulp::cuda {

namespace {

/// What cuTensorMapEncodeTiled takes, of any rank to 4.
struct tensor_layout {
  CUtensorMapDataType type;
  const void* data;
  cuuint32_t rank;
  cuuint64_t sizes[4];
  cuuint64_t strides[3];  ///< bytes
  cuuint32_t box[4];
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion l2;
};

CUtensorMap encoded(const argument_checks& r, const tensor_layout& x) {
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
  const cuuint32_t steps[] = {1, 1, 1, 1};
  CUtensorMap map;
  const CUresult status =
      encode(&map, x.type, x.rank, const_cast<void*>(x.data), x.sizes,
             x.strides, x.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, x.swizzle,
             x.l2, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    r.refuse("cuTensorMapEncodeTiled refused a matrix: error " +
             std::to_string(static_cast<int>(status)));
  }
  return map;
}

cuuint64_t length(std::ptrdiff_t n) {
  return static_cast<cuuint64_t>(std::max<std::ptrdiff_t>(n, 1));
}

}  // namespace

CUtensorMap make_tensor_map(const argument_checks& r, const boxes& x) {
  const auto row_bytes =
      static_cast<cuuint64_t>(x.stride) * static_cast<cuuint64_t>(x.bytes);
  return encoded(r, {x.type,
                     x.data,
                     3,
                     {length(x.cols), length(x.rows), length(x.matrices)},
                     {row_bytes, row_bytes * length(x.rows)},
                     {static_cast<cuuint32_t>(x.box_cols),
                      static_cast<cuuint32_t>(x.box_rows), 1},
                     x.swizzle,
                     x.l2});
}

CUtensorMap make_bf16_map(const argument_checks& r, const void* data,
                          const map_dimension (&all)[4]) {
  tensor_layout x{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                  data,
                  4,
                  {},
                  {},
                  {},
                  CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B};
  for (int i = 0; i < 4; ++i) {
    x.sizes[i] = length(all[i].size);
    x.box[i] = static_cast<cuuint32_t>(all[i].box);
    // Nobody takes a second step along a dimension of one element.
    const std::ptrdiff_t stride = all[i].size > 1 ? all[i].stride : 8;
    if (i > 0) x.strides[i - 1] = static_cast<cuuint64_t>(stride) * 2;
  }
  return encoded(r, x);
}

}  // namespace zeroulp::cuda
