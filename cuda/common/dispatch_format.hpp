// Defines `with_codes`: turns a format of codes known at run time into a type,
// for instantiating a kernel.

#ifndef ZEROULP_CUDA_COMMON_DISPATCH_FORMAT_HPP_
#define ZEROULP_CUDA_COMMON_DISPATCH_FORMAT_HPP_

#include "cuda/common/vec8.cuh"

namespace zeroulp::cuda {

/// Calls run(elements) for codes of `f`, one of e4m3, e5m2 and e5m6.
template <class Run>
void with_codes(format f, Run run) {
  if (f == e4m3) return run(e4m3_elements{});
  if (f == e5m2) return run(e5m2_elements{});
  run(e5m6_elements{});
}

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_DISPATCH_FORMAT_HPP_
