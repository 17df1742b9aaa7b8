// Defines how kernels are launched, by programmatic dependent launch: each
// begins while the preceding kernel in the stream ends. That hides about two
// microseconds of every launch.

#ifndef ZEROULP_CUDA_COMMON_PDL_LAUNCH_CUH_
#define ZEROULP_CUDA_COMMON_PDL_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <type_traits>

namespace zeroulp::cuda {

/// Launches `kernel`. Each of its threads must call
/// ptx::wait_for_kernels_before() before it accesses any memory but its own.
/// Only ptx::prefetch_l2 and ptx::tma_prefetch may come before. Errors:
/// cudaGetLastError.
template <class Params>
void pdl_launch(CUstream_st* stream, void (*kernel)(Params), unsigned blocks,
                int threads, const std::type_identity_t<Params>& params,
                int shared_bytes = 0) {
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(blocks);
  launch.blockDim = dim3(static_cast<unsigned>(threads));
  launch.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  launch.stream = stream;
  launch.attrs = &overlaps, launch.numAttrs = 1;
  cudaLaunchKernelEx(&launch, kernel, params);
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_PDL_LAUNCH_CUH_
