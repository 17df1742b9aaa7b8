// Defines instructions of a warp or warp group: elect.sync, setmaxnreg and
// griddepcontrol.
//
// Source: PTX ISA 9.0.

#ifndef ZEROULP_CUDA_PTX_WARP_CUH_
#define ZEROULP_CUDA_PTX_WARP_CUH_

#include <cstdint>

namespace zeroulp::cuda::ptx {

/// True in one lane of a warp (elect.sync). All lanes must call it.
__device__ inline bool elect_one() {
  std::uint32_t is;
  asm volatile(
      "{\n.reg .pred one;\n"
      "elect.sync _|one, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, one;\n}"
      : "=r"(is));
  return is != 0;
}

/// Waits until the preceding kernels in the stream have ended and their writes
/// are visible, if this kernel was launched to begin earlier. Then lets the
/// next kernel begin.
__device__ inline void wait_for_kernels_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Set the registers of each thread of this warp group (setmaxnreg).
template <int Count>
__device__ void warpgroup_reg_dealloc() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

template <int Count>
__device__ void warpgroup_reg_alloc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

/// Broadcasts x of lane 0, which makes it warp-uniform for the compiler.
__device__ inline unsigned make_warp_uniform(unsigned x) {
  return __shfl_sync(0xffffffff, x, 0);
}

}  // namespace zeroulp::cuda::ptx

#endif  // ZEROULP_CUDA_PTX_WARP_CUH_
