// Declares the checks of what kernels quantize, and those of what a kernel
// quantizes beside its own work, in groups of 1x128. Internal.

#ifndef ZEROULP_CUDA_ROW_TARGET_HPP_
#define ZEROULP_CUDA_ROW_TARGET_HPP_

#include "cuda/quantize_job.cuh"
#include "cuda/request.hpp"

namespace zeroulp::cuda {

/// Refuses a quantizer with a kind of scale or a convention that is none.
void need_quantizer(const request& r, const quantizer& q);

/// Returns where the codes, m x n, and the scales of mn x k groups go.
quantized_target checked_target(const request& r, const quantizer& q,
                                const quantized& to, std::ptrdiff_t m,
                                std::ptrdiff_t n, std::ptrdiff_t mn,
                                std::ptrdiff_t k, grouping groups,
                                const char* what);

/// Returns where the codes and scales of an m x n matrix go; nothing without
/// codes. Refuses what quantize_rows.cuh cannot do with BF16 numbers.
quantized_target row_target(const request& r, const quantizer& q,
                            const quantized& to, std::ptrdiff_t m,
                            std::ptrdiff_t n, const char* what);

/// Returns the rows of an m x n matrix of numbers; nothing without data.
device_rows number_target(const request& r, format f, const matrix& to,
                          std::ptrdiff_t m, std::ptrdiff_t n, const char* what);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_ROW_TARGET_HPP_
